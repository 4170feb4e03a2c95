#include "serve/gateway/balancer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace trellis::gateway {
namespace {

bool SameModel(const ReplicaModel& a, const ReplicaModel& b) {
  return a.limits.vocab_size == b.limits.vocab_size && a.limits.dimensions == b.limits.dimensions &&
         a.limits.labels == b.limits.labels && a.limits.max_row_tokens == b.limits.max_row_tokens &&
         std::equal(std::begin(a.limits.tasks), std::end(a.limits.tasks), std::begin(b.limits.tasks));
}

// None: another replica would say the same.
std::optional<Balancer::Retry> ReasonToRetry(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kUnavailable) return Balancer::Retry::kUnavailable;
  if (status.code() == absl::StatusCode::kResourceExhausted) return Balancer::Retry::kOverloaded;
  return std::nullopt;
}

}  // namespace

Balancer::Balancer(std::vector<std::unique_ptr<Replica>> replicas, Now now)
    : outstanding_(replicas.size()), budget_(now()), now_(std::move(now)), replicas_(std::move(replicas)) {}

Balancer::~Balancer() {
  const std::lock_guard lock(mutex_);
  ending_ = true;  // the replicas go now, one after the other: nothing is tried again
}

const ReplicaModel* Balancer::model() const {
  if (const ReplicaModel* known = model_.load()) return known;
  for (const auto& replica : replicas_) {
    if (const ReplicaModel* known = replica->model()) {
      const ReplicaModel* none = nullptr;
      return model_.compare_exchange_strong(none, known) ? known : none;
    }
  }
  return nullptr;
}

bool Balancer::up(size_t replica) const {
  const ReplicaModel* has = replicas_[replica]->model();
  return has != nullptr && replicas_[replica]->health() == server::Health::kReady &&
         SameModel(*model(), *has);
}

server::Health Balancer::health() const {
  if (model() == nullptr) return server::Health::kStarting;
  for (size_t r = 0; r < replicas_.size(); ++r) {
    if (up(r)) return server::Health::kReady;
  }
  return server::Health::kDraining;
}

int64_t Balancer::outstanding(size_t replica) const {
  const std::lock_guard lock(mutex_);
  return outstanding_[replica];
}

std::optional<size_t> Balancer::ChooseLocked(const Attempt& attempt) const {
  std::optional<size_t> chosen;
  for (size_t r = 0; r < replicas_.size(); ++r) {
    const bool tried = std::find(attempt.tried.begin(), attempt.tried.end(), r) != attempt.tried.end();
    if (tried || !up(r)) continue;
    if (!chosen.has_value() || outstanding_[r] < outstanding_[*chosen]) chosen = r;
  }
  return chosen;
}

server::Ticket Balancer::Infer(ReplicaRequest request) {
  auto attempt = std::make_shared<Attempt>();
  attempt->done = std::move(request.done);
  attempt->tokens = static_cast<int64_t>(request.ids.size());
  attempt->request = std::move(request);
  server::Ticket ticket;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_;
    attempts_.emplace(ticket, attempt);
    budget_.CountRequest();
  }
  Send(ticket, attempt);
  return ticket;
}

void Balancer::Send(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt) {
  std::unique_lock lock(mutex_);
  const std::optional<size_t> chosen = model() == nullptr ? std::nullopt : ChooseLocked(*attempt);
  if (!chosen.has_value()) {
    attempts_.erase(ticket);
    lock.unlock();
    return attempt->done({absl::UnavailableError("no replica is ready"), {}, {}});
  }
  attempt->tried.push_back(*chosen);
  const size_t turn = attempt->tried.size();
  outstanding_[*chosen] += attempt->tokens;
  ReplicaRequest request = attempt->request;
  request.done = [this, ticket, attempt](server::Reply reply) {
    Answered(ticket, attempt, std::move(reply));
  };
  lock.unlock();
  const server::Ticket inner = replicas_[*chosen]->Infer(std::move(request));
  lock.lock();
  if (attempt->tried.size() != turn) return;  // it is at another already
  attempt->inner = inner;
  const bool cancel = attempt->state == Attempt::State::kCancelled;
  lock.unlock();
  if (cancel) replicas_[*chosen]->Cancel(inner);
}

void Balancer::Answered(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt, server::Reply reply) {
  {
    std::unique_lock lock(mutex_);
    outstanding_[attempt->tried.back()] -= attempt->tokens;
    const std::optional<Retry> reason = ReasonToRetry(reply.status);
    const bool again = reason.has_value() && !ending_ && attempt->state == Attempt::State::kUnderWay &&
                       attempt->tried.size() == 1 && ChooseLocked(*attempt).has_value() &&
                       budget_.Spend(now_());
    if (again) {
      ++retried_[static_cast<size_t>(*reason)];
      lock.unlock();
      return Send(ticket, attempt);
    }
    attempts_.erase(ticket);
  }
  attempt->done(std::move(reply));
}

void Balancer::Cancel(server::Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = attempts_.find(ticket);
  if (found == attempts_.end()) return;
  Attempt& attempt = *found->second;
  attempt.state = Attempt::State::kCancelled;
  if (attempt.tried.empty()) return;
  const server::Ticket inner = attempt.inner;
  Replica& replica = *replicas_[attempt.tried.back()];
  lock.unlock();
  replica.Cancel(inner);  // one that is not known yet is cancelled where it becomes known
}

}  // namespace trellis::gateway
