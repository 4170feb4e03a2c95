// The gRPC face of the gateway: one port with text-embeddings-inference's services, health and reflection.
#ifndef TRELLIS_SERVE_GATEWAY_GRPC_TEI_LISTENER_H_
#define TRELLIS_SERVE_GATEWAY_GRPC_TEI_LISTENER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/grpc_stream_call.h"
#include "serve/server/grpc_health.h"
#include "serve/server/grpc_port.h"

namespace trellis::gateway {

struct GrpcOptions {
  std::string hostname = "127.0.0.1";
  uint16_t port = 0;                            // 0: any free one
  std::string tls_cert = {}, tls_key = {};      // PEM files; both or none
  uint64_t payload_limit = uint64_t{16} << 20;  // of a message, and of the texts of one RerankStream
  size_t max_parallel_stream_requests = 1024;   // messages of a stream that are under way
};

class GrpcTeiListener {
 public:
  // Unavailable: the port cannot be had; NotFound: certificate or key cannot be read. Messages name them. The
  // gateway outlives the listener.
  static absl::StatusOr<std::unique_ptr<GrpcTeiListener>> Listen(const GrpcOptions& options,
                                                                 Gateway& gateway);
  ~GrpcTeiListener() { Stop(std::chrono::milliseconds(0)); }

  int port() const { return port_->port(); }

  // Tells the watchers of health of a change of the gateway's state. To be called a few times a second.
  void RefreshHealth() { health_.Refresh(); }

  // After the gateway's Close: health says so, and streams take no more messages.
  void AnnounceEnd();
  // Waits for so long until the answers that were given are delivered, then cuts whatever is left. Whether
  // nothing was. Blocking; after the gateway's Drain.
  bool Stop(std::chrono::milliseconds limit);

 private:
  GrpcTeiListener(const GrpcOptions& options, Gateway& gateway);

  TeiFace face_;
  const std::vector<std::unique_ptr<grpc::Service>> services_;
  server::HealthService health_;
  std::unique_ptr<server::GrpcPort> port_;  // the last: it stops before what it calls is gone
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_GRPC_TEI_LISTENER_H_
