// One block of a launch: its threads as fibers, and who may run next.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_EMULATION_BLOCK_H_
#define TRELLIS_SERVE_ENGINE_CUDA_EMULATION_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "serve/engine/cuda/emulation/fiber.h"
#include "serve/engine/cuda/emulation/grid.h"

namespace trellis::engine::cuda::emulation {

struct Copy {
  void* to;
  const void* from;  // null: zeros
  size_t bytes;
};

class Block {
 public:
  // `schedule` as in SetSchedule.
  Block(const char* kernel, int threads, unsigned schedule, const std::function<void()>& body);

  // All threads, from the beginning to the end.
  void Run(unsigned x, unsigned y);

  unsigned x() const { return x_; }
  unsigned y() const { return y_; }
  int thread() const { return current_; }

  void Barrier(Site site);
  void* SharedArray(size_t bytes, Site site);
  bool IsShared(const void* begin, size_t bytes) const;
  const std::byte* Exchange(const void* value, size_t size, Site site);
  void CopyLater(const Copy& copy, Site site);
  void CommitCopies();
  void WaitForCopies(int groups_left, Site site);
  [[noreturn]] void Die(const char* what, Site site) const;

 private:
  enum class State : uint8_t { kReady, kAtBarrier, kInWarp, kDone };
  struct Thread {
    Fiber* fiber = nullptr;
    State state = State::kDone;
    Site site;  // where it waits
    size_t shared_arrays = 0;
    size_t exchanges = 0;
    std::vector<Copy> uncommitted;
    std::deque<std::vector<Copy>> groups;
  };
  struct Warp {
    // Two, by turns: a lane may give the next value while another still reads the last ones.
    alignas(16) std::byte values[2][kWarpLanes][kExchangeBytes];
  };
  struct Array {
    size_t bytes;
    std::unique_ptr<std::byte[]> memory;
  };

  static void Entry();
  int threads() const { return static_cast<int>(threads_.size()); }
  Thread& current() { return threads_[static_cast<size_t>(current_)]; }
  void Suspend(State state, Site site);
  bool RunWarp(int warp);
  bool ReleaseWarp(int first, int end);
  bool ReleaseBarrier();

  const char* kernel_;
  unsigned schedule_;
  const std::function<void()>& body_;
  unsigned x_ = 0, y_ = 0;
  int current_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Array> arrays_;
  std::mt19937 random_;
  std::vector<int> warp_order_, lane_order_;
};

}  // namespace trellis::engine::cuda::emulation

#endif  // TRELLIS_SERVE_ENGINE_CUDA_EMULATION_BLOCK_H_
