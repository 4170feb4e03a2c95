#include "serve/server/grpc_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "serve/server/answer_bytes.h"
#include "serve/server/grpc_reply.h"
#include "serve/server/grpc_request.h"
#include "serve/server/grpc_wire.h"

namespace trellis::server {
namespace {

absl::Status Starting() { return absl::UnavailableError("the server is starting"); }

absl::StatusOr<Request> ParseRequest(const grpc::ByteBuffer& message) {
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<v1::InferRequest>(&arena);
  grpc::ByteBuffer bytes = message;  // shares the slices
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok() || !wire->ParseFromZeroCopyStream(&reader)) {
    return absl::InvalidArgumentError("the message is no trellis.v1.InferRequest");
  }
  return RequestFromWire(*wire);
}

absl::Status CheckReplyFits(const engine::EngineLimits& engine, const Request& request, int64_t max_bytes) {
  const int64_t bytes = ExpectedAnswerBytes(engine, request.rows, request.cu_seqlens).least;
  if (bytes <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the answer would have about ", bytes,
                                                 " bytes, more than the ", max_bytes,
                                                 " of a reply: send fewer rows at once"));
}

// A call that is here without a message: it was given up, or its time was up, before the message had arrived;
// or its client has sent none. Which of them shows once it is over, and then it is counted.
class NoMessage final : public grpc::ServerUnaryReactor {
 public:
  NoMessage(Observer* observer, grpc::CallbackServerContext* call) : observer_(observer), call_(call) {
    Finish({grpc::StatusCode::INVALID_ARGUMENT, "no message, expected a trellis.v1.InferRequest"});
  }

  void OnDone() override {
    if (observer_ != nullptr) observer_->Refused(Reason());
    delete this;
  }

 private:
  Observer::Refusal Reason() const {
    if (!call_->IsCancelled()) return Observer::Refusal::kInvalid;
    const bool late = call_->deadline() <= std::chrono::system_clock::now();
    return late ? Observer::Refusal::kDeadline : Observer::Refusal::kCancelled;
  }

  Observer* const observer_;
  grpc::CallbackServerContext* const call_;
};

}  // namespace

// One Infer. It lives until gRPC's OnDone, and OnDone cannot come before Infer has returned it: until then
// gRPC knows of no reactor, and a Finish is kept for later. So Infer may use it after Submit, even when
// `done` has run already.
class InferenceService::Call final : public grpc::ServerUnaryReactor {
 public:
  Call(InferenceService& service, Server& server, grpc::ByteBuffer* reply, Clock::time_point arrived)
      : service_(service), server_(server), reply_(reply), arrived_(arrived) {}
  ~Call() override {
    if (!answered_) return;
    const std::lock_guard lock(service_.mutex_);
    --service_.undelivered_;
    service_.delivered_.notify_all();
  }

  // The status is not OK when nothing was submitted; the caller then finishes.
  absl::Status Submit(Request request) {
    request.max_answer_bytes = service_.limits_.reply_bytes;
    request.done = [this](Reply reply) { Answer(std::move(reply)); };
    absl::StatusOr<Ticket> ticket = server_.Submit(std::move(request));
    if (!ticket.ok()) return std::move(ticket).status();
    ticket_ = *ticket;
    return absl::OkStatus();
  }

  // The answer is with the connection, or the call is over without.
  void OnDone() override { delete this; }

  // The client went away or its time is up. Whichever of this and `done` comes first, `done` alone finishes.
  void OnCancel() override {
    if (ticket_) server_.Cancel(*ticket_);
  }

 private:
  void Answer(Reply reply) {
    hold_ = std::move(reply.hold);
    answered_ = true;
    {
      const std::lock_guard lock(service_.mutex_);
      ++service_.undelivered_;
    }
    if (!reply.status.ok()) return Finish(ToGrpcStatus(reply.status));
    absl::StatusOr<grpc::ByteBuffer> wire =
        ReplyToWire(std::move(reply), arrived_, service_.limits_.reply_bytes);
    if (!wire.ok()) return Finish(ToGrpcStatus(wire.status()));
    reply_->Swap(&*wire);
    Finish(grpc::Status::OK);  // `this` may be gone
  }

  InferenceService& service_;
  Server& server_;
  grpc::ByteBuffer* const reply_;
  const Clock::time_point arrived_;
  std::optional<Ticket> ticket_;  // set before Infer returns; gRPC calls OnCancel only after
  bool answered_ = false;
  std::shared_ptr<void> hold_;  // the server's, of an answer that is under way
};

size_t InferenceService::AwaitDelivery(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  delivered_.wait_for(lock, limit, [this] { return undelivered_ == 0; });
  return undelivered_;
}

grpc::ServerUnaryReactor* InferenceService::Refuse(grpc::CallbackServerContext* call,
                                                   Observer::Refusal reason, const absl::Status& status) {
  if (observer_ != nullptr) observer_->Refused(reason);
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

grpc::ServerUnaryReactor* InferenceService::Infer(grpc::CallbackServerContext* call,
                                                  const grpc::ByteBuffer* message, grpc::ByteBuffer* reply) {
  const Clock::time_point arrived = Clock::now();
  if (!message->Valid()) return new NoMessage(observer_, call);
  Server* server = server_.load(std::memory_order_acquire);
  if (server == nullptr) return Refuse(call, Observer::Refusal::kDraining, Starting());
  absl::StatusOr<Request> request = ParseRequest(*message);
  absl::Status status = request.status();
  if (status.ok()) status = CheckReplyFits(server->engine_limits(), *request, limits_.reply_bytes);
  if (!status.ok()) return Refuse(call, Observer::Refusal::kInvalid, status);
  request->deadline = SteadyDeadline(call->deadline());
  auto* infer = new Call(*this, *server, reply, arrived);
  status = infer->Submit(*std::move(request));  // the server has reported its own refusal
  if (!status.ok()) infer->Finish(ToGrpcStatus(status));
  return infer;
}

grpc::ServerUnaryReactor* InferenceService::Describe(grpc::CallbackServerContext* call,
                                                     const v1::DescribeRequest*,
                                                     v1::ModelDescription* description) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const Server* server = server_.load(std::memory_order_acquire);
  if (server == nullptr) {
    reactor->Finish(ToGrpcStatus(Starting()));
    return reactor;
  }
  const engine::EngineLimits& engine = server->engine_limits();
  description->set_model(engine.model);
  description->set_server_version(TRELLIS_VERSION);
  for (int task = 0; task < engine::kTasks; ++task) {
    if (engine.tasks[task]) description->add_tasks(ToWire(static_cast<engine::Task>(task)));
  }
  description->set_dimensions(engine.dimensions);
  description->set_labels(engine.labels);
  description->set_vocab_size(engine.vocab_size);
  description->set_type_vocab_size(engine.type_vocab_size);
  description->set_max_row_tokens(engine.max_row_tokens);
  description->set_max_batch_tokens(server->max_batch_tokens());
  description->set_max_batch_rows(engine.max_batch_rows);
  description->set_max_request_bytes(limits_.request_bytes);
  description->set_max_reply_bytes(limits_.reply_bytes);
  description->set_max_queued_tokens(server->max_queued_tokens(Priority::kInteractive));
  description->set_max_queued_tokens_bulk(server->max_queued_tokens(Priority::kBulk));
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace trellis::server
