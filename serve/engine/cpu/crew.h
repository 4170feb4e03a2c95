// Threads that do one piece of work together: the caller and its hands. Not oneDNN's own threads, since those
// know nothing of our kernels, and two kinds of threads would fight over the same cores.
#ifndef TRELLIS_SERVE_ENGINE_CPU_CREW_H_
#define TRELLIS_SERVE_ENGINE_CPU_CREW_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace trellis::engine::cpu {

// One thread at a time calls For.
class Crew {
 public:
  static constexpr int kMostTasks = (1 << 20) - 1;

  // `threads` counts the caller. `at_start` runs first on each hand.
  explicit Crew(int threads, void (*at_start)() = nullptr);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int threads() const { return static_cast<int>(hands_.size()) + 1; }

  // Calls work(task, thread) for each task in [0, tasks), at most kMostTasks, in any order, and returns when
  // all are done; `thread` is in [0, threads()) and no two calls at the same time have the same. `work` must
  // not throw.
  template <typename Work>
  void For(int tasks, const Work& work) {
    if (hands_.empty() || tasks <= 1) {
      for (int task = 0; task < tasks; ++task) work(task, 0);
      return;
    }
    Share(
        tasks, [](const void* w, int task, int thread) { (*static_cast<const Work*>(w))(task, thread); },
        &work);
  }

 private:
  using Call = void (*)(const void* work, int task, int thread);
  void Share(int tasks, Call call, const void* work);
  void Help(int thread);
  // Until none is left; the word that says so.
  uint64_t TakeTasks(uint64_t seen, int thread);

  // A round's number, its tasks and the next of them in one word: as long as a task is left, the round is not
  // over, so who claims one has claimed it from the round whose work it has read.
  std::atomic<uint64_t> round_{0};
  std::atomic<Call> call_{nullptr};
  std::atomic<const void*> work_{nullptr};
  std::atomic<int> done_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> hands_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_CREW_H_
