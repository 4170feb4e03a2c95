// The connections of the gRPC port, accepted here and then handed to gRPC.
//
// gRPC 1.51 would listen itself, but once accept(2) fails for want of a file descriptor it never accepts
// again, and it bounds nothing. Here a connection beyond the bound is closed at once, so that its client
// hears of it, and accepting goes on as soon as there is room again.
#ifndef TRELLIS_SERVE_SERVER_GRPC_CONNECTIONS_H_
#define TRELLIS_SERVE_SERVER_GRPC_CONNECTIONS_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/server/observer.h"

namespace trellis::server {

// Lifts the soft limit of file descriptors to the hard one, and gives what is in force then.
int64_t RaiseDescriptorLimit();

class Connections {
 public:
  // Binds and listens; nothing is accepted before Start. `address` is host:port, where a host may stand for
  // several addresses and a host with colons is in brackets; port 0 takes a free one. About `most`
  // connections may be open at a time, and fewer where the limit of file descriptors leaves no more.
  // Unavailable: the port cannot be had (the message names it). `observer` may be null and outlives this.
  static absl::StatusOr<std::unique_ptr<Connections>> Listen(const std::string& address, int64_t most,
                                                             Observer* observer);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  int port() const { return port_; }

  // From now on each new connection goes to `take`, on a thread of this class; the socket is then gRPC's.
  void Start(std::function<void(int socket)> take);

  // Closes the port: nobody connects any more.
  void Close();

  // After Close: ends our side of every connection, once what was written is sent. Clients then close
  // theirs, and whatever they were still asking becomes UNAVAILABLE to them. Waits for that, for `grace` at
  // most.
  void End(std::chrono::milliseconds grace);

 private:
  Connections(int64_t most, Observer* observer) : most_(most), observer_(observer) {}

  void Accept(int listener);
  void Run();
  bool IsOurs(int socket) const;

  const int64_t most_;
  Observer* const observer_;
  std::vector<int> listeners_;
  int port_ = 0;
  int wake_ = -1;           // readable once accepting is to stop
  int first_socket_ = 0;    // the lowest descriptor that a connection could get
  bool said_full_ = false;  // once is enough; the thread's
  std::set<int> taken_;     // descriptors that gRPC was given; the thread's until it has ended
  std::function<void(int)> take_;
  std::thread thread_;
};

}  // namespace trellis::server

#endif  // TRELLIS_SERVE_SERVER_GRPC_CONNECTIONS_H_
