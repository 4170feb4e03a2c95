// The gRPC server as a whole: one port with Inference, Health and reflection behind it. The port is open, and
// health answers NOT_SERVING, before there is a server to send work to.
#ifndef TRELLIS_SERVE_SERVER_GRPC_LISTENER_H_
#define TRELLIS_SERVE_SERVER_GRPC_LISTENER_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/server/grpc_health.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/grpc_port.h"
#include "serve/server/grpc_service.h"
#include "serve/server/observer.h"
#include "serve/server/server.h"

namespace trellis::server {

class GrpcListener {
 public:
  // `address` and `max_connections`: see Connections::Listen. Unavailable: the port cannot be had (the
  // message names it). `observer` may be null and outlives the listener.
  static absl::StatusOr<std::unique_ptr<GrpcListener>> Listen(const std::string& address,
                                                              const MessageLimits& limits, Observer* observer,
                                                              int64_t max_connections = kMaxConnections);
  static constexpr int64_t kMaxConnections = GrpcPort::kMaxConnections;
  ~GrpcListener();

  int port() const { return port_->port(); }

  // From now on calls reach `server`, which outlives the listener.
  void Open(Server& server);

  // Health answers NOT_SERVING from now on, whatever the server says. The first thing to do when the end is
  // near.
  void AnnounceEnd();

  // Tells the watchers of health of a change of the server's state. To be called a few times a second.
  void RefreshHealth() { health_.Refresh(); }

  // Waits for so long until the answer of every accepted request has been delivered, then cuts whatever is
  // left: calls without a request in them and streams do not keep it. New calls are answered UNAVAILABLE
  // until their connection ends, and from then on fail as UNAVAILABLE by themselves. Returns how many answers
  // their clients did not take. Blocking. After AnnounceEnd and the server's Drain.
  size_t Stop(std::chrono::milliseconds limit);

 private:
  GrpcListener(const MessageLimits& limits, Observer* observer);

  std::atomic<Server*> server_{nullptr};
  std::atomic<bool> ending_{false};
  InferenceService inference_;
  HealthService health_;
  std::unique_ptr<GrpcPort> port_;  // the last: it stops before what it calls is gone
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_LISTENER_H_
