// One port with gRPC services and reflection behind it, on connections that are accepted here
// (grpc_connections.h).
#ifndef TRELLIS_SERVE_SERVER_GRPC_PORT_H_
#define TRELLIS_SERVE_SERVER_GRPC_PORT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "serve/server/grpc_connections.h"
#include "serve/server/grpc_limits.h"
#include "serve/server/observer.h"

namespace trellis::server {

class GrpcPort {
 public:
  static constexpr int64_t kMaxConnections = 10'000;

  struct Options {
    std::string address;  // and `max_connections`: see Connections::Listen
    MessageLimits limits;
    int64_t max_connections = kMaxConnections;
    std::shared_ptr<grpc::ServerCredentials> credentials;  // none: neither encryption nor passwords
    Observer* observer = nullptr;                          // outlives the port
  };

  // Unavailable: the port cannot be had (the message names it). The services outlive the port; calls may come
  // before this returns.
  static absl::StatusOr<std::unique_ptr<GrpcPort>> Open(const Options& options,
                                                        const std::vector<grpc::Service*>& services);
  ~GrpcPort() { Stop(); }

  int port() const { return connections_->port(); }
  bool serves() const { return grpc_ != nullptr; }  // until Stop

  // Ends the connections, and cuts what does not end. Blocking, until no service is called any more.
  void Stop();

 private:
  GrpcPort() = default;

  std::unique_ptr<Connections> connections_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> grpc_;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_PORT_H_
