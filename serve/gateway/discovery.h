// Keeps a balancer's replicas those that --backend's names have now: each name is asked for again and again.
#ifndef TRELLIS_SERVE_GATEWAY_DISCOVERY_H_
#define TRELLIS_SERVE_GATEWAY_DISCOVERY_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/gateway/backend_set.h"
#include "serve/gateway/balancer.h"

namespace trellis::gateway {

struct DiscoveryOptions {
  using Resolve = std::function<absl::StatusOr<std::vector<std::string>>(const HostName&)>;

  Resolve resolve;  // may block for as long as it likes, so a last call may return when the Discovery is gone
  // What came, went, or could not be resolved; one line, when it begins to be so.
  std::function<void(const std::string&)> tell;
  std::chrono::milliseconds every{2000};
};

class Discovery {
 public:
  // The addresses that stay are the balancer's replicas when this returns; those of names come later. The
  // balancer outlives this.
  Discovery(BackendSet backends, Balancer& balancer, DiscoveryOptions options);
  // At once, whatever a resolver waits for.
  ~Discovery();

 private:
  struct Shared;
  static void Watch(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_DISCOVERY_H_
