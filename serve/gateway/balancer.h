// Several replicas of one model as one: each request goes to the one with the least to do, and once more, to
// another, when the first cannot take it, loses it or hangs. Replicas come and go meanwhile.
#ifndef TRELLIS_SERVE_GATEWAY_BALANCER_H_
#define TRELLIS_SERVE_GATEWAY_BALANCER_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "serve/gateway/call_outcome.h"
#include "serve/gateway/ejection.h"
#include "serve/gateway/replica.h"
#include "serve/gateway/retry_budget.h"

namespace trellis::gateway {

class Balancer final : public Replica {
 public:
  using Now = std::function<server::Clock::time_point()>;
  // A replica at `address`. It calls `hangs` whenever it has reason to believe that what was sent there gets
  // no answer; from no call of its own, and not after its end.
  using Make =
      std::function<std::unique_ptr<Replica>(const std::string& address, std::function<void()> hangs)>;

  // What replicas run must be the same: one with another model than the first that was reached gets nothing.
  explicit Balancer(Make make, Now now = server::Clock::now);
  ~Balancer() override;

  struct Change {
    std::vector<std::string> come, gone;
  };
  // Who there is from now on, each once. Who is new is made; who is not named gets nothing more, and goes, in
  // a later call, when all that it has is answered. From one thread at a time; blocks while replicas end.
  Change SetReplicas(const std::vector<std::string>& addresses);

  // Ready when one of them is.
  server::Health health() const override;
  const ReplicaModel* model() const override;  // lives as long as this, whoever goes
  server::Ticket Infer(ReplicaRequest request) override;
  void Cancel(server::Ticket ticket) override;

  struct State {
    std::string address;
    bool up = false;          // gets requests
    int64_t outstanding = 0;  // tokens under way there
    int64_t ejections = 0;
  };
  // Those that are leaving are among them until they are gone.
  std::vector<State> replicas() const;
  int64_t retried(Retry reason) const { return retried_[static_cast<size_t>(reason)].load(); }

 private:
  struct Member {
    std::string address;
    enum class Stay : uint8_t { kStays, kLeaves } stay = Stay::kStays;
    int64_t outstanding = 0;  // tokens
    int owed = 0, calls = 0;  // answers, and calls that have not returned: meanwhile it must not go
    Ejection ejection;
    std::unique_ptr<Replica> replica;
  };
  struct Attempt {
    ReplicaRequest request;  // kept for the second try
    std::function<void(server::Reply)> done;
    int64_t tokens = 0;
    std::vector<std::shared_ptr<Member>> tried;
    server::Clock::time_point sent;
    server::Ticket inner = 0;
    // Moved: cancelled where it hangs, and paid for, to be tried elsewhere.
    enum class State : uint8_t { kUnderWay, kMoved, kCancelled } state = State::kUnderWay;
  };

  const ReplicaModel* ModelLocked() const;
  bool UpLocked(const Member& member) const;
  std::shared_ptr<Member> ChooseLocked(const Attempt& attempt, std::optional<Retry> reason) const;
  std::shared_ptr<Member> NewMember(const std::string& address);
  void Send(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt, std::optional<Retry> reason);
  void Answered(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt, server::Reply reply);
  std::optional<Retry> AgainLocked(const Attempt& attempt, const absl::Status& status);
  void ReturnedLocked(Member& member);
  void Move(Member& member);

  const Make make_;
  const Now now_;
  mutable std::mutex mutex_;  // guards what follows; not held while a replica is called, nor a `done`
  mutable std::atomic<const ReplicaModel*> model_{nullptr};  // &first_model_ once it is known
  mutable std::optional<ReplicaModel> first_model_;          // of the first that was reached
  std::unordered_map<server::Ticket, std::shared_ptr<Attempt>> attempts_;
  server::Ticket last_ = 0;
  RetryBudget budget_;
  bool ending_ = false;
  std::condition_variable returned_;  // from every call into a member
  std::array<std::atomic<int64_t>, kRetries> retried_{};
  std::vector<std::shared_ptr<Member>> members_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_BALANCER_H_
