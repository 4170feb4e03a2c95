#include "serve/gateway/gateway_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/gateway/chunks.h"
#include "serve/gateway/request_fields.h"
#include "serve/gateway/trace_headers.h"

namespace trellis::gateway {
namespace {

size_t BytesOf(const RowInput& input) {
  if (const auto* text = std::get_if<std::string_view>(&input)) return text->size();
  if (const auto* pair = std::get_if<TextPair>(&input)) return pair->first.size() + pair->second.size();
  return 0;  // token rows are only copied
}

std::string Milliseconds(std::chrono::nanoseconds time) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::shared_ptr<const Origin> OriginOf(const HttpRequest& request) {
  Origin origin{request.request_id, {}, {}};
  if (!TraceId(request.traceparent).empty()) {
    origin.traceparent = request.traceparent;
    if (IsTraceState(request.tracestate)) origin.tracestate = request.tracestate;
  }
  return std::make_shared<const Origin>(std::move(origin));
}

}  // namespace

std::vector<size_t> SliceInputs(const std::vector<RowInput>& inputs) {
  std::vector<size_t> bounds = {0};
  size_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (bytes >= kSliceBytes) {
      bounds.push_back(i);
      bytes = 0;
    }
    bytes += BytesOf(inputs[i]);
  }
  bounds.push_back(inputs.size());
  return bounds;
}

PostCall::PostCall(Gateway& gateway, const Route& route, HttpRequest request, Gateway::Done done)
    : gateway_(gateway),
      route_(route),
      request_(std::move(request)),
      done_(std::move(done)),
      arrived_(Clock::now()),
      origin_(OriginOf(request_)) {
  record_.route = route.path;
  record_.method = request_.method;
  record_.path = request_.path;
  record_.peer = request_.peer;
  record_.request_id = request_.request_id;
  record_.trace_id = TraceId(request_.traceparent);
  record_.place = RequestRecord::Place::kHad;
}

PostCall::~PostCall() = default;

void PostCall::Start() {
  gateway_.pool_.Post([self = Self()](RowEncoder& encoder) { self->Plan(encoder); });
}

void PostCall::Cancel() {
  std::shared_ptr<Dispatch> dispatch;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    dispatch = dispatch_;
  }
  if (dispatch != nullptr) dispatch->Cancel();
}

bool PostCall::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void PostCall::Plan(RowEncoder& encoder) {
  if (cancelled()) return Fail({Fault::kNotReady, "the client is gone"});
  const ReplicaModel* replica_model = gateway_.replica_.model();
  if (replica_model == nullptr) return Fail({Fault::kNotReady, "the model is being loaded"});
  body_.emplace(request_.body);
  request_.body = {};  // the parser has a copy of what it needs
  model_.emplace(gateway_.Model(*replica_model));
  Result<RoutePlan> plan = route_.plan({*body_, *model_, encoder, request_.request_id});
  if (!plan.ok()) return Fail(plan.error());
  if (auto* written = std::get_if<Written>(&*plan)) {
    HttpResponse response;
    response.body = std::move(written->body);
    return Finish(std::move(response));
  }
  work_ = std::get<RowWork>(*std::move(plan));
  record_.task = work_.task.task;
  record_.inputs = work_.inputs.size();
  encoding_since_ = Clock::now();
  bounds_ = SliceInputs(work_.inputs);
  const size_t slices = bounds_.size() - 1;
  slices_.resize(slices);
  slices_left_ = slices;
  for (size_t s = 1; s < slices; ++s)
    gateway_.pool_.Post([self = Self(), s](RowEncoder& other) { self->EncodeSlice(other, s); });
  EncodeSlice(encoder, 0);
}

void PostCall::EncodeSlice(RowEncoder& encoder, size_t slice) {
  Slice& made = slices_[slice];
  for (size_t i = bounds_[slice]; i < bounds_[slice + 1] && !made.error.has_value(); ++i)
    made.error = encoder.Append(work_.inputs[i], i, work_.rules, made.rows);
  if (--slices_left_ == 0) Send();
}

void PostCall::Send() {
  for (const Slice& slice : slices_) {  // in order, so that the first wrong input is the one that is named
    if (slice.error.has_value()) return Fail(*slice.error);
  }
  rows_ = std::move(slices_[0].rows);
  for (size_t s = 1; s < slices_.size(); ++s) rows_.Append(slices_[s].rows);
  slices_.clear();
  record_.tokenization = Clock::now() - encoding_since_;
  record_.cu_seqlens = rows_.cu_seqlens;
  record_.tokens = rows_.cu_seqlens.back();
  record_.truncated = rows_.truncated;
  const ReplicaModel& replica = *gateway_.replica_.model();
  ChunkLimits limits{replica.max_batch_tokens, static_cast<size_t>(replica.limits.max_batch_rows)};
  if (replica.max_request_tokens > 0)
    limits.max_tokens = std::min(limits.max_tokens, replica.max_request_tokens);
  std::vector<ReplicaRequest> chunks = SplitByTokens(rows_, work_.task, limits);
  for (ReplicaRequest& chunk : chunks) {
    chunk.deadline = arrived_ + gateway_.options_.policy.timeout;
    chunk.origin = origin_;
  }
  const std::shared_ptr<Dispatch> dispatch =
      Dispatch::Start(gateway_.replica_, std::move(chunks), [self = Self()](Dispatch::Outcome outcome) {
        // Not on the replica's thread, which has others to answer.
        auto kept = std::make_shared<Dispatch::Outcome>(std::move(outcome));
        self->gateway_.pool_.Post([self, kept](RowEncoder&) { self->Write(std::move(*kept)); });
      });
  bool cancel = false;
  {
    const std::lock_guard lock(mutex_);
    dispatch_ = dispatch;
    cancel = cancelled_;
  }
  if (cancel) dispatch->Cancel();
}

void PostCall::Write(Dispatch::Outcome outcome) {
  record_.queue = outcome.timings.queue;
  record_.inference = outcome.timings.forward;
  if (!outcome.status.ok()) return Fail(FromReplica(outcome.status));
  const ComputedRows rows{outcome.rows, rows_.cu_seqlens};
  HttpResponse response;
  response.body = work_.write(rows);
  AddComputeHeaders(rows, response);
  response.hold = std::move(outcome.hold);
  Finish(std::move(response));
}

void PostCall::AddComputeHeaders(const ComputedRows& rows, HttpResponse& response) const {
  auto& headers = response.headers;
  headers.emplace_back("x-compute-type", gateway_.options_.facts.compute_type);
  headers.emplace_back("x-compute-time", Milliseconds(Clock::now() - arrived_));
  headers.emplace_back("x-compute-characters", absl::StrCat(Characters(work_.inputs)));
  headers.emplace_back("x-compute-tokens", absl::StrCat(rows.tokens()));
  headers.emplace_back("x-total-time", Milliseconds(Clock::now() - arrived_));
  headers.emplace_back("x-tokenization-time", Milliseconds(record_.tokenization));
  headers.emplace_back("x-queue-time", Milliseconds(record_.queue));
  headers.emplace_back("x-inference-time", Milliseconds(record_.inference));
}

void PostCall::Fail(const ApiError& error) {
  record_.fault = error.fault;
  if (cancelled()) record_.client = RequestRecord::Client::kGone;
  Finish(ErrorResponse(error, route_.dialect));
}

void PostCall::Finish(HttpResponse response) {
  gateway_.AddCors(request_, response);
  response.headers.emplace_back("x-request-id", request_.request_id);
  record_.status = response.status;
  record_.response_bytes = response.body.size();
  record_.total = Clock::now() - arrived_;
  gateway_.Tell(record_);
  {
    const std::lock_guard lock(mutex_);
    dispatch_.reset();  // it holds us, and we held it
  }
  const Gateway::Done done = std::exchange(done_, nullptr);
  gateway_.slots_.Free();
  done(std::move(response));
  gateway_.slots_.Gone();  // the last that touches the gateway
}

}  // namespace trellis::gateway
