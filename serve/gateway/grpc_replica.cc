#include "serve/gateway/grpc_replica.h"

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/create_channel.h"
#include "serve/gateway/grpc_messages.h"

namespace trellis::gateway {
namespace {

// A server that computes for long answers pings all the same, and the machine may be busy.
constexpr int kAskAfterMs = 5'000, kStuckAfterMs = 10'000;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // the replica has a limit of its own
  arguments.SetMaxSendMessageSize(-1);
  // Else two replicas behind one address would share a connection, and so would what happens to it.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // A connection may be stuck where its server is well, as health checks on theirs say. So each is asked for a
  // sign of life while calls wait on it, and without one is closed: then the calls are lost, not for ever.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kAskAfterMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kStuckAfterMs);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// gRPC ends the program on a value that may not stand in a header; an Origin has none such.
void AddMetadata(const Origin& origin, grpc::ClientContext& context) {
  if (!origin.request_id.empty()) context.AddMetadata("x-request-id", origin.request_id);
  if (!origin.traceparent.empty()) context.AddMetadata("traceparent", origin.traceparent);
  if (!origin.tracestate.empty()) context.AddMetadata("tracestate", origin.tracestate);
}

std::chrono::system_clock::time_point OnTheWall(server::Clock::time_point deadline) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - server::Clock::now());
}

}  // namespace

struct GrpcReplica::Call {
  grpc::ClientContext context;
  v1::InferRequest request;
  v1::InferReply reply;
  size_t rows = 0;
  std::function<void(server::Reply)> done;
};

GrpcReplica::GrpcReplica(const std::string& target, const HealthChecks& checks, std::function<void()> hangs)
    : checks_(checks),
      hangs_(std::move(hangs)),
      inference_(v1::Inference::NewStub(ChannelTo(target))),
      health_stub_(grpc::health::v1::Health::NewStub(ChannelTo(target))),
      judged_(checks.patience),
      watcher_([this] { Watch(); }) {}

GrpcReplica::~GrpcReplica() {
  std::unique_lock lock(mutex_);
  ending_ = true;
  changed_.notify_all();
  for (const auto& [ticket, call] : calls_) call->context.TryCancel();
  changed_.wait(lock, [this] { return calls_.empty(); });
  lock.unlock();
  watcher_.join();
}

void GrpcReplica::Watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    check_now_ = false;
    lock.unlock();
    const ReplicaHealth::Answer answer = Check();
    Judge([&](ReplicaHealth& health) { health.Checked(answer); });
    lock.lock();
    const bool hangs = judged_.hangs() && !ending_;
    if (hangs && hangs_ != nullptr) {
      lock.unlock();
      hangs_();
      lock.lock();
    }
    changed_.wait_for(lock, checks_.every, [this] { return ending_ || check_now_; });
  }
}

void GrpcReplica::Judge(const std::function<void(ReplicaHealth&)>& judge) {
  const std::lock_guard lock(mutex_);
  judge(judged_);
  health_ = judged_.health();
}

bool GrpcReplica::Describe() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + checks_.limit);
  v1::ModelDescription description;
  if (!inference_->Describe(&context, {}, &description).ok()) return false;
  model_ = FromWire(description);
  known_ = &model_;
  return true;
}

ReplicaHealth::Answer GrpcReplica::Check() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + checks_.limit);
  grpc::health::v1::HealthCheckResponse response;
  if (!health_stub_->Check(&context, {}, &response).ok()) return ReplicaHealth::Answer::kNone;
  if (response.status() != grpc::health::v1::HealthCheckResponse::SERVING)
    return ReplicaHealth::Answer::kNotServing;
  const bool known = known_.load() != nullptr || Describe();
  return known ? ReplicaHealth::Answer::kServing : ReplicaHealth::Answer::kNone;
}

server::Ticket GrpcReplica::Infer(ReplicaRequest request) {
  auto call = std::make_shared<Call>();
  call->request = ToWire(request);
  if (request.origin != nullptr) AddMetadata(*request.origin, call->context);
  call->rows = request.rows.size();
  call->done = std::move(request.done);
  if (request.deadline != server::Clock::time_point::max())
    call->context.set_deadline(OnTheWall(request.deadline));
  server::Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!ending_) {
      ticket = ++last_;
      calls_.emplace(ticket, call);
    }
  }
  if (ticket == 0) {
    call->done({absl::UnavailableError("the gateway is shutting down"), {}, {}});
    return 0;
  }
  inference_->async()->Infer(&call->context, &call->request, &call->reply,
                             [this, ticket](const grpc::Status& status) { Finish(ticket, status); });
  return ticket;
}

void GrpcReplica::Finish(server::Ticket ticket, const grpc::Status& status) {
  std::shared_ptr<Call> call;
  {
    const std::lock_guard lock(mutex_);
    call = calls_.at(ticket);
  }
  // Whoever chooses next should not wait for the watcher to notice; and if it is back, none should wait for
  // that.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    Judge([](ReplicaHealth& health) { health.CallFoundNobody(); });
    const std::lock_guard lock(mutex_);
    check_now_ = true;
    changed_.notify_all();
  }
  server::Reply reply =
      status.ok() ? FromWire(call->reply, call->rows) : server::Reply{FromGrpc(status), {}, {}, {}};
  CheckRows(call->request, model_.limits, reply);
  call->done(std::move(reply));
  // The call's context has a part in the channel. If that went last, here on gRPC's own thread, gRPC would
  // wait for this thread in this thread: so the call goes first, while the replica stands.
  call.reset();
  const std::lock_guard lock(mutex_);
  calls_.erase(ticket);
  if (calls_.empty()) changed_.notify_all();  // under the lock: the destructor may be waiting for it
}

void GrpcReplica::Cancel(server::Ticket ticket) {
  const std::lock_guard lock(mutex_);
  if (const auto call = calls_.find(ticket); call != calls_.end()) call->second->context.TryCancel();
}

}  // namespace trellis::gateway
