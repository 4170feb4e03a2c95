#include "serve/gateway/grpc_unary_call.h"

#include <optional>
#include <utility>

#include "serve/gateway/compute_headers.h"
#include "serve/gateway/grpc_tei_message.h"

namespace trellis::gateway {
namespace {

const ApiError kGone{Fault::kNotReady, "the client is gone"};

}  // namespace

grpc::ServerUnaryReactor* UnaryCall::Start(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method,
                                           grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* message, grpc::ByteBuffer* answer) {
  const auto call = std::make_shared<UnaryCall>(gateway, live, method, context, message, answer);
  call->self_ = call;
  call->Begin();
  return call.get();
}

UnaryCall::UnaryCall(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method,
                     grpc::CallbackServerContext* context, const grpc::ByteBuffer* message,
                     grpc::ByteBuffer* answer)
    : gateway_(gateway),
      live_(std::move(live)),
      method_(method),
      context_(context),
      message_(message),
      answer_(answer),
      caller_(CallerOf(*context, method.path)) {
  live_->Begin();
}

void UnaryCall::Begin() {
  if (auto refused = AdmitCaller(gateway_, caller_)) return Refuse(*refused);
  // It was given up before its message had arrived, or its client has sent none.
  if (!message_->Valid()) return Refuse({Fault::kInvalidValue, "no message, expected one"});
  if (method_.full_house == TeiMethod::FullHouse::kRefused) return Placed(gateway_.places().Take());
  const RequestSlots::Waiting waiting = gateway_.places().WaitForPlace(
      [self = shared_from_this()](RequestSlots::Taken taken) { self->Placed(taken); });
  const std::lock_guard lock(mutex_);  // gRPC calls OnCancel only after this has returned
  waiting_ = waiting;
}

void UnaryCall::Placed(RequestSlots::Taken taken) {
  if (taken != RequestSlots::Taken::kYes) return Refuse(gateway_.NoPlace(taken));
  PlannedCall::Asked asked;
  asked.plan = [message = *message_, &method = method_](const ServedModel& model, RowEncoder& encoder) {
    return method.plan(message, model, encoder);
  };
  asked.record = caller_.record;
  asked.origin = caller_.origin;
  asked.arrived = caller_.arrived;
  asked.deadline = caller_.deadline;
  if (method_.full_house == TeiMethod::FullHouse::kWaits)
    asked.full_queue = PlannedCall::Asked::FullQueue::kWaits;
  const auto call = std::make_shared<PlannedCall>(
      gateway_, std::move(asked),
      [self = shared_from_this()](Result<CallAnswer> answer, const RequestRecord& record) {
        self->Answered(std::move(answer), record);
      });
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    if (gone_) call->Cancel();
  }
  call->Start();
}

bool UnaryCall::gone() {
  const std::lock_guard lock(mutex_);
  call_ = nullptr;
  return gone_;
}

void UnaryCall::Answered(Result<CallAnswer> answer, const RequestRecord& record) {
  if (!answer.ok()) return Conclude(answer.error(), record, 0);
  if (answer->costs.has_value()) {
    const std::optional<ServedModel> model = gateway_.model();
    for (const auto& [name, value] : ComputeHeaders(*answer->costs, model->facts.compute_type))
      context_->AddInitialMetadata(name, value);
  }
  hold_ = std::move(answer->hold);
  const size_t bytes = answer->body.size();
  *answer_ = BufferOf(std::move(answer->body));
  Conclude(std::nullopt, record, bytes);
}

void UnaryCall::Refuse(const ApiError& error) {
  RequestRecord record = caller_.record;
  record.total = server::Clock::now() - caller_.arrived;
  Conclude(error, record, 0);
}

void UnaryCall::Conclude(const std::optional<ApiError>& error, const RequestRecord& record,
                         size_t response_bytes) {
  TellOfCall(gateway_, record, error, response_bytes,
             gone() ? RequestRecord::Client::kGone : RequestRecord::Client::kWaited);
  Finish(error.has_value() ? ToStatus(*error) : grpc::Status::OK);
}

void UnaryCall::OnCancel() {
  std::shared_ptr<GatewayCall> call;
  RequestSlots::Waiting waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    call = call_;
    waiting = waiting_;
  }
  if (call != nullptr) call->Cancel();
  if (waiting != 0 && gateway_.places().StopWaiting(waiting)) Refuse(kGone);
}

void UnaryCall::OnDone() { const std::shared_ptr<UnaryCall> self = std::move(self_); }

}  // namespace trellis::gateway
