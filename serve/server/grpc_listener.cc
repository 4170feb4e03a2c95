#include "serve/server/grpc_listener.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace trellis::server {

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(const std::string& address,
                                                                   const MessageLimits& limits,
                                                                   Observer* observer) {
  // Effective for servers built from now on; it cannot be taken back, and nobody in this program wants that.
  static const bool reflection = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)reflection;
  std::unique_ptr<GrpcListener> listener(new GrpcListener(limits, observer));
  grpc::ServerBuilder builder;
  // By default two servers share a port, and half of the calls go to the one that is forgotten.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.request_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(limits.reply_bytes));
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&listener->inference_);
  builder.RegisterService(&listener->health_);
  listener->grpc_ = builder.BuildAndStart();
  if (listener->grpc_ == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": in use, or no address of this machine"));
  }
  listener->port_ = port;
  return listener;
}

GrpcListener::GrpcListener(const MessageLimits& limits, Observer* observer)
    : inference_(limits, observer), health_({InferenceService::kName}, [this] {
        const Server* server = server_.load(std::memory_order_acquire);
        const bool ready = server != nullptr && !ending_ && server->health() == Health::kReady;
        return ready ? HealthService::State::kServing : HealthService::State::kNotServing;
      }) {}

GrpcListener::~GrpcListener() { Stop(std::chrono::milliseconds(0)); }

void GrpcListener::Open(Server& server) {
  server_.store(&server, std::memory_order_release);
  inference_.Open(server);
  health_.Refresh();
}

void GrpcListener::AnnounceEnd() {
  ending_ = true;
  health_.Refresh();
}

void GrpcListener::Stop(std::chrono::milliseconds limit) {
  if (grpc_ == nullptr) return;
  AnnounceEnd();
  health_.Close();
  grpc_->Shutdown(std::chrono::system_clock::now() + limit);
  grpc_->Wait();
  grpc_ = nullptr;
}

}  // namespace trellis::server
