#include "serve/server/grpc_connections.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;

// While descriptors are short: how long until the next try.
constexpr milliseconds kPause{50};
constexpr int kBacklog = 1024;
// Descriptors that connections leave to everything else (metrics, the engine's files), at most.
constexpr int64_t kKept = 64;

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
  sockaddr_storage storage;
};

int PortOf(int socket) {
  SocketAddress address{};
  socklen_t length = sizeof(address);
  if (getsockname(socket, &address.any, &length) != 0) return -1;
  if (address.any.sa_family == AF_INET) return ntohs(address.v4.sin_port);
  if (address.any.sa_family == AF_INET6) return ntohs(address.v6.sin6_port);
  return -1;
}

// A listening socket, or -1 with errno.
int Listening(const addrinfo& found, int port) {
  const int fd = socket(found.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  SocketAddress address{};
  std::memcpy(&address, found.ai_addr, found.ai_addrlen);
  (found.ai_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port) =
      htons(static_cast<uint16_t>(port));
  const int on = 1, off = 0;
  // After a restart the port is free although old connections are not quite gone; two servers at a time still
  // cannot have it.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // accepted sockets inherit it
  // [::] means every address of this machine; any other is of its own family anyway.
  if (found.ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  if (bind(fd, &address.any, found.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int32_t>::max()));
}

absl::StatusOr<std::unique_ptr<Connections>> Connections::Listen(const std::string& address, int64_t most,
                                                                 Observer* observer) {
  const auto cannot = [&](const std::string& why) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", why));
  };
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return cannot("expected host:port");
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
      error != 0) {
    return cannot(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  std::unique_ptr<Connections> connections(new Connections(most, observer));
  int error = 0;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    // All addresses of a name get the port that the first one got.
    const int asked = PortOf(connections->listeners_.empty() ? -1 : connections->listeners_.front());
    SocketAddress given{};
    std::memcpy(&given, one->ai_addr, one->ai_addrlen);
    const int port =
        asked > 0 ? asked : ntohs(one->ai_family == AF_INET6 ? given.v6.sin6_port : given.v4.sin_port);
    const int fd = Listening(*one, port);
    if (fd >= 0) {
      connections->listeners_.push_back(fd);
    } else if (errno == EADDRINUSE || error == 0) {
      error = errno;
    }
  }
  // A name whose addresses this machine has only in part (no IPv6, say) is fine; one that is taken is not.
  if (connections->listeners_.empty() || error == EADDRINUSE) return cannot(std::strerror(error));
  connections->port_ = PortOf(connections->listeners_.front());
  connections->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (connections->wake_ < 0) return cannot(std::strerror(errno));
  connections->first_socket_ = connections->wake_ + 1;
  return connections;
}

Connections::~Connections() {
  Close();
  if (wake_ >= 0) close(wake_);
}

void Connections::Start(std::function<void(int)> take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { Run(); });
}

void Connections::Run() {
  std::vector<pollfd> watched;
  for (const int listener : listeners_) watched.push_back({listener, POLLIN, 0});
  watched.push_back({wake_, POLLIN, 0});
  for (;;) {
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    if (watched.back().revents != 0) return;
    for (size_t l = 0; l < listeners_.size(); ++l) {
      if (watched[l].revents != 0) Accept(listeners_[l]);
    }
  }
}

void Connections::Accept(int listener) {
  const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      pollfd wake{wake_, POLLIN, 0};
      poll(&wake, 1, static_cast<int>(kPause.count()));
    }
    return;
  }
  // The kernel gives the lowest descriptor that is free. So this one says how many are open, and nobody need
  // be told when a connection ends, which gRPC would not tell.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto descriptors = static_cast<int64_t>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<int32_t>::max())));
  const int64_t bound = std::min(first_socket_ + most_, descriptors - std::min(kKept, descriptors / 4));
  if (socket >= bound) {
    close(socket);
    if (observer_ != nullptr) observer_->ConnectionRefused();
    if (!std::exchange(said_full_, true)) {
      std::fprintf(stderr,
                   "trellis: no more connections: %lld descriptors are in use (at most %lld connections, and "
                   "descriptors up to %lld); what comes beyond is closed, and counted\n",
                   static_cast<long long>(socket), static_cast<long long>(most_),
                   static_cast<long long>(descriptors));
    }
    return;
  }
  taken_.insert(socket);
  take_(socket);
}

void Connections::Close() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof(one));
    thread_.join();
  }
  for (const int listener : listeners_) close(listener);
  listeners_.clear();
}

// Whether a descriptor that gRPC was given is still that connection: gRPC may have closed it, and the number
// may stand for something else. Nothing new can have our port once the listeners are closed.
bool Connections::IsOurs(int socket) const { return PortOf(socket) == port_; }

void Connections::End(milliseconds grace) {
  std::erase_if(taken_, [this](int socket) { return !IsOurs(socket); });
  for (const int socket : taken_) shutdown(socket, SHUT_WR);
  const auto end = std::chrono::steady_clock::now() + grace;
  while (!taken_.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(2));
    std::erase_if(taken_, [this](int socket) { return !IsOurs(socket); });
  }
}

}  // namespace trellis::server
