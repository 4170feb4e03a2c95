#include "serve/server/batcher.h"

#include <algorithm>

namespace trellis::server {
namespace {

constexpr size_t kFirst = static_cast<size_t>(Priority::kInteractive);
constexpr size_t kSecond = static_cast<size_t>(Priority::kBulk);

// Extends the plan by rows of one class, in order, as long as tokens and rows stay within the bounds.
void TakeWhileFits(std::span<const QueuedRow> rows, size_t max_rows, int64_t max_tokens, size_t& taken,
                   Plan& plan) {
  while (taken < rows.size() && plan.num_rows() < max_rows &&
         plan.tokens + rows[taken].tokens <= max_tokens) {
    plan.tokens += rows[taken].tokens;
    ++taken;
  }
}

// Whether the batch gains nothing by waiting: it is full, or a row that it leaves behind did not fit.
bool Full(const Plan& plan, const QueueView& view, bool bulk_allowed, const BatchPolicy& policy) {
  if (plan.tokens >= policy.max_tokens || plan.num_rows() >= policy.max_rows) return true;
  return plan.rows[kFirst] < view.rows[kFirst].size() ||
         (bulk_allowed && plan.rows[kSecond] < view.rows[kSecond].size());
}

// How long the batch may wait for more: as long as its oldest row allows, and not if that would cost a row
// its deadline.
Clock::time_point MayWaitUntil(const Plan& plan, const QueueView& view, const BatchPolicy& policy) {
  Clock::time_point until = Clock::time_point::max();
  for (size_t priority = 0; priority < kPriorities; ++priority) {
    if (plan.rows[priority] > 0) until = std::min(until, view.rows[priority][0].arrival + policy.max_wait);
  }
  for (size_t priority = 0; priority < kPriorities; ++priority) {
    for (const QueuedRow& row : view.rows[priority].first(plan.rows[priority])) {
      if (row.deadline <= until) return Clock::time_point::min();
    }
  }
  return until;
}

}  // namespace

Plan PlanBatch(const QueueView& view, const Moment& moment, const BatchPolicy& policy) {
  const std::span<const QueuedRow> interactive = view.rows[kFirst], bulk = view.rows[kSecond];
  const bool idle = moment.unfinished == 0;
  const bool nearly_idle = moment.idle_at.has_value() && moment.now >= *moment.idle_at - kHandOverLead;
  const bool due = !bulk.empty() && moment.now >= bulk[0].arrival + policy.bulk_ageing &&
                   moment.batches_without_bulk >= policy.max_in_flight;
  const bool bulk_allowed = idle || nearly_idle || due;

  Plan plan;
  if (due) {
    const int64_t share = std::max<int64_t>(policy.max_tokens / 2, bulk[0].tokens);
    TakeWhileFits(bulk, std::max<size_t>(policy.max_rows / 2, 1), share, plan.rows[kSecond], plan);
  }
  TakeWhileFits(interactive, policy.max_rows, policy.max_tokens, plan.rows[kFirst], plan);
  if (bulk_allowed) TakeWhileFits(bulk, policy.max_rows, policy.max_tokens, plan.rows[kSecond], plan);

  Clock::time_point look_again = Clock::time_point::max();
  if (!bulk_allowed && !bulk.empty() && moment.idle_at.has_value())
    look_again = *moment.idle_at - kHandOverLead;
  if (plan.num_rows() > 0 && policy.max_wait > Clock::duration::zero() &&
      !Full(plan, view, bulk_allowed, policy)) {
    const Clock::time_point until = MayWaitUntil(plan, view, policy);
    if (moment.now < until) {
      plan = Plan{};
      look_again = std::min(look_again, until);
    }
  }
  if (plan.num_rows() == 0) plan.look_again = look_again;
  return plan;
}

}  // namespace trellis::server
