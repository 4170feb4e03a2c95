#include "serve/gateway/host_addresses.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::gateway {

absl::StatusOr<std::vector<std::string>> HostAddresses(const HostName& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;  // else each address comes once for every kind of socket
  addrinfo* list = nullptr;
  if (const int failed = getaddrinfo(name.host.c_str(), name.port.c_str(), &wanted, &list); failed != 0) {
    const char* why = failed == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(failed);
    return absl::UnavailableError(absl::StrCat(name.host, ":", name.port, ": ", why));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
      continue;
    addresses.push_back(at->ai_family == AF_INET6 ? absl::StrCat("[", host, "]:", port)
                                                  : absl::StrCat(host, ":", port));
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

}  // namespace trellis::gateway
