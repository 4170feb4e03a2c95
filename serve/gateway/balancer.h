// Several replicas of one model as one: each request goes to the one with the least to do, and once more, to
// another, when the first cannot take it.
#ifndef TRELLIS_SERVE_GATEWAY_BALANCER_H_
#define TRELLIS_SERVE_GATEWAY_BALANCER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "serve/gateway/replica.h"
#include "serve/gateway/retry_budget.h"

namespace trellis::gateway {

class Balancer final : public Replica {
 public:
  using Now = std::function<server::Clock::time_point()>;

  // At least one. What they run must be the same: a replica with another model than the first that was
  // reached gets nothing.
  explicit Balancer(std::vector<std::unique_ptr<Replica>> replicas, Now now = server::Clock::now);
  ~Balancer() override;

  // Ready when one of them is.
  server::Health health() const override;
  const ReplicaModel* model() const override;
  server::Ticket Infer(ReplicaRequest request) override;
  void Cancel(server::Ticket ticket) override;

  size_t replicas() const { return replicas_.size(); }
  // Whether a replica gets requests.
  bool up(size_t replica) const;
  // Tokens under way at a replica.
  int64_t outstanding(size_t replica) const;
  // Requests that were tried at another replica, by what the first one said.
  enum class Retry : uint8_t { kUnavailable, kOverloaded };
  static constexpr size_t kRetries = 2;
  int64_t retried(Retry reason) const { return retried_[static_cast<size_t>(reason)].load(); }

 private:
  struct Attempt {
    ReplicaRequest request;  // kept for the second try
    std::function<void(server::Reply)> done;
    int64_t tokens = 0;
    std::vector<size_t> tried;
    server::Ticket inner = 0;
    enum class State : uint8_t { kUnderWay, kCancelled } state = State::kUnderWay;
  };

  std::optional<size_t> ChooseLocked(const Attempt& attempt) const;
  void Send(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt);
  void Answered(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt, server::Reply reply);

  mutable std::atomic<const ReplicaModel*> model_{nullptr};  // of the first that was reached
  mutable std::mutex mutex_;  // guards what follows; not held while a replica or a `done` is called
  std::vector<int64_t> outstanding_;
  std::unordered_map<server::Ticket, std::shared_ptr<Attempt>> attempts_;
  server::Ticket last_ = 0;
  RetryBudget budget_;
  bool ending_ = false;
  std::array<std::atomic<int64_t>, kRetries> retried_{};
  const Now now_;
  // Last, and so gone first: what is under way there is answered while the rest still stands.
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_SERVE_GATEWAY_BALANCER_H_
