#include "serve/server/grpc_listener.h"

#include <utility>

namespace trellis::server {

using std::chrono::milliseconds;

// For peers that go away as soon as they are told; one that does not is cut.
constexpr milliseconds kWatchersGrace{200};

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(const std::string& address,
                                                                   const MessageLimits& limits,
                                                                   Observer* observer,
                                                                   int64_t max_connections) {
  std::unique_ptr<GrpcListener> listener(new GrpcListener(limits, observer));
  auto port = GrpcPort::Open({.address = address,
                              .limits = limits,
                              .max_connections = max_connections,
                              .credentials = nullptr,
                              .observer = observer},
                             {&listener->inference_, &listener->health_});
  if (!port.ok()) return std::move(port).status();
  listener->port_ = *std::move(port);
  return listener;
}

GrpcListener::GrpcListener(const MessageLimits& limits, Observer* observer)
    : inference_(limits, observer), health_({InferenceService::kName}, [this](const std::string&) {
        const Server* server = server_.load(std::memory_order_acquire);
        const bool ready = server != nullptr && !ending_ && server->health() == Health::kReady;
        return ready ? HealthService::State::kServing : HealthService::State::kNotServing;
      }) {}

GrpcListener::~GrpcListener() { Stop(milliseconds(0)); }

void GrpcListener::Open(Server& server) {
  server_.store(&server, std::memory_order_release);
  inference_.Open(server);
  health_.Refresh();
}

void GrpcListener::AnnounceEnd() {
  ending_ = true;
  health_.Refresh();
}

size_t GrpcListener::Stop(milliseconds limit) {
  if (port_ == nullptr || !port_->serves()) return 0;
  AnnounceEnd();
  const size_t undelivered = inference_.AwaitDelivery(limit);
  health_.Close(kWatchersGrace);
  port_->Stop();
  return undelivered;
}

}  // namespace trellis::server
