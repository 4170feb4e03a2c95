#include "serve/gateway/grpc_message_pipe.h"

#include <algorithm>
#include <utility>

namespace trellis::gateway {
namespace {

// Of one stream, as far as the largest message or answer so far foretells: a client that does not read its
// answers must not make us keep them without end.
constexpr size_t kMostBytes = size_t{64} << 20;
// As long as no answer says how long answers are.
constexpr size_t kMostBeforeTheFirst = 32;

const ApiError kGone{Fault::kNotReady, "the client is gone"};
const ApiError kShuttingDown{Fault::kNotReady, "the server is shutting down"};

}  // namespace

MessagePipe::MessagePipe(Gateway& gateway, std::shared_ptr<LiveCalls> live, const TeiMethod& method, GrpcCaller caller,
                         size_t most)
    : gateway_(gateway), live_(std::move(live)), method_(method), caller_(std::move(caller)), most_(most) {
  live_->Begin();
}

void MessagePipe::Begin() {
  std::optional<ApiError> refused = AdmitCaller(gateway_, caller_);
  if (!refused.has_value() && !live_->BeginLasting(this)) refused = kShuttingDown;
  if (refused.has_value()) TellOfCall(gateway_, caller_.record, refused, 0, RequestRecord::Client::kWaited);
  const std::lock_guard lock(mutex_);
  failure_ = std::move(refused);
  AdvanceLocked();
}

void MessagePipe::Done() { live_->EndLasting(this); }

void MessagePipe::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  AdvanceLocked();
}

void MessagePipe::Arrived(grpc::ByteBuffer message) {
  const server::Clock::time_point arrived = server::Clock::now();
  uint64_t number = 0;
  std::optional<ApiError> wrong;
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (failure_.has_value() || closed_) return AdvanceLocked();
    number = first_ + messages_.size();
    messages_.emplace_back();
    ++under_way_;
    placing_ = true;
    largest_ = std::max(largest_, message.Length());
    wrong = Check(message);
  }
  if (wrong.has_value()) return Refuse(number, *wrong, arrived);
  const RequestSlots::Waiting waiting = gateway_.places().WaitForPlace(
      [self = shared_from_this(), number, message = std::move(message), arrived](RequestSlots::Taken taken) {
        self->Placed(number, message, arrived, taken);
      });
  bool stop = false;
  {
    const std::lock_guard lock(mutex_);
    // It may have its place already, and the next message may wait.
    waiting_ = std::max(waiting_, waiting);
    stop = failure_.has_value();
  }
  if (stop && gateway_.places().StopWaiting(waiting)) Refuse(number, kGone, arrived);
}

void MessagePipe::Placed(uint64_t number, const grpc::ByteBuffer& message, server::Clock::time_point arrived,
                         RequestSlots::Taken taken) {
  if (taken != RequestSlots::Taken::kYes) return Refuse(number, gateway_.NoPlace(taken), arrived);
  PlannedCall::Asked asked;
  asked.plan = [message, &method = method_](const ServedModel& model, RowEncoder& encoder) {
    return method.plan(message, model, encoder);
  };
  asked.record = caller_.record;
  asked.origin = caller_.origin;
  asked.arrived = arrived;
  asked.deadline = caller_.deadline;
  asked.full_queue = PlannedCall::Asked::FullQueue::kWaits;
  const auto call = std::make_shared<PlannedCall>(
      gateway_, std::move(asked),
      [self = shared_from_this(), number](Result<CallAnswer> answer, const RequestRecord& record) {
        self->Answered(number, std::move(answer), record);
      });
  {
    const std::lock_guard lock(mutex_);
    placing_ = false;
    MessageLocked(number).call = call;
    if (failure_.has_value()) call->Cancel();
    AdvanceLocked();
  }
  call->Start();
}

void MessagePipe::Answered(uint64_t number, Result<CallAnswer> answer, const RequestRecord& record) {
  bool gone = false;
  {
    const std::lock_guard lock(mutex_);
    gone = gone_;
  }
  TellOfCall(gateway_, record, answer.ok() ? std::nullopt : std::optional<ApiError>(answer.error()),
             answer.ok() ? answer->body.size() : 0,
             gone ? RequestRecord::Client::kGone : RequestRecord::Client::kWaited);
  Keep(number, std::move(answer));
}

void MessagePipe::Refuse(uint64_t number, const ApiError& error, server::Clock::time_point arrived) {
  RequestRecord record = caller_.record;
  record.total = server::Clock::now() - arrived;
  {
    const std::lock_guard lock(mutex_);
    placing_ = false;
  }
  Answered(number, error, record);
}

void MessagePipe::Keep(uint64_t number, Result<CallAnswer> answer) {
  const std::lock_guard lock(mutex_);
  Message& message = MessageLocked(number);
  if (answer.ok()) {
    answered_once_ = true;
    largest_ = std::max(largest_, answer->body.size());
    // What waits for its turn is bounded here. Were it held at the replica too, it could take the room that
    // the message before it needs.
    answer->hold = nullptr;
  }
  message.answer = std::move(answer);
  message.call = nullptr;
  --under_way_;
  AdvanceLocked();
}

void MessagePipe::NoMoreArrive() {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  no_more_ = true;
  AdvanceLocked();
}

void MessagePipe::Delivered() {
  const std::lock_guard lock(mutex_);
  delivering_ = false;
  AdvanceLocked();
}

void MessagePipe::Gone() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  if (!failure_.has_value()) FailLocked(kGone);
  AdvanceLocked();
}

void MessagePipe::FailLocked(const ApiError& error) {
  failure_ = error;
  for (const Message& message : messages_) {
    if (message.call != nullptr) message.call->Cancel();
  }
  // Else Arrived does that, as soon as it knows for what it waits.
  if (placing_ && gateway_.places().StopWaiting(waiting_)) {
    placing_ = false;
    --under_way_;
  }
}

bool MessagePipe::HasRoomLocked() const {
  const size_t kept = messages_.size() + (delivering_ ? 1 : 0);
  if (kept == 0) return true;
  if (!answered_once_) return kept < std::min(most_, kMostBeforeTheFirst);
  return kept < most_ && (kept + 1) * largest_ <= kMostBytes;
}

void MessagePipe::AdvanceLocked() {
  if (ended_) return;
  while (!failure_.has_value() && !delivering_ && !messages_.empty() &&
         messages_.front().answer.has_value()) {
    Result<CallAnswer> answer = *std::move(messages_.front().answer);
    messages_.pop_front();
    ++first_;
    if (!answer.ok()) {
      FailLocked(answer.error());
    } else {
      delivering_ = Deliver(*std::move(answer)) == Delivery::kUnderWay;
    }
  }
  const bool over = failure_.has_value() || ((no_more_ || closed_) && messages_.empty());
  if (over) {
    if (under_way_ > 0 || delivering_) return;
    if (!failure_.has_value() && !no_more_) failure_ = kShuttingDown;
    ended_ = true;
    return End(failure_);
  }
  if (no_more_ || closed_ || reading_ || placing_ || !HasRoomLocked()) return;
  reading_ = true;
  Read();
}

}  // namespace trellis::gateway
