// What --backend names: addresses that stay, and names whose addresses change; and from these, who there is.
// No clock and no network.
#ifndef TRELLIS_SERVE_GATEWAY_BACKEND_SET_H_
#define TRELLIS_SERVE_GATEWAY_BACKEND_SET_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace trellis::gateway {

struct HostName {
  std::string host, port;
};

class BackendSet {
 public:
  // "dns:///NAME:PORT" or "dns:NAME:PORT" is a name; all else are addresses as gRPC has them.
  // InvalidArgument: a name without its port, or one twice, since that would count as two replicas that are
  // lost together.
  static absl::StatusOr<BackendSet> Parse(const std::vector<std::string>& backends);

  const std::vector<HostName>& names() const { return names_; }
  // What a name's addresses are now. None at all is what a resolver says that has lost its servers, too, so
  // the last ones stay; health checks know better who is there.
  void Resolved(size_t name, std::vector<std::string> addresses);
  // Each once, whoever names it: first those that stay.
  std::vector<std::string> Addresses() const;

 private:
  std::vector<std::string> fixed_;
  std::vector<HostName> names_;
  std::vector<std::vector<std::string>> found_;  // one a name
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_BACKEND_SET_H_
