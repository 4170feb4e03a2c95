// GET /metrics over HTTP, on a port of its own.
#ifndef TRELLIS_SERVE_SERVER_METRICS_ENDPOINT_H_
#define TRELLIS_SERVE_SERVER_METRICS_ENDPOINT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/collectable.h"

namespace prometheus {
class Exposer;
}

namespace trellis::server {

class MetricsEndpoint {
 public:
  // `address` is host:port with a host that is an IP address or a name of one; port 0 takes a free one.
  // Unavailable: the port cannot be had (the message names it).
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Listen(
      const std::string& address, std::shared_ptr<prometheus::Collectable> metrics);
  ~MetricsEndpoint();

  // Series to be served beside the others; none of their names may be among those.
  void Add(std::shared_ptr<prometheus::Collectable> metrics);

  int port() const { return port_; }

 private:
  MetricsEndpoint() = default;

  std::vector<std::shared_ptr<prometheus::Collectable>> metrics_;  // the exposer keeps none of them alive
  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_METRICS_ENDPOINT_H_
