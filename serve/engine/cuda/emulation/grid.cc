#include "serve/engine/cuda/emulation/grid.h"

#include <cstdio>
#include <cstdlib>

#include "serve/engine/cuda/emulation/block.h"

namespace trellis::engine::cuda::emulation {
namespace {

thread_local unsigned chosen_schedule = 0;

// CUDA's own, the same for all architectures that we compile for.
constexpr int kMostThreads = 1024;
constexpr unsigned kMostBlocksX = 0x7fffffff, kMostBlocksY = 65535;

}  // namespace

void SetSchedule(unsigned schedule) { chosen_schedule = schedule; }

void RunGrid(const char* kernel, unsigned blocks_x, unsigned blocks_y, int threads,
             const std::function<void()>& body) {
  if (threads < 1 || threads > kMostThreads || blocks_x < 1 || blocks_x > kMostBlocksX || blocks_y < 1 ||
      blocks_y > kMostBlocksY) {
    std::fprintf(
        stderr, "cuda emulation: %s: %u by %u blocks of %d threads, expected 1 to %u by 1 to %u of 1 to %d\n",
        kernel, blocks_x, blocks_y, threads, kMostBlocksX, kMostBlocksY, kMostThreads);
    std::abort();
  }
  Block block(kernel, threads, chosen_schedule, body);
  for (unsigned y = 0; y < blocks_y; ++y) {
    for (unsigned x = 0; x < blocks_x; ++x) block.Run(x, y);
  }
}

}  // namespace trellis::engine::cuda::emulation
