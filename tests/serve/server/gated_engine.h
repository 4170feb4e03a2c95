// An engine around another one, with a gate: while it is closed, no result gets ready.
#ifndef TRELLIS_TESTS_SERVE_SERVER_GATED_ENGINE_H_
#define TRELLIS_TESTS_SERVE_SERVER_GATED_ENGINE_H_

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "serve/engine/engine.h"

namespace trellis::server {

class GatedEngine : public engine::Engine {
 public:
  explicit GatedEngine(std::unique_ptr<engine::Engine> inner) : inner_(std::move(inner)) {}

  void Open() { Set(true); }
  void Close() { Set(false); }
  size_t steps() const {
    const std::lock_guard lock(mutex_);
    return seen_.size();
  }
  void AwaitSteps(size_t steps) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return seen_.size() >= steps; });
  }
  // The first Step with this id in it, counted from 1 after the warm-up's; 0: none.
  size_t StepWith(int32_t id) const {
    const std::lock_guard lock(mutex_);
    for (size_t i = 1; i < seen_.size(); ++i) {
      if (seen_[i].contains(id)) return i;
    }
    return 0;
  }
  std::function<void()> in_step, in_wait, in_row;

  const engine::EngineLimits& limits() const override { return inner_->limits(); }
  absl::StatusOr<std::unique_ptr<engine::LazyResult>> Step(const engine::PackedBatch& batch) override {
    if (in_step) in_step();
    auto result = inner_->Step(batch);
    {
      const std::lock_guard lock(mutex_);
      seen_.emplace_back(batch.ids.begin(), batch.ids.end());
    }
    changed_.notify_all();
    if (!result.ok()) return result.status();
    return std::make_unique<Result>(this, *std::move(result));
  }

 private:
  struct Result : engine::LazyResult {
    Result(GatedEngine* g, std::unique_ptr<engine::LazyResult> i) : gate(g), inner(std::move(i)) {}
    ~Result() override { gate->Pass(); }
    bool Ready() const override { return gate->IsOpen() && inner->Ready(); }
    absl::Status Wait() override {
      if (gate->in_wait) gate->in_wait();
      gate->Pass();
      return inner->Wait();
    }
    engine::RowValues row(size_t index) const override {
      if (gate->in_row) gate->in_row();
      return inner->row(index);
    }
    GatedEngine* const gate;
    const std::unique_ptr<engine::LazyResult> inner;
  };

  void Set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  bool IsOpen() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

  const std::unique_ptr<engine::Engine> inner_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  std::vector<std::set<int32_t>> seen_;  // ids of each Step
};

}  // namespace trellis::server

#endif  // TRELLIS_TESTS_SERVE_SERVER_GATED_ENGINE_H_
