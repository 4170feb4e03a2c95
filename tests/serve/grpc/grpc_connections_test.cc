#include "serve/server/grpc_connections.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/serve/grpc/raw_http2.h"

namespace trellis::server {
namespace {

class RefusedConnections : public Observer {
 public:
  void ConnectionRefused() override { ++refused; }
  std::atomic<int> refused = 0;
};

// What would be gRPC's end of the connections.
class Taken {
 public:
  ~Taken() { CloseAll(); }
  void Add(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    changed_.notify_all();
  }
  void Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sockets_.size() >= count; });
  }
  void CloseAll() {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) close(socket);
    sockets_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> sockets_;
};

std::unique_ptr<Connections> Listening(int64_t most, Observer* observer) {
  auto connections = Connections::Listen("127.0.0.1:0", most, observer);
  EXPECT_TRUE(connections.ok()) << connections.status();
  return connections.ok() ? *std::move(connections) : nullptr;
}

TEST(Connections, BeyondTheBoundAreClosedAtOnceAndRoomIsUsedAgain) {
  RefusedConnections observer;
  // Each client's own end takes a descriptor too.
  auto connections = Listening(20, &observer);
  Taken taken;
  connections->Start([&](int socket) { taken.Add(socket); });
  std::vector<std::unique_ptr<RawHttp2>> clients;
  while (observer.refused == 0) {
    clients.push_back(std::make_unique<RawHttp2>(connections->port()));
    if (clients.size() > 20) {
      ASSERT_FALSE(clients.back()->ReadsSomething());
    }
  }
  EXPECT_LE(clients.size(), 21u);
  clients.clear();
  taken.CloseAll();
  RawHttp2 again(connections->port());
  taken.Await(1);
}

TEST(Connections, AcceptingGoesOnAfterDescriptorsRanOut) {
  auto connections = Listening(1'000'000, nullptr);
  Taken taken;
  connections->Start([&](int socket) { taken.Add(socket); });
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{400, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> eaten;
  for (int fd = open("/dev/null", O_RDONLY); fd >= 0; fd = open("/dev/null", O_RDONLY)) eaten.push_back(fd);
  ASSERT_EQ(errno, EMFILE);
  close(eaten.back());
  eaten.pop_back();
  RawHttp2 client(connections->port());  // takes the last descriptor: none is left to accept it with
  usleep(20'000);                        // let it be tried; the test holds, whether it was or not
  for (const int fd : eaten) close(fd);
  taken.Await(1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(Connections, TheLimitOfDescriptorsIsRaised) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseDescriptorLimit();
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Connections, AddressesOfEveryKind) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "[::]:0"}) {
    auto connections = Connections::Listen(address, 10, nullptr);
    ASSERT_TRUE(connections.ok()) << connections.status();
    EXPECT_GT((*connections)->port(), 0);
    const auto second =
        Connections::Listen("127.0.0.1:" + std::to_string((*connections)->port()), 10, nullptr);
    EXPECT_FALSE(second.ok()) << address;
  }
  for (const char* address : {"no.such.host.invalid:0", "9100", ":0"}) {
    const auto none = Connections::Listen(address, 10, nullptr);
    ASSERT_FALSE(none.ok()) << address;
    EXPECT_NE(std::string(none.status().message()).find(address), std::string::npos) << none.status();
  }
}

}  // namespace
}  // namespace trellis::server
