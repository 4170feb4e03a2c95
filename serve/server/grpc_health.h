// grpc.health.v1.Health: whether to send work here. The answer of Check is asked for at each call, so it is
// never older than the server's own state; watchers hear of a change when Refresh sees it.
#ifndef TRELLIS_SERVE_SERVER_GRPC_HEALTH_H_
#define TRELLIS_SERVE_SERVER_GRPC_HEALTH_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/support/server_callback.h"

namespace trellis::server {

class HealthService final : public grpc::health::v1::Health::CallbackService {
 public:
  enum class State { kServing, kNotServing };

  // Knows the empty service (all of this server) and `services`. `state` is asked about one of them, on any
  // thread, and must not block.
  HealthService(std::vector<std::string> services, std::function<State(const std::string& service)> state);

  // Tells those who watch, if the state is another than they know.
  void Refresh();

  // Ends every Watch, which otherwise lasts as long as its client, and lets no new one begin. Waits until
  // their clients know, for `grace` at most. Before the gRPC server stops.
  void Close(std::chrono::milliseconds grace);

  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* call,
                                  const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) override;
  grpc::ServerWriteReactor<grpc::health::v1::HealthCheckResponse>* Watch(
      grpc::CallbackServerContext* call, const grpc::health::v1::HealthCheckRequest* request) override;

 private:
  class Watcher;

  bool Knows(const std::string& service) const;
  void Forget(Watcher* watcher);

  const std::vector<std::string> services_;
  const std::function<State(const std::string&)> state_;
  std::mutex mutex_;
  std::condition_variable forgotten_;
  bool closed_ = false;                    // guarded by mutex_
  std::unordered_set<Watcher*> watchers_;  // guarded by mutex_: none is deleted while it is in here
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_HEALTH_H_
