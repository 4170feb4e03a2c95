// A random walk over everything that can happen to the scheduler, in step with a model that is as plain as
// can be: a list of requests, each with the state of its rows. Deterministic by seed; the seed is printed on
// failure.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "serve/server/scheduler.h"
#include "tests/serve/server/counting_observer.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

using absl::StatusCode;
using std::chrono::milliseconds;

enum class Where : uint8_t { kQueued, kEngine, kRetry, kDone };

struct ModelRow {
  Where where = Where::kQueued;
  StatusCode code = StatusCode::kOk;
};
struct ModelRequest {
  std::vector<int32_t> lengths;
  Priority priority = Priority::kInteractive;
  Clock::time_point deadline;
  std::vector<ModelRow> rows;
  std::optional<StatusCode> ended;  // as a whole: what its answer must say
  int answers = 0;

  int64_t tokens() const {
    int64_t sum = 0;
    for (const int32_t length : lengths) sum += length;
    return sum;
  }
};

class Walk {
 public:
  explicit Walk(uint32_t seed) : random_(seed) {
    options_.policy.max_tokens = 10 + Below(30);
    options_.policy.max_rows = static_cast<size_t>(1 + Below(8));
    options_.policy.max_in_flight = static_cast<int32_t>(1 + Below(3));
    options_.policy.max_wait = milliseconds(Below(3) == 0 ? Below(20) : 0);
    options_.policy.bulk_ageing = milliseconds(Below(60));
    options_.max_queued_tokens = 100 + Below(200);
    options_.max_queued_tokens_bulk = options_.max_queued_tokens - Below(50);
    options_.max_held_tokens = 4 * options_.max_queued_tokens + Below(100);
    deadly_ = Below(4) == 0;
    scheduler_ = std::make_unique<Scheduler>(options_, &observer_);
  }

  void Run() {
    for (int step = 0; step < 400 && !testing::Test::HasFatalFailure(); ++step) {
      Step();
      CheckLevels();
    }
    if (!testing::Test::HasFatalFailure()) End();
  }

  static inline std::map<std::string, size_t> happened;  // over all walks: that they went everywhere

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  void Step() {
    const int64_t dice = Below(100);
    if (dice < 30) return Submit();
    if (dice < 38) return Cancel();
    if (dice < 50) return Advance();
    if (dice < 68) return Take();
    if (dice < 78) return LeaveEngine();
    if (dice < 92) return Return();
    if (dice < 99) return Deliver();
    if (Below(4) == 0) Drain();
  }

  void Submit() {
    ModelRequest model;
    model.lengths.resize(static_cast<size_t>(1 + Below(4)));
    for (int32_t& length : model.lengths)
      length = static_cast<int32_t>(1 + Below(options_.policy.max_tokens));
    model.priority = static_cast<Priority>(Below(2));
    model.deadline = Below(3) == 0 ? now_ + milliseconds(Below(60)) : Clock::time_point::max();
    model.rows.resize(model.lengths.size());
    Request request = RequestOfLengths(model.lengths, model.priority);
    request.deadline = model.deadline;
    const Ticket expected = last_ticket_ + 1;
    request.done = [this, expected](Reply reply) { Answered(expected, reply); };

    StatusCode code = StatusCode::kOk;
    if (dead_ || draining_) {
      code = StatusCode::kUnavailable;
    } else if (model.deadline <= now_) {
      code = StatusCode::kDeadlineExceeded;
    } else if (QueuedTokens() + model.tokens() > (model.priority == Priority::kBulk
                                                      ? options_.max_queued_tokens_bulk
                                                      : options_.max_queued_tokens) ||
               HeldTokens() + model.tokens() > options_.max_held_tokens) {
      code = StatusCode::kResourceExhausted;
    }
    const auto ticket = scheduler_->Accept(std::move(request), now_);
    ASSERT_EQ(ticket.status().code(), code) << ticket.status();
    ++happened["submit " + absl::StatusCodeToString(code)];
    if (!ticket.ok()) return;
    ASSERT_EQ(*ticket, expected) << "tickets are counted";
    last_ticket_ = *ticket;
    requests_[*ticket] = std::move(model);
  }

  void Cancel() {
    const Ticket ticket = static_cast<Ticket>(Below(static_cast<int64_t>(last_ticket_) + 2));
    scheduler_->Cancel(ticket, now_);
    const auto found = requests_.find(ticket);
    if (found == requests_.end() || found->second.ended) return;
    EndEarly(found->second, StatusCode::kCancelled);
  }

  void Advance() {
    now_ += milliseconds(Below(15));
    if (Below(2) == 0) return;  // Take expires by itself
    ExpireModel();
    scheduler_->Expire(now_);
  }

  void Take() {
    ExpireModel();  // what is due must be gone from any batch
    auto next = scheduler_->Take(now_);
    const bool slot = in_engine_.size() < static_cast<size_t>(options_.policy.max_in_flight);
    const auto retries = Rows(Where::kRetry);
    const auto interactive = Queued(Priority::kInteractive), bulk = Queued(Priority::kBulk);
    if (!next.batch) {
      const bool waits =
          next.look_again > now_ && next.look_again <= now_ + options_.policy.max_wait && !draining_;
      if (slot && !waits) {
        ASSERT_TRUE(retries.empty()) << "a retry was left";
        ASSERT_TRUE(interactive.empty()) << "an interactive row was left";
        if (in_engine_.empty()) {
          ASSERT_TRUE(bulk.empty()) << "the engine is idle and a bulk row was left";
        }
      }
      ++happened[waits ? "take waits" : "take nothing"];
      return;
    }
    const Batch& batch = *next.batch;
    ASSERT_TRUE(slot) << "deeper than the engine";
    ASSERT_FALSE(dead_);
    ASSERT_FALSE(batch.rows.empty());
    ASSERT_LE(batch.rows.size(), options_.policy.max_rows);
    int64_t tokens = 0;
    std::vector<std::pair<Ticket, size_t>> taken[kPriorities];
    for (const RowRef& row : batch.rows) {
      ModelRequest& model = requests_.at(row.ticket);
      ASSERT_FALSE(model.ended) << "a row of a request that is answered";
      ASSERT_EQ(model.rows[row.row].where,
                batch.attempt == Batch::Attempt::kFirst ? Where::kQueued : Where::kRetry);
      ASSERT_EQ(row.tokens(), model.lengths[row.row]);
      ASSERT_TRUE(std::any_of(batch.holds.begin(), batch.holds.end(),
                              [&](const auto& h) { return h.get() == row.request; }));
      tokens += row.tokens();
      taken[static_cast<size_t>(model.priority)].emplace_back(row.ticket, row.row);
    }
    ASSERT_EQ(tokens, batch.tokens);
    ASSERT_LE(tokens, options_.policy.max_tokens) << "over the token budget";
    if (batch.attempt == Batch::Attempt::kFirst) {
      for (size_t p = 0; p < kPriorities; ++p) {
        const auto queued = Queued(static_cast<Priority>(p));
        ASSERT_TRUE(std::equal(taken[p].begin(), taken[p].end(), queued.begin()))
            << "not the oldest of its class";
      }
      ++happened["take batch"];
    } else {
      ASSERT_EQ(batch.rows.size(), 1u);
      ++happened["take retry"];
    }
    for (const RowRef& row : batch.rows) requests_.at(row.ticket).rows[row.row].where = Where::kEngine;
    in_engine_.push_back(std::move(*next.batch));
    if (Below(8) == 0) {  // the engine does not even take it
      Batch back = std::move(in_engine_.back());
      in_engine_.pop_back();
      scheduler_->TurnedAway();
      FailBatch(std::move(back));
    }
  }

  void LeaveEngine() {
    if (in_engine_.empty()) return;
    scheduler_->LeaveEngine(
        Below(2) == 0 ? std::optional<Clock::duration>(milliseconds(1 + Below(10))) : std::nullopt, now_);
    returning_.push_back(std::move(in_engine_.front()));
    in_engine_.pop_front();
  }

  void Return() {
    if (returning_.empty()) return;
    Batch batch = std::move(returning_.front());
    returning_.pop_front();
    if (Below(4) == 0) return FailBatch(std::move(batch));
    std::vector<RowReply> replies(batch.rows.size());
    for (size_t i = 0; i < replies.size(); ++i) {
      const RowRef& row = batch.rows[i];
      const StatusCode code = Below(5) == 0 ? StatusCode::kDataLoss : StatusCode::kOk;
      replies[i].status = absl::Status(code, "row");
      if (code == StatusCode::kOk)
        replies[i].values = {static_cast<float>(row.ticket), static_cast<float>(row.row)};
      RowDone(row, code);
    }
    ++happened["finish"];
    scheduler_->Finish(std::move(batch), std::move(replies), now_);
  }

  void FailBatch(Batch batch) {
    if (deadly_ && Below(10) == 0) {
      dead_ = true;
      for (auto& [ticket, model] : requests_) EndEarly(model, StatusCode::kUnavailable);
      ++happened["die"];
      return scheduler_->Fail(std::move(batch), absl::UnavailableError("dead"), now_);
    }
    for (const RowRef& row : batch.rows) {
      ModelRequest& model = requests_.at(row.ticket);
      if (model.ended) continue;
      if (batch.attempt == Batch::Attempt::kRetry) {
        RowDone(row, StatusCode::kInternal);
      } else {
        model.rows[row.row].where = Where::kRetry;
        ++retried_;
      }
    }
    ++happened["fail"];
    scheduler_->Fail(std::move(batch), absl::InternalError("batch"), now_);
  }

  void Drain() {
    ++happened["drain"];
    draining_ = true;
    scheduler_->StartDraining();
    if (Below(2) == 0) return;
    for (auto& [ticket, model] : requests_) EndEarly(model, StatusCode::kUnavailable);
    scheduler_->EndAll(StatusCode::kUnavailable, "no time left", now_);
  }

  void Deliver() {
    for (Answer& answer : scheduler_->TakeAnswers()) {
      answer.done(std::move(answer.reply));
      scheduler_->Answered(answer.held);
    }
    for (auto& [ticket, model] : requests_) {
      ASSERT_EQ(model.answers, model.ended ? 1 : 0) << "ticket " << ticket;
    }
  }

  void End() {
    for (int i = 0; i < 100000 && !(in_engine_.empty() && returning_.empty() && Open() == 0); ++i) {
      now_ += milliseconds(5);
      Take();
      LeaveEngine();
      Return();
      if (testing::Test::HasFatalFailure()) return;
    }
    Deliver();
    CheckLevels();
    ASSERT_TRUE(scheduler_->settled());
    ASSERT_EQ(scheduler_->next_deadline(), Clock::time_point::max());
    std::map<StatusCode, size_t> rows, whole;
    for (const auto& [ticket, model] : requests_) {
      ASSERT_TRUE(model.ended) << "ticket " << ticket << " was never answered";
      ++whole[*model.ended];
      for (const ModelRow& row : model.rows) ++rows[row.code];
    }
    ASSERT_EQ(observer_.counts().rows, rows);
    ASSERT_EQ(observer_.counts().requests, whole);
    ASSERT_EQ(observer_.counts().retried_rows, retried_);
  }

  // --- the model ---

  void Answered(Ticket ticket, const Reply& reply) {
    ModelRequest& model = requests_.at(ticket);
    ++model.answers;
    ASSERT_TRUE(model.ended) << "ticket " << ticket << " answered too early: " << reply.status;
    ASSERT_EQ(reply.status.code(), *model.ended);
    ++happened["answer " + absl::StatusCodeToString(*model.ended)];
    if (!reply.status.ok()) {
      ASSERT_TRUE(reply.rows.empty());
      return;
    }
    ASSERT_EQ(reply.rows.size(), model.rows.size());
    for (size_t r = 0; r < reply.rows.size(); ++r) {
      ASSERT_EQ(reply.rows[r].status.code(), model.rows[r].code);
      if (model.rows[r].code != StatusCode::kOk) continue;
      ASSERT_EQ(reply.rows[r].values,
                (std::vector<float>{static_cast<float>(ticket), static_cast<float>(r)}));
    }
  }

  void RowDone(const RowRef& row, StatusCode code) {
    ModelRequest& model = requests_.at(row.ticket);
    if (model.ended) return;
    model.rows[row.row] = {Where::kDone, code};
    const bool all = std::all_of(model.rows.begin(), model.rows.end(),
                                 [](const auto& r) { return r.where == Where::kDone; });
    if (all) model.ended = StatusCode::kOk;
  }

  static void EndEarly(ModelRequest& model, StatusCode code) {
    if (model.ended) return;
    model.ended = code;
    for (ModelRow& row : model.rows) {
      if (row.where != Where::kDone) row = {Where::kDone, code};
    }
  }
  void ExpireModel() {
    for (auto& [ticket, model] : requests_) {
      if (model.deadline <= now_) EndEarly(model, StatusCode::kDeadlineExceeded);
    }
  }

  std::vector<std::pair<Ticket, size_t>> Rows(Where where,
                                              std::optional<Priority> priority = std::nullopt) const {
    std::vector<std::pair<Ticket, size_t>> rows;
    for (const auto& [ticket, model] : requests_) {
      if (model.ended || (priority && model.priority != *priority)) continue;
      for (size_t r = 0; r < model.rows.size(); ++r) {
        if (model.rows[r].where == where) rows.emplace_back(ticket, r);
      }
    }
    return rows;
  }
  std::vector<std::pair<Ticket, size_t>> Queued(Priority priority) const {
    return Rows(Where::kQueued, priority);
  }
  int64_t QueuedTokens() const {
    int64_t tokens = 0;
    for (const auto& [ticket, row] : Rows(Where::kQueued)) tokens += requests_.at(ticket).lengths[row];
    return tokens;
  }
  int64_t HeldTokens() const {
    int64_t tokens = 0;
    for (const auto& [ticket, model] : requests_) tokens += model.answers == 0 ? model.tokens() : 0;
    return tokens;
  }
  size_t Open() const {
    return static_cast<size_t>(std::count_if(requests_.begin(), requests_.end(),
                                             [](const auto& entry) { return !entry.second.ended; }));
  }

  void CheckLevels() {
    size_t in_flight = Rows(Where::kRetry).size();
    for (const auto& batches : {&in_engine_, &returning_}) {
      for (const Batch& batch : *batches) in_flight += batch.rows.size();
    }
    const auto counts = observer_.counts();
    ASSERT_EQ(counts.in_flight_rows, in_flight);
    ASSERT_EQ(counts.queued_rows, Rows(Where::kQueued).size());
    ASSERT_EQ(counts.queued_tokens, static_cast<size_t>(QueuedTokens()));
    ASSERT_LE(counts.queued_tokens, static_cast<size_t>(options_.max_queued_tokens));
    ASSERT_EQ(scheduler_->health(), dead_ ? Health::kDead : draining_ ? Health::kDraining : Health::kReady);
  }

  std::mt19937_64 random_;
  SchedulerOptions options_;
  CountingObserver observer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::map<Ticket, ModelRequest> requests_;
  std::deque<Batch> in_engine_, returning_;
  Clock::time_point now_{std::chrono::hours(1)};
  Ticket last_ticket_ = 0;
  size_t retried_ = 0;
  bool draining_ = false, dead_ = false, deadly_ = false;
};

TEST(SchedulerWalk, AgreesWithTheModel) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Walk(seed).Run();
    if (HasFatalFailure()) return;
  }
  for (const char* event :
       {"submit OK", "submit UNAVAILABLE", "submit DEADLINE_EXCEEDED", "submit RESOURCE_EXHAUSTED",
        "take batch", "take retry", "take waits", "take nothing", "finish", "fail", "die", "drain",
        "answer OK", "answer CANCELLED", "answer DEADLINE_EXCEEDED", "answer UNAVAILABLE"}) {
    EXPECT_GT(Walk::happened[event], 50u) << event;
  }
}

}  // namespace
}  // namespace trellis::server
