// Runs a kernel as the GPU would, on this machine's processor: one fiber for each thread, blocks one after
// the other.
//
// It makes what a GPU may do and seldom does: one warp runs ahead of the others as far as it can, and one
// lane ahead of its warp, in an order that the schedule says. Correct kernels give the same bits in every
// schedule. What a GPU would not tell ends the program with the kernel, the line of the call, the block and
// the thread: a warp's function that some of its lanes never reach or reach at another place, a barrier that
// some threads never reach or reach at another place, a vector that is not aligned, a launch beyond the
// limits, copies that nobody waited for. Shared memory begins as NaN in each block, and each array is an
// allocation of its own, so that AddressSanitizer sees what runs out of it.
//
// What it cannot show: races between blocks, bank conflicts, time, and the last bits of exp2, rsqrt and of a
// tensor core's sums.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_EMULATION_GRID_H_
#define TRELLIS_SERVE_ENGINE_CUDA_EMULATION_GRID_H_

#include <cstddef>
#include <cstring>
#include <functional>

namespace trellis::engine::cuda::emulation {

inline constexpr int kWarpLanes = 32;

// Where a kernel calls: as a default argument, the caller's line.
struct Site {
  constexpr Site(int caller = __builtin_LINE()) : line(caller) {}  // NOLINT: made from nothing, at the caller
  int line;
};

// 0: forward; 1: backward; else random, by this seed. For the calling thread, from its next launch on.
void SetSchedule(unsigned schedule);

// Calls `body` once for each thread of each block.
void RunGrid(const char* kernel, unsigned blocks_x, unsigned blocks_y, int threads,
             const std::function<void()>& body);

// The rest is for kernels, and only there: of the thread that calls.
unsigned BlockX();
unsigned BlockY();
int Thread();

[[noreturn]] void Die(const char* what, Site site);
void Barrier(Site site);

// The n-th call of a thread gets the block's n-th array.
void* SharedArray(size_t bytes, Site site);
bool IsShared(const void* begin, size_t bytes);

// Gives `value` to the other lanes of the warp and waits for theirs: [lane][kExchangeBytes], valid until the
// next time.
inline constexpr size_t kExchangeBytes = 32;
const std::byte* ExchangeBytes(const void* value, size_t size, Site site);

template <typename T>
class Lanes {
 public:
  explicit Lanes(const std::byte* values) : values_(values) {}
  T operator[](int lane) const {
    T value;
    std::memcpy(&value, values_ + static_cast<size_t>(lane) * kExchangeBytes, sizeof value);
    return value;
  }

 private:
  const std::byte* values_;
};
template <typename T>
Lanes<T> Exchange(const T& value, Site site) {
  static_assert(sizeof(T) <= kExchangeBytes);
  return Lanes<T>(ExchangeBytes(&value, sizeof value, site));
}

// Asynchronous copies to shared memory. They happen when they are waited for, and until then the target is
// NaN. `from` null: zeros.
void CopyLater(void* to, const void* from, size_t bytes, Site site);
void CommitCopies();
void WaitForCopies(int groups_left, Site site);

}  // namespace trellis::engine::cuda::emulation

#endif  // TRELLIS_SERVE_ENGINE_CUDA_EMULATION_GRID_H_
