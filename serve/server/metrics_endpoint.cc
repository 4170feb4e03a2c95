#include "serve/server/metrics_endpoint.h"

#include <netdb.h>
#include <sys/socket.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prometheus/exposer.h"

namespace trellis::server {
namespace {

// A thread of the web server belongs to one connection for as long as that lasts. By default two of them
// wait 30 s each for a request, so that two idle connections would keep every scrape out.
constexpr char kThreads[] = "16";
constexpr char kRequestTimeoutMs[] = "5000";

// The web server below takes numbers only ("[::1]:9100"), and names are what people write.
absl::StatusOr<std::string> NumericAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "', expected host:port"));
  }
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  // Of a name's addresses the web server can always use one of IPv4; Debian's is built without IPv6.
  addrinfo* found = nullptr;
  int failed = 0;
  for (const int wanted : {AF_INET, AF_UNSPEC}) {
    hints.ai_family = wanted;
    failed = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (failed == 0) break;
  }
  if (failed != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", gai_strerror(failed)));
  }
  char number[NI_MAXHOST] = {};
  const int family = found->ai_family;
  const int error =
      getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number), nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  if (error != 0)
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", gai_strerror(error)));
  return family == AF_INET6 ? absl::StrCat("[", number, "]:", port) : absl::StrCat(number, ":", port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Listen(
    const std::string& address, std::shared_ptr<prometheus::Collectable> metrics) {
  absl::StatusOr<std::string> numeric = NumericAddress(address);
  if (!numeric.ok()) return std::move(numeric).status();
  std::unique_ptr<MetricsEndpoint> endpoint(new MetricsEndpoint);
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", *numeric, "num_threads", kThreads, "request_timeout_ms",
                                 kRequestTimeoutMs, "keep_alive_timeout_ms", "500"});
  } catch (const std::exception&) {  // its text names neither the address nor the reason
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", address, ": in use, or no address of this machine",
        numeric->front() == '[' ? ", or the web server of metrics was built without IPv6 (Debian's is): "
                                  "expected an IPv4 address"
                                : ""));
  }
  endpoint->Add(std::move(metrics));
  endpoint->port_ = endpoint->exposer_->GetListeningPorts().at(0);
  return endpoint;
}

MetricsEndpoint::~MetricsEndpoint() = default;

void MetricsEndpoint::Add(std::shared_ptr<prometheus::Collectable> metrics) {
  exposer_->RegisterCollectable(metrics);
  metrics_.push_back(std::move(metrics));
}

}  // namespace trellis::server
