#include "serve/gateway/http_listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/gateway/http_session.h"

namespace trellis::gateway {
namespace {

using asio::ip::tcp;
using UnixProtocol = asio::local::stream_protocol;

// After running out of descriptors: some connection has to end before the next can begin.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string PeerOf(const tcp::socket& socket) {
  error_code failed;
  const tcp::endpoint peer = socket.remote_endpoint(failed);
  return failed ? "?" : absl::StrCat(peer.address().to_string(), ":", peer.port());
}
std::string PeerOf(const UnixProtocol::socket&) { return "unix"; }

}  // namespace

class HttpListener::Impl {
 public:
  Impl(const HttpOptions& options, Gateway& gateway)
      : shared_{options, gateway}, io_(static_cast<int>(options.threads)) {}
  ~Impl() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    while (!shared_.away->WaitForNone(std::chrono::minutes(1))) {
    }
    if (unix_.has_value()) unlink(shared_.options.uds.c_str());
  }

  absl::Status Open() {
    const HttpOptions& options = shared_.options;
    if (!options.tls_cert.empty()) {
      if (absl::Status read = ReadCertificate(); !read.ok()) return read;
    }
    absl::Status bound = options.uds.empty() ? BindTcp() : BindUnix();
    if (!bound.ok()) return bound;
    options.uds.empty() ? Accept(*tcp_) : Accept(*unix_);
    for (size_t i = 0; i < options.threads; ++i) threads_.emplace_back([this] { io_.run(); });
    return absl::OkStatus();
  }

  int port() const { return tcp_.has_value() ? tcp_->local_endpoint().port() : 0; }

  void StopAccepting() {
    shared_.ending = true;
    asio::post(io_, [this] {
      error_code ignored;
      if (tcp_.has_value()) tcp_->close(ignored);
      if (unix_.has_value()) unix_->close(ignored);
    });
  }
  bool WaitForAnswers(std::chrono::milliseconds limit) { return shared_.answering.WaitForNone(limit); }

 private:
  absl::Status ReadCertificate() {
    const HttpOptions& options = shared_.options;
    tls_.emplace(asio::ssl::context::tls_server);
    tls_->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                      asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 |
                      asio::ssl::context::no_tlsv1_1);
    error_code failed;
    tls_->use_certificate_chain_file(options.tls_cert, failed);
    if (failed)
      return absl::InvalidArgumentError(
          absl::StrCat(options.tls_cert, ": ", failed.message(), ", expected a PEM certificate"));
    tls_->use_private_key_file(options.tls_key, asio::ssl::context::pem, failed);
    if (failed)
      return absl::InvalidArgumentError(
          absl::StrCat(options.tls_key, ": ", failed.message(), ", expected the certificate's PEM key"));
    return absl::OkStatus();
  }

  absl::Status BindTcp() {
    const HttpOptions& options = shared_.options;
    const std::string where = absl::StrCat(options.hostname, ":", options.port);
    error_code failed;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(options.hostname, absl::StrCat(options.port),
                                        tcp::resolver::passive | tcp::resolver::numeric_service, failed);
    if (failed)
      return absl::UnavailableError(absl::StrCat("cannot listen on ", where, ": ", failed.message()));
    const tcp::endpoint endpoint = found.begin()->endpoint();
    tcp_.emplace(io_);
    tcp_->open(endpoint.protocol(), failed);
    if (!failed) tcp_->set_option(asio::socket_base::reuse_address(true), failed);
    if (!failed) tcp_->bind(endpoint, failed);
    if (!failed) tcp_->listen(asio::socket_base::max_listen_connections, failed);
    if (failed)
      return absl::UnavailableError(absl::StrCat("cannot listen on ", where, ": ", failed.message()));
    return absl::OkStatus();
  }

  absl::Status BindUnix() {
    const std::string& path = shared_.options.uds;
    const auto wrong = [&](const std::string& what) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", path, ": ", what));
    };
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return wrong("the path is too long for a Unix socket");
    // What another run has left is in the way; a socket that somebody serves, or any other file, is not ours.
    struct stat there {};
    if (lstat(path.c_str(), &there) == 0) {
      if (!S_ISSOCK(there.st_mode)) return wrong("there is a file that is no socket");
      UnixProtocol::socket probe(io_);
      error_code refused;
      probe.connect(UnixProtocol::endpoint(path), refused);
      if (!refused) return wrong("another program listens there");
      unlink(path.c_str());
    }
    error_code failed;
    UnixProtocol::acceptor acceptor(io_);
    acceptor.open(UnixProtocol(), failed);
    if (!failed) acceptor.bind(UnixProtocol::endpoint(path), failed);
    if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
    if (failed) return wrong(failed.message());
    unix_.emplace(std::move(acceptor));
    return absl::OkStatus();
  }

  template <typename Acceptor>
  void Accept(Acceptor& acceptor) {
    acceptor.async_accept(asio::any_io_executor(asio::make_strand(io_)),
                          [this, &acceptor](error_code failed, auto socket) {
                            if (failed == asio::error::operation_aborted || !acceptor.is_open()) return;
                            if (failed) {
                              pause_.expires_after(kAcceptPause);
                              pause_.async_wait([this, &acceptor](error_code) {
                                if (acceptor.is_open()) Accept(acceptor);
                              });
                              return;
                            }
                            Welcome(std::move(socket));
                            Accept(acceptor);
                          });
  }

  template <typename Socket>
  void Welcome(Socket accepted) {
    std::string peer = PeerOf(accepted);
    error_code ignored;
    if constexpr (std::is_same_v<typename Socket::protocol_type, tcp>)
      accepted.set_option(tcp::no_delay(true), ignored);
    PlainStream stream(asio::generic::stream_protocol::socket(std::move(accepted)));
    if (tls_.has_value()) {
      std::make_shared<HttpSession<TlsStream>>(TlsStream(std::move(stream), *tls_), shared_, std::move(peer))
          ->Run();
    } else {
      std::make_shared<HttpSession<PlainStream>>(std::move(stream), shared_, std::move(peer))->Run();
    }
  }

  HttpShared shared_;
  std::optional<asio::ssl::context> tls_;
  asio::io_context io_;
  asio::steady_timer pause_{io_};
  std::optional<tcp::acceptor> tcp_;
  std::optional<UnixProtocol::acceptor> unix_;
  std::vector<std::thread> threads_;
};

HttpListener::HttpListener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpListener::~HttpListener() = default;

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Listen(const HttpOptions& options,
                                                                   Gateway& gateway) {
  auto impl = std::make_unique<Impl>(options, gateway);
  if (absl::Status opened = impl->Open(); !opened.ok()) return opened;
  return std::unique_ptr<HttpListener>(new HttpListener(std::move(impl)));
}

int HttpListener::port() const { return impl_->port(); }
void HttpListener::StopAccepting() { impl_->StopAccepting(); }
bool HttpListener::WaitForAnswers(std::chrono::milliseconds limit) { return impl_->WaitForAnswers(limit); }

}  // namespace trellis::gateway
