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

}  // namespace

Balancer::Balancer(Make make, Now now) : make_(std::move(make)), now_(std::move(now)), budget_(now_()) {}

Balancer::~Balancer() {
  std::unique_lock lock(mutex_);
  ending_ = true;  // nothing is tried again
  returned_.wait(lock, [this] {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& member) { return member->calls == 0; });
  });
  const std::vector<std::shared_ptr<Member>> going = std::move(members_);
  lock.unlock();
  for (const auto& member : going) member->replica.reset();  // while what its answers need still stands
}

const ReplicaModel* Balancer::ModelLocked() const {
  for (const auto& member : members_) {
    if (first_model_.has_value()) break;
    if (const ReplicaModel* known = member->replica->model()) model_ = &first_model_.emplace(*known);
  }
  return model_;
}

const ReplicaModel* Balancer::model() const {
  if (const ReplicaModel* known = model_) return known;
  const std::lock_guard lock(mutex_);
  return ModelLocked();
}

bool Balancer::UpLocked(const Member& member) const {
  if (member.stay == Member::Stay::kLeaves) return false;
  const ReplicaModel* has = member.replica->model();
  return has != nullptr && member.replica->health() == server::Health::kReady &&
         SameModel(*ModelLocked(), *has);
}

server::Health Balancer::health() const {
  const std::lock_guard lock(mutex_);
  if (ModelLocked() == nullptr) return server::Health::kStarting;
  const bool ready =
      std::any_of(members_.begin(), members_.end(), [this](const auto& member) { return UpLocked(*member); });
  return ready ? server::Health::kReady : server::Health::kDraining;
}

std::vector<Balancer::State> Balancer::replicas() const {
  const std::lock_guard lock(mutex_);
  const auto now = now_();
  std::vector<State> states;
  for (const auto& member : members_) {
    states.push_back({member->address, UpLocked(*member) && !member->ejection.out(now), member->outstanding,
                      member->ejection.times()});
  }
  return states;
}

// One that is ejected is still better than none, but not for what another was merely too busy for.
std::shared_ptr<Balancer::Member> Balancer::ChooseLocked(const Attempt& attempt,
                                                         std::optional<Retry> reason) const {
  const auto now = now_();
  std::shared_ptr<Member> good, ejected;
  for (const auto& member : members_) {
    const bool tried = std::find(attempt.tried.begin(), attempt.tried.end(), member) != attempt.tried.end();
    if (tried || !UpLocked(*member)) continue;
    std::shared_ptr<Member>& least = member->ejection.out(now) ? ejected : good;
    if (least == nullptr || member->outstanding < least->outstanding) least = member;
  }
  return good != nullptr || reason == Retry::kOverloaded ? good : ejected;
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
  Send(ticket, attempt, std::nullopt);
  return ticket;
}

void Balancer::Send(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt,
                    std::optional<Retry> reason) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Member> chosen = ending_ ? nullptr : ChooseLocked(*attempt, reason);
  if (chosen == nullptr) {
    attempts_.erase(ticket);
    lock.unlock();
    return attempt->done({absl::UnavailableError("no replica is ready"), {}, {}});
  }
  attempt->tried.push_back(chosen);
  attempt->sent = now_();
  attempt->inner = 0;
  const size_t turn = attempt->tried.size();
  chosen->outstanding += attempt->tokens;
  ++chosen->owed;
  ++chosen->calls;
  ReplicaRequest request = attempt->request;
  request.done = [this, ticket, attempt](server::Reply reply) {
    Answered(ticket, attempt, std::move(reply));
  };
  lock.unlock();
  const server::Ticket inner = chosen->replica->Infer(std::move(request));
  lock.lock();
  if (attempt->tried.size() == turn) {  // else it is at another already
    attempt->inner = inner;
    if (attempt->state != Attempt::State::kUnderWay) {
      lock.unlock();
      chosen->replica->Cancel(inner);
      lock.lock();
    }
  }
  ReturnedLocked(*chosen);
}

void Balancer::ReturnedLocked(Member& member) {
  --member.calls;
  if (ending_) returned_.notify_all();
}

// The reason, where the request is tried again.
std::optional<Retry> Balancer::AgainLocked(const Attempt& attempt, const absl::Status& status) {
  if (status.ok() || ending_ || attempt.state == Attempt::State::kCancelled || attempt.tried.size() > 1)
    return std::nullopt;
  const bool moved = attempt.state == Attempt::State::kMoved;
  const std::optional<Retry> reason = moved ? Retry::kUnavailable : ReasonToRetry(status);
  if (!reason.has_value() || ChooseLocked(attempt, reason) == nullptr) return std::nullopt;
  return moved || budget_.Spend(now_()) ? reason : std::nullopt;
}

void Balancer::Answered(server::Ticket ticket, const std::shared_ptr<Attempt>& attempt, server::Reply reply) {
  {
    std::unique_lock lock(mutex_);
    Member& member = *attempt->tried.back();
    member.outstanding -= attempt->tokens;
    --member.owed;
    const auto now = now_();
    if (attempt->state != Attempt::State::kCancelled) {
      const Verdict verdict = VerdictOf(reply.status, now - attempt->sent);
      if (verdict == Verdict::kGood) member.ejection.Answered(now);
      if (verdict == Verdict::kBad) member.ejection.Failed(now);
    }
    if (const std::optional<Retry> reason = AgainLocked(*attempt, reply.status)) {
      ++retried_[static_cast<size_t>(*reason)];
      attempt->state = Attempt::State::kUnderWay;
      lock.unlock();
      return Send(ticket, attempt, reason);
    }
    if (attempt->state == Attempt::State::kMoved && !reply.status.ok())
      reply.status = absl::UnavailableError("the replica does not answer, and no other is ready");
    attempts_.erase(ticket);
  }
  attempt->done(std::move(reply));
}

void Balancer::Cancel(server::Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = attempts_.find(ticket);
  if (found == attempts_.end() || ending_) return;
  Attempt& attempt = *found->second;
  attempt.state = Attempt::State::kCancelled;
  if (attempt.tried.empty()) return;
  const server::Ticket inner = attempt.inner;
  const std::shared_ptr<Member> member = attempt.tried.back();
  ++member->calls;
  lock.unlock();
  member->replica->Cancel(inner);  // one that is not known yet is cancelled where it becomes known
  lock.lock();
  ReturnedLocked(*member);
}

}  // namespace trellis::gateway
