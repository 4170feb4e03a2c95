#include "serve/engine/cpu/crew.h"

namespace trellis::engine::cpu {
namespace {

// A round as one word: its number, how many tasks it has, the next one.
constexpr int kTaskBits = 20;
constexpr uint64_t kTaskMask = (uint64_t{1} << kTaskBits) - 1;
static_assert(kTaskMask == Crew::kMostTasks);

uint64_t Word(uint64_t number, int tasks) {
  return (number << 2 * kTaskBits) | (static_cast<uint64_t>(tasks) << kTaskBits);
}
uint64_t NumberOf(uint64_t word) { return word >> 2 * kTaskBits; }
int TasksOf(uint64_t word) { return static_cast<int>((word >> kTaskBits) & kTaskMask); }
int NextOf(uint64_t word) { return static_cast<int>(word & kTaskMask); }

// A layer's steps follow within microseconds: to be woken up for each takes longer. Short enough not to
// matter when there are more threads than cores.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Until the value is another one.
template <typename T>
T WaitWhile(std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    const T now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

Crew::Crew(int threads, void (*at_start)()) {
  hands_.reserve(threads > 1 ? static_cast<size_t>(threads) - 1 : 0);
  for (int thread = 1; thread < threads; ++thread) {
    hands_.emplace_back([this, thread, at_start] {
      if (at_start != nullptr) at_start();
      Help(thread);
    });
  }
}

Crew::~Crew() {
  stop_ = true;
  round_ = Word(NumberOf(round_) + 1, 0);
  round_.notify_all();
  for (std::thread& hand : hands_) hand.join();
}

void Crew::Share(int tasks, Call call, const void* work) {
  // Nobody takes these for a round's before the round is there: no task of the last one is left.
  call_.store(call, std::memory_order_relaxed);
  work_.store(work, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  const uint64_t round = Word(NumberOf(round_.load(std::memory_order_relaxed)) + 1, tasks);
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  TakeTasks(round, 0);
  for (int done = done_.load(std::memory_order_acquire); done != tasks;) done = WaitWhile(done_, done);
}

uint64_t Crew::TakeTasks(uint64_t seen, int thread) {
  while (NextOf(seen) < TasksOf(seen)) {
    const Call call = call_.load(std::memory_order_relaxed);
    const void* const work = work_.load(std::memory_order_relaxed);
    if (!round_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
    const int tasks = TasksOf(seen);
    call(work, NextOf(seen), thread);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks) done_.notify_all();
    seen = round_.load(std::memory_order_acquire);
  }
  return seen;
}

void Crew::Help(int thread) {
  uint64_t seen = round_.load(std::memory_order_acquire);
  for (;;) {
    seen = TakeTasks(seen, thread);
    // Here, not before: that may have seen the last round, behind which there is no other to wait for.
    if (stop_.load(std::memory_order_acquire)) return;
    seen = WaitWhile(round_, seen);
  }
}

}  // namespace trellis::engine::cpu
