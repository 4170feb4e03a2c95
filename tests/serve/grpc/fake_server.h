// A batching server without batches, for what concerns the gRPC face alone: it keeps what it was given until
// told to answer.
#ifndef TRELLIS_TESTS_SERVE_GRPC_FAKE_SERVER_H_
#define TRELLIS_TESTS_SERVE_GRPC_FAKE_SERVER_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "serve/server/server.h"

namespace trellis::server {

inline engine::EngineLimits FakeLimits() {
  engine::EngineLimits limits;
  limits.max_row_tokens = 512;
  limits.max_batch_tokens = 4096;
  limits.max_batch_rows = 256;
  limits.vocab_size = 250002;
  limits.type_vocab_size = 2;
  limits.dimensions = 8;
  limits.labels = 3;
  for (bool& task : limits.tasks) task = true;
  limits.model = "fake";
  return limits;
}

class FakeServer final : public Server {
 public:
  using Answer = std::function<Reply(const Request&)>;

  // What Submit says from now on; OK takes the request in.
  void RefuseWith(absl::Status status) {
    Locked([&] { refusal_ = std::move(status); });
  }
  // From now on requests are answered inside Submit; without it they wait for AnswerAll or Cancel.
  void AnswerAtOnce(Answer answer) {
    Locked([&] { answer_ = std::move(answer); });
  }
  void SetHealth(Health health) {
    Locked([&] { health_ = health; });
  }

  absl::StatusOr<Ticket> Submit(Request request) override {
    std::unique_lock lock(mutex_);
    ++submitted_;
    changed_.notify_all();
    if (!refusal_.ok()) return refusal_;
    const Ticket ticket = ++tickets_;
    if (answer_) {
      const Answer answer = answer_;
      lock.unlock();
      request.done(answer(request));
      return ticket;
    }
    waiting_.emplace(ticket, std::move(request));
    changed_.notify_all();
    return ticket;
  }

  void Cancel(Ticket ticket) override {
    std::optional<Request> request;
    Locked([&] {
      ++cancels_;
      if (auto found = waiting_.extract(ticket)) request = std::move(found.mapped());
      changed_.notify_all();
    });
    if (request) request->done({absl::CancelledError("cancelled"), {}, {}, {}});
  }

  bool Drain(std::chrono::milliseconds) override {
    SetHealth(Health::kDraining);
    AnswerAll([](const Request&) { return Reply{absl::UnavailableError("draining"), {}, {}, {}}; });
    return true;
  }

  void AnswerAll(const Answer& answer) {
    std::map<Ticket, Request> waiting;
    Locked([&] { waiting = std::exchange(waiting_, {}); });
    for (auto& [ticket, request] : waiting) request.done(answer(request));
  }

  // Blocks until so many requests wait for an answer.
  void AwaitWaiting(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() == count; });
  }
  void AwaitCancels(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return cancels_ >= count; });
  }
  // The oldest that waits.
  const Request& waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.begin()->second;
  }
  int submitted() {
    const std::lock_guard lock(mutex_);
    return submitted_;
  }

  Health health() const override {
    const std::lock_guard lock(mutex_);
    return health_;
  }
  const engine::EngineLimits& engine_limits() const override { return limits_; }
  int32_t max_batch_tokens() const override { return 2048; }
  int64_t max_queued_tokens(Priority priority) const override {
    return priority == Priority::kBulk ? 7000 : 8000;
  }

 private:
  template <typename Change>
  void Locked(Change change) {
    const std::lock_guard lock(mutex_);
    change();
  }

  const engine::EngineLimits limits_ = FakeLimits();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  absl::Status refusal_;
  Answer answer_;
  Health health_ = Health::kReady;
  std::map<Ticket, Request> waiting_;
  Ticket tickets_ = 0;
  int submitted_ = 0;
  int cancels_ = 0;
};

// One embedding a row: its number of tokens and its first id, then zeros, so that an answer shows whose it
// is.
inline Reply EmbedRows(const Request& request) {
  Reply reply;
  for (size_t r = 0; r + 1 < request.cu_seqlens.size(); ++r) {
    RowReply& row = reply.rows.emplace_back();
    row.values.resize(8);
    row.values[0] = static_cast<float>(request.cu_seqlens[r + 1] - request.cu_seqlens[r]);
    row.values[1] = static_cast<float>(request.ids[static_cast<size_t>(request.cu_seqlens[r])]);
  }
  reply.timings = {std::chrono::microseconds(3), std::chrono::microseconds(5)};
  return reply;
}

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_GRPC_FAKE_SERVER_H_
