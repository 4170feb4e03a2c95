#include "serve/gateway/local_replica.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace trellis::gateway {

void LocalReplica::Open(server::Server& server, int64_t max_queued_tokens) {
  model_.limits = server.engine_limits();
  model_.max_batch_tokens = server.max_batch_tokens();
  model_.max_request_tokens = max_queued_tokens;
  server_.store(&server, std::memory_order_release);
}

server::Health LocalReplica::health() const {
  const server::Server* server = server_.load(std::memory_order_acquire);
  return server == nullptr ? server::Health::kStarting : server->health();
}

const ReplicaModel* LocalReplica::model() const {
  return server_.load(std::memory_order_acquire) == nullptr ? nullptr : &model_;
}

server::Ticket LocalReplica::Infer(ReplicaRequest request) {
  const std::function<void(server::Reply)> done = request.done;  // Submit takes the other one with it
  server::Server* server = server_.load(std::memory_order_acquire);
  absl::StatusOr<server::Ticket> ticket = absl::UnavailableError("the engine is starting");
  if (server != nullptr) ticket = server->Submit(std::move(request));
  if (ticket.ok()) return *ticket;
  done({.status = std::move(ticket).status(), .rows = {}, .timings = {}});
  return 0;
}

void LocalReplica::Cancel(server::Ticket ticket) {
  if (server::Server* server = server_.load(std::memory_order_acquire)) server->Cancel(ticket);
}

}  // namespace trellis::gateway
