// The transport: HTTP/1.1 over TCP, TLS or a Unix socket, by Boost.Beast. It reads whole requests, hands them
// to the gateway, writes whole answers, and tells the gateway when a client goes away meanwhile.
#ifndef TRELLIS_SERVE_GATEWAY_HTTP_LISTENER_H_
#define TRELLIS_SERVE_GATEWAY_HTTP_LISTENER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/gateway/gateway.h"

namespace trellis::gateway {

struct HttpOptions {
  std::string hostname = "127.0.0.1";
  uint16_t port = 8080;           // 0: any free one
  std::string uds;                // path of a Unix socket instead of hostname and port; empty: none
  std::string tls_cert, tls_key;  // PEM files; both or none
  uint64_t payload_limit = uint64_t{16} << 20;
  size_t threads = 1;
  // A connection that says nothing for so long, or takes so long to send or to take a message, is closed.
  std::chrono::seconds idle_timeout{75};
  std::chrono::seconds transfer_timeout{60};
};

class HttpListener {
 public:
  // Unavailable: the address cannot be had; InvalidArgument: certificate or key is none. Messages name them.
  // The gateway outlives the listener.
  static absl::StatusOr<std::unique_ptr<HttpListener>> Listen(const HttpOptions& options, Gateway& gateway);
  // Cuts what is still connected. After the gateway's Drain: no answer may come any more.
  ~HttpListener();

  int port() const;  // 0 for a Unix socket
  // No new connections, and each that is there ends with its present answer.
  void StopAccepting();
  // Whether every connection that was answering has ended within `limit`. Blocking; after StopAccepting.
  bool WaitForAnswers(std::chrono::milliseconds limit);

 private:
  class Impl;
  explicit HttpListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_HTTP_LISTENER_H_
