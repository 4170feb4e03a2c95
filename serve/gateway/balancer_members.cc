// Who is behind a balancer: replicas that come, leave, or hang.
#include <algorithm>
#include <utility>

#include "serve/gateway/balancer.h"

namespace trellis::gateway {

std::shared_ptr<Balancer::Member> Balancer::NewMember(const std::string& address) {
  auto member = std::make_shared<Member>();
  member->address = address;
  // The replica ends before its member does.
  member->replica = make_(address, [this, hanging = member.get()] { Move(*hanging); });
  return member;
}

Balancer::Change Balancer::SetReplicas(const std::vector<std::string>& addresses) {
  Change change;
  std::vector<std::shared_ptr<Member>> going;
  {
    const std::lock_guard lock(mutex_);
    change.come = addresses;
    for (const auto& member : members_) {
      const bool named = std::find(addresses.begin(), addresses.end(), member->address) != addresses.end();
      if (!named && member->stay == Member::Stay::kStays) change.gone.push_back(member->address);
      if (named && member->stay == Member::Stay::kStays) std::erase(change.come, member->address);
      member->stay = named ? Member::Stay::kStays : Member::Stay::kLeaves;
    }
    std::erase_if(members_, [&](const auto& member) {
      if (member->stay == Member::Stay::kStays || member->owed > 0 || member->calls > 0) return false;
      going.push_back(member);
      return true;
    });
  }
  for (const auto& member : going) member->replica.reset();
  for (const std::string& address : change.come) {
    const auto known = [&](const auto& member) { return member->address == address; };
    {
      const std::lock_guard lock(mutex_);  // one that was leaving is back
      if (std::any_of(members_.begin(), members_.end(), known)) continue;
    }
    std::shared_ptr<Member> member = NewMember(address);
    const std::lock_guard lock(mutex_);
    members_.push_back(std::move(member));
  }
  return change;
}

// What was sent to one that hangs is tried elsewhere where that is possible; else it waits on, since the
// replica may wake up.
void Balancer::Move(Member& member) {
  std::vector<server::Ticket> needless;
  Replica* replica = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, attempt] : attempts_) {
      if (attempt->state != Attempt::State::kUnderWay || attempt->tried.size() != 1 ||
          attempt->tried.back().get() != &member)
        continue;
      if (ending_ || ChooseLocked(*attempt, Retry::kUnavailable) == nullptr || !budget_.Spend(now_())) break;
      attempt->state = Attempt::State::kMoved;
      needless.push_back(attempt->inner);
    }
    if (needless.empty()) return;  // it may be going: only what is under way there, or called, keeps it
    replica = member.replica.get();
    ++member.calls;
  }
  for (const server::Ticket inner : needless) replica->Cancel(inner);
  const std::lock_guard lock(mutex_);
  ReturnedLocked(member);
}

}  // namespace trellis::gateway
