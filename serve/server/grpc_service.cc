#include "serve/server/grpc_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "serve/server/grpc_reply.h"
#include "serve/server/grpc_request.h"

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
  const int64_t bytes = ReplyBytesAtLeast(engine, request.rows, request.cu_seqlens);
  if (bytes <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the answer would have ", bytes,
                                                 " bytes at least, more than the ", max_bytes,
                                                 " of a reply: send fewer rows at once"));
}

// One Infer. It lives until gRPC's OnDone, and OnDone cannot come before Infer has returned it: until then
// gRPC knows of no reactor, and a Finish is kept for later. So Infer may use it after Submit, even when
// `done` has run already.
class InferCall final : public grpc::ServerUnaryReactor {
 public:
  InferCall(Server& server, grpc::ByteBuffer* reply, int64_t max_reply_bytes)
      : server_(server), reply_(reply), max_reply_bytes_(max_reply_bytes) {}

  // The status is not OK when nothing was submitted; the caller then finishes.
  absl::Status Submit(Request request) {
    request.done = [this](Reply reply) { Answer(std::move(reply)); };
    absl::StatusOr<Ticket> ticket = server_.Submit(std::move(request));
    if (!ticket.ok()) return std::move(ticket).status();
    ticket_ = *ticket;
    return absl::OkStatus();
  }

  void OnDone() override { delete this; }

  // The client went away or its time is up. Whichever of this and `done` comes first, `done` alone finishes.
  void OnCancel() override {
    if (ticket_) server_.Cancel(*ticket_);
  }

 private:
  void Answer(Reply reply) {
    if (!reply.status.ok()) return Finish(ToGrpcStatus(reply.status));
    absl::StatusOr<grpc::ByteBuffer> wire = ReplyToWire(std::move(reply), arrived_, max_reply_bytes_);
    if (!wire.ok()) return Finish(ToGrpcStatus(wire.status()));
    reply_->Swap(&*wire);
    Finish(grpc::Status::OK);  // `this` may be gone
  }

  Server& server_;
  grpc::ByteBuffer* const reply_;
  const int64_t max_reply_bytes_;
  const Clock::time_point arrived_ = Clock::now();
  std::optional<Ticket> ticket_;  // set before Infer returns; gRPC calls OnCancel only after
};

v1::Task ToWire(engine::Task task) {
  switch (task) {
    case engine::Task::kEmbed:
      return v1::TASK_EMBED;
    case engine::Task::kEmbedAll:
      return v1::TASK_EMBED_ALL;
    case engine::Task::kSparse:
      return v1::TASK_SPARSE;
    case engine::Task::kClassify:
      return v1::TASK_CLASSIFY;
  }
  return v1::TASK_UNSPECIFIED;
}

}  // namespace

grpc::ServerUnaryReactor* InferenceService::Infer(grpc::CallbackServerContext* call,
                                                  const grpc::ByteBuffer* message, grpc::ByteBuffer* reply) {
  const auto refuse = [&](Observer::Refusal reason, const absl::Status& status) {
    if (observer_ != nullptr) observer_->Refused(reason);
    grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  };
  Server* server = server_.load(std::memory_order_acquire);
  if (server == nullptr) return refuse(Observer::Refusal::kDraining, Starting());
  auto* infer = new InferCall(*server, reply, limits_.reply_bytes);
  absl::StatusOr<Request> request = ParseRequest(*message);
  absl::Status status = request.status();
  if (status.ok()) status = CheckReplyFits(server->engine_limits(), *request, limits_.reply_bytes);
  if (!status.ok()) {
    delete infer;
    return refuse(Observer::Refusal::kInvalid, status);
  }
  request->deadline = SteadyDeadline(call->deadline());
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
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace trellis::server
