#include "serve/server/grpc_listener.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace trellis::server {

using std::chrono::milliseconds;

// For peers that go away as soon as they are told; one that does not is cut.
constexpr milliseconds kWatchersGrace{200};
constexpr milliseconds kClientsGrace{200};

absl::StatusOr<std::unique_ptr<GrpcListener>> GrpcListener::Listen(const std::string& address,
                                                                   const MessageLimits& limits,
                                                                   Observer* observer,
                                                                   int64_t max_connections) {
  // Effective for servers built from now on; it cannot be taken back, and nobody in this program wants that.
  static const bool reflection = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)reflection;
  auto connections = Connections::Listen(address, max_connections, observer);
  if (!connections.ok()) return std::move(connections).status();
  std::unique_ptr<GrpcListener> listener(new GrpcListener(limits, observer));
  listener->connections_ = *std::move(connections);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(limits.request_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(limits.reply_bytes));
  // Compressed requests are refused, before they grow: a few bytes of one could be any number of another, and
  // the limit of a message is checked only after.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  listener->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  builder.RegisterService(&listener->inference_);
  builder.RegisterService(&listener->health_);
  listener->grpc_ = builder.BuildAndStart();
  if (listener->grpc_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", address, ": gRPC does not start"));
  }
  listener->connections_->Start([acceptor = listener->acceptor_.get()](int socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket;
    acceptor->HandleNewConnection(&connection);
  });
  return listener;
}

GrpcListener::GrpcListener(const MessageLimits& limits, Observer* observer)
    : inference_(limits, observer), health_({InferenceService::kName}, [this] {
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
  if (grpc_ == nullptr) return 0;
  AnnounceEnd();
  const size_t undelivered = inference_.AwaitDelivery(limit);
  health_.Close(kWatchersGrace);
  // In this order nobody is told CANCELLED, which is what gRPC says to calls that come while it shuts down:
  // by then nothing can be said any more.
  connections_->Close();
  connections_->End(kClientsGrace);
  grpc_->Shutdown(std::chrono::system_clock::now());
  grpc_->Wait();
  grpc_ = nullptr;
  return undelivered;
}

}  // namespace trellis::server
