#include "serve/gateway/grpc_stream_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/gateway/compute_headers.h"
#include "serve/gateway/grpc_tei_message.h"

namespace trellis::gateway {

BidiCall* BidiCall::Start(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context) {
  const auto call = std::make_shared<BidiCall>(face, method, context);
  call->self_ = call;
  call->Begin();
  return call.get();
}

BidiCall::BidiCall(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context)
    : MessagePipe(face.gateway, face.live, method, CallerOf(*context, method.path), face.max_parallel) {}

void BidiCall::OnReadDone(bool ok) { ok ? Arrived(message_) : NoMoreArrive(); }

MessagePipe::Delivery BidiCall::Deliver(CallAnswer answer) {
  answer_ = BufferOf(std::move(answer.body));
  StartWrite(&answer_);
  return Delivery::kUnderWay;
}

void BidiCall::OnWriteDone(bool ok) {
  if (!ok) Gone();
  Delivered();
}

void BidiCall::End(const std::optional<ApiError>& error) {
  Finish(error.has_value() ? ToStatus(*error) : grpc::Status::OK);
}

void BidiCall::OnDone() {
  Done();
  const std::shared_ptr<BidiCall> self = std::move(self_);
}

RankCall* RankCall::Start(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context,
                          grpc::ByteBuffer* answer) {
  const auto call = std::make_shared<RankCall>(face, method, context, answer);
  call->self_ = call;
  call->Begin();
  return call.get();
}

RankCall::RankCall(TeiFace& face, const TeiMethod& method, grpc::CallbackServerContext* context,
                   grpc::ByteBuffer* answer)
    : MessagePipe(face.gateway, face.live, method, CallerOf(*context, method.path), face.max_parallel),
      context_(context),
      answer_(answer),
      max_bytes_(face.max_bytes) {}

void RankCall::OnReadDone(bool ok) { ok ? Arrived(message_) : NoMoreArrive(); }

std::optional<ApiError> RankCall::Check(const grpc::ByteBuffer& message) {
  bytes_ += message.Length();
  if (bytes_ > max_bytes_) {
    return ApiError{Fault::kPayloadTooLarge,
                    absl::StrCat("the messages are longer than the ", max_bytes_, " bytes that are allowed")};
  }
  const size_t most = gateway().model()->policy.max_client_batch;
  if (++texts_ > most)
    return WrongField(Fault::kTooManyInputs, "text",
                      absl::StrCat("more than ", most, " texts, expected fewer"));
  if (texts_ > 1) return std::nullopt;
  tei::v1::RerankStreamRequest first;
  if (auto wrong = ParseMessage(message, first)) return wrong;
  if (first.raw_scores()) ranked_.scores = RankedTexts::Scores::kRaw;
  if (first.return_text()) ranked_.texts = RankedTexts::Texts::kReturned;
  return std::nullopt;
}

MessagePipe::Delivery RankCall::Deliver(CallAnswer answer) {
  tei::v1::Rank& rank = ranked_.ranks.emplace_back();
  rank.ParseFromString(answer.body);  // our own
  if (ranked_.texts == RankedTexts::Texts::kLeftOut) rank.clear_text();
  RowCosts& all = ranked_.costs;
  all.characters += answer.costs->characters;
  all.tokens += answer.costs->tokens;
  // Messages are worked on at a time: of the slowest.
  all.tokenization = std::max(all.tokenization, answer.costs->tokenization);
  all.queue = std::max(all.queue, answer.costs->queue);
  all.inference = std::max(all.inference, answer.costs->inference);
  return Delivery::kDone;
}

void RankCall::End(const std::optional<ApiError>& error) {
  if (error.has_value()) return Finish(ToStatus(*error));
  if (ranked_.ranks.empty())
    return Finish(ToStatus(WrongField(Fault::kEmptyInput, "text", "no message, expected at least one")));
  ranked_.costs.total = server::Clock::now() - caller().arrived;
  for (const auto& [name, value] : ComputeHeaders(ranked_.costs, gateway().model()->facts.compute_type))
    context_->AddInitialMetadata(name, value);
  *answer_ = BufferOf(WriteRanks(std::move(ranked_)).SerializeAsString());
  Finish(grpc::Status::OK);
}

void RankCall::OnDone() {
  Done();
  const std::shared_ptr<RankCall> self = std::move(self_);
}

}  // namespace trellis::gateway
