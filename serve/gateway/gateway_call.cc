#include "serve/gateway/gateway_call.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "serve/gateway/chunks.h"
#include "serve/gateway/request_fields.h"

namespace trellis::gateway {
namespace {

// By then a batch or two have left the replica's queue.
constexpr std::chrono::milliseconds kAskAgain{20};

size_t BytesOf(const RowInput& input) {
  if (const auto* text = std::get_if<std::string_view>(&input)) return text->size();
  if (const auto* pair = std::get_if<TextPair>(&input)) return pair->first.size() + pair->second.size();
  return 0;  // token rows are only copied
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

PlannedCall::PlannedCall(Gateway& gateway, Asked asked, Done done)
    : gateway_(gateway), asked_(std::move(asked)), record_(asked_.record), done_(std::move(done)) {
  record_.place = RequestRecord::Place::kHad;
  gateway_.TellAdmitted();
}

void PlannedCall::Start() {
  gateway_.pool_.Post([self = Self()](RowEncoder& encoder) { self->Plan(encoder); });
}

void PlannedCall::Cancel() {
  std::shared_ptr<Dispatch> dispatch;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    dispatch = dispatch_;
  }
  if (dispatch != nullptr) dispatch->Cancel();
}

bool PlannedCall::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void PlannedCall::Plan(RowEncoder& encoder) {
  if (const auto needless = Needless()) return Fail(*needless);
  const ReplicaModel* replica_model = gateway_.replica_.model();
  if (replica_model == nullptr) return Fail({Fault::kNotReady, "the model is being loaded"});
  model_.emplace(gateway_.Model(*replica_model));
  Result<RoutePlan> plan = asked_.plan(*model_, encoder);
  if (!plan.ok()) return Fail(plan.error());
  if (auto* written = std::get_if<Written>(&*plan))
    return Finish(CallAnswer{std::move(written->body), std::nullopt, nullptr});
  work_ = std::get<RowWork>(*std::move(plan));
  record_.task = work_.task.task;
  record_.inputs = work_.inputs.size();
  encoding_since_ = Clock::now();
  bounds_ = SliceInputs(work_.inputs);
  num_slices_ = bounds_.size() - 1;
  slices_.resize(num_slices_);
  slices_left_ = num_slices_;
  for (size_t others = std::min(num_slices_, gateway_.pool_.threads()) - 1; others > 0; --others)
    gateway_.pool_.Post([self = Self()](RowEncoder& other) { self->EncodeNext(other); });
  EncodeNext(encoder);
}

PlannedCall::Clock::time_point PlannedCall::Deadline() const {
  return std::min(asked_.deadline, asked_.arrived + gateway_.options_.policy.timeout);
}

std::optional<ApiError> PlannedCall::Needless() {
  if (cancelled()) return ApiError{Fault::kNotReady, "the client is gone"};
  if (Clock::now() >= Deadline()) return ApiError{Fault::kDeadline, "not answered in time"};
  return std::nullopt;
}

void PlannedCall::EncodeNext(RowEncoder& encoder) {
  const size_t slice = next_slice_++;
  if (slice >= num_slices_) return;
  // Another may send the answer before we are out of here. The pool outlives its workers, the gateway does not.
  WorkerPool& pool = gateway_.pool_;
  EncodeSlice(encoder, slice);
  if (--slices_left_ == 0) return Send();
  if (next_slice_ < num_slices_)
    pool.Post([self = Self()](RowEncoder& other) { self->EncodeNext(other); });
}

void PlannedCall::EncodeSlice(RowEncoder& encoder, size_t slice) {
  Slice& made = slices_[slice];
  for (size_t i = bounds_[slice]; i < bounds_[slice + 1] && !made.error.has_value(); ++i) {
    if (slice > first_wrong_) return;  // the first wrong input is the one that is named
    made.error = Needless();
    if (!made.error.has_value()) made.error = encoder.Append(work_.inputs[i], i, work_.rules, made.rows);
  }
  if (!made.error.has_value()) return;
  size_t first = first_wrong_;
  while (slice < first && !first_wrong_.compare_exchange_weak(first, slice)) {
  }
}

void PlannedCall::Send() {
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
  Ask();
}

void PlannedCall::Ask() {
  const ReplicaModel& replica = *gateway_.replica_.model();
  ChunkLimits limits{replica.max_batch_tokens, static_cast<size_t>(replica.limits.max_batch_rows)};
  if (replica.max_request_tokens > 0)
    limits.max_tokens = std::min(limits.max_tokens, replica.max_request_tokens);
  std::vector<ReplicaRequest> chunks = SplitByTokens(rows_, work_.task, limits);
  for (ReplicaRequest& chunk : chunks) {
    chunk.deadline = Deadline();
    chunk.origin = asked_.origin;
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

void PlannedCall::Write(Dispatch::Outcome outcome) {
  record_.queue = outcome.timings.queue;
  record_.inference = outcome.timings.forward;
  if (outcome.status.code() == absl::StatusCode::kResourceExhausted &&
      asked_.full_queue == Asked::FullQueue::kWaits) {
    if (const auto needless = Needless()) return Fail(*needless);
    return gateway_.pool_.PostAfter(kAskAgain, [self = Self()](RowEncoder&) { self->Ask(); });
  }
  if (!outcome.status.ok()) return Fail(FromReplica(outcome.status));
  const RowCosts costs{Characters(work_.inputs), rows_.cu_seqlens.back(), Clock::now() - asked_.arrived,
                       record_.tokenization,     record_.queue,           record_.inference};
  Finish(CallAnswer{work_.write({outcome.rows, rows_.cu_seqlens, costs}), costs, std::move(outcome.hold)});
}

void PlannedCall::Fail(const ApiError& error) {
  record_.fault = error.fault;
  if (cancelled()) record_.client = RequestRecord::Client::kGone;
  Finish(error);
}

void PlannedCall::Finish(Result<CallAnswer> answer) {
  record_.total = Clock::now() - asked_.arrived;
  {
    const std::lock_guard lock(mutex_);
    dispatch_.reset();  // it holds us, and we held it
  }
  const Done done = std::exchange(done_, nullptr);
  gateway_.slots_.Free();
  done(std::move(answer), record_);
  gateway_.slots_.Gone();  // the last that touches the gateway
}

}  // namespace trellis::gateway
