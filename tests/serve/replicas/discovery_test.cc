// What --backend may say, and replicas that follow a name's addresses.
#include "serve/gateway/discovery.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "serve/gateway/host_addresses.h"
#include "tests/serve/replicas/balancer_fixture.h"

namespace trellis::gateway {
namespace {

using Addresses = std::vector<std::string>;

TEST(BackendSet, AddressesAndNames) {
  const auto set =
      BackendSet::Parse({"10.0.0.1:50051", "dns:///servers.here:50051", "server:1", "dns:b:65535"});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->Addresses(), (Addresses{"10.0.0.1:50051", "server:1"}));
  ASSERT_EQ(set->names().size(), 2u);
  EXPECT_EQ(set->names()[0].host, "servers.here");
  EXPECT_EQ(set->names()[0].port, "50051");
  EXPECT_EQ(set->names()[1].host, "b");
  EXPECT_EQ(set->names()[1].port, "65535");
}

TEST(BackendSet, WhatIsWrongIsNamed) {
  for (const std::string wrong : {"dns:///servers", "dns:///:1", "dns:///a:", "dns:///a:0", "dns:///a:65536",
                                  "dns:///a:b", "dns://1.1.1.1/a:1", "dns:///[::1]:1", "dns:"}) {
    const auto set = BackendSet::Parse({"a:1", wrong});
    ASSERT_FALSE(set.ok()) << wrong;
    EXPECT_EQ(set.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(set.status().message(), "\"" + wrong + "\", expected dns:///NAME:PORT");
  }
  EXPECT_FALSE(BackendSet::Parse({""}).ok());
  for (const Addresses& twice : {Addresses{"a:1", "a:1"}, {"dns:///a:1", "dns:a:1"}})
    EXPECT_NE(BackendSet::Parse(twice).status().message().find("twice"), std::string::npos);
  EXPECT_TRUE(BackendSet::Parse({"a:1", "dns:///a:1", "dns:///a:2"}).ok());
}

TEST(BackendSet, EachAddressIsThereOnceAndTheLastKnownStay) {
  auto set = *BackendSet::Parse({"10.0.0.1:1", "dns:///a:1", "dns:///b:1"});
  set.Resolved(0, {"10.0.0.2:1", "10.0.0.1:1"});
  set.Resolved(1, {"10.0.0.3:1", "10.0.0.2:1"});
  EXPECT_EQ(set.Addresses(), (Addresses{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}));
  set.Resolved(0, {});
  EXPECT_EQ(set.Addresses().size(), 3u);
  set.Resolved(0, {"10.0.0.4:1"});
  EXPECT_EQ(set.Addresses(), (Addresses{"10.0.0.1:1", "10.0.0.4:1", "10.0.0.3:1", "10.0.0.2:1"}));
}

// RFC 6761 gives localhost its addresses, whatever the network is like.
TEST(HostAddresses, OfThisMachine) {
  const auto found = HostAddresses({"localhost", "4567"});
  ASSERT_TRUE(found.ok()) << found.status();
  for (const std::string& address : *found)
    EXPECT_TRUE(address == "127.0.0.1:4567" || address == "[::1]:4567") << address;
  EXPECT_EQ(HostAddresses({"::1", "1"}).value(), Addresses{"[::1]:1"});
  // RFC 6761 too: "invalid" has none.
  const auto none = HostAddresses({"servers.invalid", "1"});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(none.status().message().find("servers.invalid:1: "), 0u) << none.status();
}

// What a resolver knows, changed by the test.
class Names {
 public:
  void Know(const std::string& name, absl::StatusOr<Addresses> addresses) {
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(name, std::move(addresses));
  }
  // Until it is applied: what the next lookup finds is, when the one after it begins.
  void Change(const std::string& name, absl::StatusOr<Addresses> addresses) {
    Know(name, std::move(addresses));
    std::unique_lock lock(mutex_);
    const int before = lookups_;
    changed_.wait(lock, [&] { return lookups_ >= before + 2; });
  }
  absl::StatusOr<Addresses> Find(const HostName& name) {
    const std::lock_guard lock(mutex_);
    ++lookups_;
    changed_.notify_all();
    const auto found = known_.find(name.host);
    return found == known_.end() ? absl::UnavailableError(name.host + ": unknown") : found->second;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, absl::StatusOr<Addresses>> known_;
  int lookups_ = 0;
};

class Discovered : public Balanced {
 protected:
  std::unique_ptr<Discovery> Follow(const std::vector<std::string>& backends) {
    return std::make_unique<Discovery>(
        *BackendSet::Parse(backends), balancer_,
        DiscoveryOptions{[names = names_](const HostName& name) { return names->Find(name); },
                         [this](const std::string& line) { told_.push_back(line); },
                         std::chrono::milliseconds(1)});
  }
  Addresses Present() const {
    Addresses addresses;
    for (const Balancer::State& replica : balancer_.replicas()) addresses.push_back(replica.address);
    return addresses;
  }

  const std::shared_ptr<Names> names_ = std::make_shared<Names>();  // a last lookup may outlive the test
  std::vector<std::string> told_;  // by the watching thread; read when it is gone
};

TEST_F(Discovered, AddressesThatStayAreThereAtOnce) {
  const auto discovery = Follow({"c:3"});
  EXPECT_EQ(Present(), Addresses{"c:3"});
}

TEST_F(Discovered, ReplicasFollowANamesAddresses) {
  names_->Know("servers", Addresses{"10.0.0.1:1", "10.0.0.2:1"});
  auto discovery = Follow({"c:3", "dns:///servers:1"});
  names_->Change("servers", Addresses{"10.0.0.1:1", "10.0.0.2:1"});
  EXPECT_EQ(Present(), (Addresses{"c:3", "10.0.0.1:1", "10.0.0.2:1"}));
  names_->Change("servers", Addresses{"10.0.0.2:1", "10.0.0.3:1"});
  EXPECT_EQ(Present(), (Addresses{"c:3", "10.0.0.2:1", "10.0.0.3:1"}));
  names_->Change("servers", absl::UnavailableError("servers:1: no answer"));
  EXPECT_EQ(Present(), (Addresses{"c:3", "10.0.0.2:1", "10.0.0.3:1"}));
  names_->Change("servers", Addresses{});
  EXPECT_EQ(Present().size(), 3u);
  discovery.reset();
  EXPECT_EQ(told_, (Addresses{"backend 10.0.0.1:1: new", "backend 10.0.0.2:1: new", "backend 10.0.0.3:1: new",
                              "backend 10.0.0.1:1: no longer named, gets nothing more",
                              "backend servers:1: no answer; the addresses stay that are known"}));
}

// Static, since the thread may outlive the test: that is what is tested.
TEST_F(Discovered, NobodyWaitsForAResolverAtTheEnd) {
  static std::mutex mutex;
  static std::condition_variable changed;
  static bool asked = false, answer = false, answered = false;
  auto discovery = std::make_unique<Discovery>(
      *BackendSet::Parse({"dns:///servers:1"}), balancer_,
      DiscoveryOptions{[](const HostName&) -> absl::StatusOr<Addresses> {
                         std::unique_lock lock(mutex);
                         asked = true;
                         changed.notify_all();
                         changed.wait(lock, [] { return answer; });
                         answered = true;
                         changed.notify_all();
                         return Addresses{"10.0.0.1:1"};
                       },
                       [](const std::string&) { ADD_FAILURE() << "nobody is told"; },
                       std::chrono::seconds(1)});
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return asked; });
  lock.unlock();
  discovery.reset();
  EXPECT_TRUE(Present().empty());
  lock.lock();
  answer = true;
  changed.notify_all();
  changed.wait(lock, [] { return answered; });
}

}  // namespace
}  // namespace trellis::gateway
