#include "serve/server/grpc_port.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"

namespace trellis::server {

// For peers that go away as soon as they are told; one that does not is cut.
constexpr std::chrono::milliseconds kClientsGrace{200};

absl::StatusOr<std::unique_ptr<GrpcPort>> GrpcPort::Open(const Options& options,
                                                         const std::vector<grpc::Service*>& services) {
  // Effective for servers built from now on; it cannot be taken back, and nobody in this program wants that.
  static const bool reflection = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)reflection;
  auto connections = Connections::Listen(options.address, options.max_connections, options.observer);
  if (!connections.ok()) return std::move(connections).status();
  std::unique_ptr<GrpcPort> port(new GrpcPort());
  port->connections_ = *std::move(connections);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.limits.request_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.limits.reply_bytes));
  // Compressed requests are refused, before they grow: a few bytes of one could be any number of another, and
  // the limit of a message is checked only after.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // By default a client that asks for a sign of life more than twice in five minutes, while it waits for one
  // answer, loses its connection. A gateway asks after five seconds of silence.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  port->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      options.credentials != nullptr ? options.credentials : grpc::InsecureServerCredentials());
  for (grpc::Service* service : services) builder.RegisterService(service);
  port->grpc_ = builder.BuildAndStart();
  if (port->grpc_ == nullptr) {
    return absl::UnavailableError(absl::StrCat("cannot serve on ", options.address, ": gRPC does not start"));
  }
  port->connections_->Start([acceptor = port->acceptor_.get()](int socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket;
    acceptor->HandleNewConnection(&connection);
  });
  return port;
}

void GrpcPort::Stop() {
  if (grpc_ == nullptr) return;
  // In this order nobody is told CANCELLED, which is what gRPC says to calls that come while it shuts down:
  // by then nothing can be said any more.
  connections_->Close();
  connections_->End(kClientsGrace);
  grpc_->Shutdown(std::chrono::system_clock::now());
  grpc_->Wait();
  grpc_ = nullptr;
}

}  // namespace trellis::server
