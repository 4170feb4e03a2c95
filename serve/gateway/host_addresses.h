// The addresses of a name, as this machine's own resolver knows them.
#ifndef TRELLIS_SERVE_GATEWAY_HOST_ADDRESSES_H_
#define TRELLIS_SERVE_GATEWAY_HOST_ADDRESSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/gateway/backend_set.h"

namespace trellis::gateway {

// "127.0.0.1:80", "[::1]:80", sorted, each once. Blocks for as long as the resolver takes. Unavailable names
// the name and what the resolver says.
absl::StatusOr<std::vector<std::string>> HostAddresses(const HostName& name);

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_HOST_ADDRESSES_H_
