#include "serve/gateway/discovery.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {

struct Discovery::Shared {
  Shared(BackendSet set, Balancer& whose, DiscoveryOptions chosen)
      : options(std::move(chosen)),
        names(set.names()),
        faults(names.size()),
        backends(std::move(set)),
        balancer(whose) {}

  void Apply() {
    const Balancer::Change change = balancer.SetReplicas(backends.Addresses());
    for (const std::string& address : change.come) options.tell(absl::StrCat("backend ", address, ": new"));
    for (const std::string& address : change.gone)
      options.tell(absl::StrCat("backend ", address, ": no longer named, gets nothing more"));
  }

  const DiscoveryOptions options;
  const std::vector<HostName> names;

  std::mutex mutex;  // guards what follows, and is held while the balancer is told
  std::condition_variable changed;
  bool ending = false;
  std::vector<std::string> faults;  // of each name, the last one told; empty: none
  BackendSet backends;
  Balancer& balancer;
};

Discovery::Discovery(BackendSet backends, Balancer& balancer, DiscoveryOptions options)
    : shared_(std::make_shared<Shared>(std::move(backends), balancer, std::move(options))) {
  balancer.SetReplicas(shared_->backends.Addresses());
  // Nobody can interrupt a resolver that waits for an answer, and nobody should wait for it at the end: so
  // the thread is on its own, and looks for whether it is still wanted before it touches anything but its
  // share.
  if (!shared_->names.empty()) std::thread(Watch, shared_).detach();
}

Discovery::~Discovery() {
  const std::lock_guard lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
}

void Discovery::Watch(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::vector<absl::StatusOr<std::vector<std::string>>> found;
    for (const HostName& name : shared->names) found.push_back(shared->options.resolve(name));
    std::unique_lock lock(shared->mutex);
    if (shared->ending) return;
    for (size_t n = 0; n < found.size(); ++n) {
      const std::string fault = found[n].ok() ? "" : std::string(found[n].status().message());
      if (fault != shared->faults[n] && !fault.empty())
        shared->options.tell(absl::StrCat("backend ", fault, "; the addresses stay that are known"));
      shared->faults[n] = fault;
      if (found[n].ok()) shared->backends.Resolved(n, *std::move(found[n]));
    }
    shared->Apply();
    if (shared->changed.wait_for(lock, shared->options.every, [&] { return shared->ending; })) return;
  }
}

}  // namespace trellis::gateway
