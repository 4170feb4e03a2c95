// The emulation shows what a GPU would do, and says what a GPU would not.
#include "serve/engine/cuda/emulation/grid.h"

#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/kernels/simt.h"
#include "serve/engine/cuda/kernels/tensor_core.h"
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace {

using kernels::Barrier;
using kernels::Lane;
using kernels::Warp;

void RunBlock(int threads, const std::function<void()>& body) {
  emulation::RunGrid("Tested", 1, 1, threads, body);
}

TEST(CudaEmulation, EachThreadOfEachBlockOnce) {
  std::vector<int> seen(3 * 2 * 70);
  emulation::RunGrid("Tested", 3, 2, 70, [&] {
    ++seen[static_cast<size_t>((kernels::BlockY() * 3 + kernels::BlockX()) * 70 + kernels::Thread())];
  });
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(CudaEmulation, LanesExchange) {
  std::vector<int> got(64);
  std::vector<float> sums(64);
  RunBlock(64, [&] {
    const auto thread = static_cast<size_t>(kernels::Thread());
    got[thread] = kernels::ShuffleXor(kernels::Thread(), 5);
    sums[thread] = kernels::WarpSum(static_cast<float>(Lane()));
  });
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i], static_cast<int>(i ^ 5));
    EXPECT_EQ(sums[i], 31 * 32 / 2);
  }
}

TEST(CudaEmulation, SharedMemoryBeginsAsNothing) {
  emulation::RunGrid("Tested", 2, 1, 32, [&] {
    SIMT_SHARED(float, values, 32);
    EXPECT_TRUE(std::isnan(values[Lane()])) << "also in the second block";
    values[Lane()] = 1;
  });
}

// Warps hand values over without a barrier: right only when the writing warp happens to come first.
TEST(CudaEmulation, AMissingBarrierShowsInSomeSchedule) {
  const auto rounds = [](bool waits) {
    std::set<std::vector<float>> results;
    for (const unsigned schedule : {0u, 1u, 2u, 3u, 4u}) {
      emulation::SetSchedule(schedule);
      std::vector<float> out(128);
      RunBlock(128, [&] {
        SIMT_SHARED(float, values, 4);
        for (int round = 0; round < 3; ++round) {
          if (Lane() == 0) values[Warp()] = static_cast<float>(10 * round + Warp());
          if (waits) Barrier();
          const float theirs = values[(Warp() + 1) % 4];
          if (waits) Barrier();
          out[static_cast<size_t>(kernels::Thread())] += std::isnan(theirs) ? -1 : theirs;
          kernels::WarpBarrier();
        }
      });
      results.insert(out);
    }
    emulation::SetSchedule(0);
    return results;
  };
  EXPECT_EQ(rounds(true).size(), 1u);
  EXPECT_GT(rounds(false).size(), 1u);
}

TEST(CudaEmulation, CopiesComeWhenTheyAreWaitedFor) {
  std::vector<Bits16> from(32 * 8);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Bits16>(i);
  RunBlock(32, [&] {
    SIMT_SHARED(Bits16, to, 3 * 32 * 8);
    const int mine = Lane() * 8;
    const auto lands = [&](int place) { return to[place * 32 * 8 + mine + 1]; };
    for (int place = 0; place < 3; ++place) {
      kernels::CopyAsync(to + place * 32 * 8 + mine, from.data() + mine, place != 1);
      kernels::CommitCopies();
    }
    EXPECT_EQ(lands(0), 0xffff);
    kernels::WaitForCopies<1>();
    EXPECT_EQ(lands(0), static_cast<Bits16>(mine + 1));
    EXPECT_EQ(lands(1), 0) << "not there: zeros";
    EXPECT_EQ(lands(2), 0xffff) << "the last group is still on its way";
    kernels::WaitForCopies<0>();
    EXPECT_EQ(lands(2), static_cast<Bits16>(mine + 1));
  });
}

using CudaEmulationDeathTest = testing::Test;

// Outside of the macros, in which all is one line.
void WarpAtTwoPlaces() {
  if (Lane() < 16) {
    kernels::ShuffleXor(1, 1);
  } else {
    kernels::ShuffleXor(1, 1);
  }
}
void BlockAtTwoBarriers() {
  if (Warp() == 0) {
    Barrier();
  } else {
    Barrier();
  }
}
void LaneAtABarrier() {
  if (Lane() == 0) Barrier();
  kernels::ShuffleXor(1, 1);
}
void ArraysOfTwoSizes() {
  if (Warp() == 0) {
    SIMT_SHARED(float, values, 2);
    values[0] = 1;
  } else {
    SIMT_SHARED(float, values, 3);
    values[0] = 1;
  }
}

TEST(CudaEmulationDeathTest, WarpsThatDoNotAgree) {
  EXPECT_DEATH(RunBlock(32,
                        [] {
                          if (Lane() != 3) kernels::WarpSum(1.0f);
                        }),
               "cuda emulation: Tested, line [0-9]+, block .0, 0., thread [0-9]+: a warp's function after "
               "some lanes have ended");
  EXPECT_DEATH(RunBlock(40, [] { kernels::WarpSum(1.0f); }), "a warp that is not full");
  EXPECT_DEATH(RunBlock(32, WarpAtTwoPlaces), "lanes of a warp wait at different places");
  EXPECT_DEATH(RunBlock(32, LaneAtABarrier), "deadlock: a warp's function waits for lanes at a barrier");
}

TEST(CudaEmulationDeathTest, BlocksThatDoNotAgree) {
  EXPECT_DEATH(RunBlock(64,
                        [] {
                          if (Warp() == 0) Barrier();
                        }),
               "a barrier after some threads have ended");
  EXPECT_DEATH(RunBlock(64, BlockAtTwoBarriers), "threads of a block wait at different barriers");
  EXPECT_DEATH(RunBlock(64, ArraysOfTwoSizes), "different shared arrays");
}

TEST(CudaEmulationDeathTest, Memory) {
  alignas(16) Bits16 numbers[24] = {};
  EXPECT_DEATH(RunBlock(1, [&] { kernels::LoadVector<kernels::Words4>(numbers + 4); }),
               "a vector load that is not aligned");
  EXPECT_DEATH(RunBlock(1, [&] { kernels::StoreVector(numbers + 1, 7u); }),
               "a vector store that is not aligned");
  EXPECT_DEATH(RunBlock(1, [&] { kernels::CopyAsync(numbers, numbers + 8, true); }),
               "copy to memory that is not shared");
  EXPECT_DEATH(RunBlock(1,
                        [&] {
                          SIMT_SHARED(Bits16, to, 8);
                          kernels::CopyAsync(to, numbers + 1, true);
                        }),
               "copy that is not aligned");
  EXPECT_DEATH(RunBlock(1,
                        [&] {
                          SIMT_SHARED(Bits16, to, 8);
                          kernels::CopyAsync(to, numbers, true);
                          kernels::CommitCopies();
                        }),
               "ends with copies that it has not waited for");
  uint32_t words[4];
  EXPECT_DEATH(RunBlock(32, [&] { kernels::LoadMatrices<false>(words, numbers); }), "not in shared memory");
  EXPECT_DEATH(RunBlock(32,
                        [&] {
                          SIMT_SHARED(Bits16, rows, 32 * 8 + 8);
                          kernels::LoadMatrices<false>(words, rows + Lane() * 8 + 4);
                        }),
               "a matrix row that is not aligned");
}

TEST(CudaEmulationDeathTest, Launches) {
  EXPECT_DEATH(RunBlock(1025, [] {}),
               "Tested: 1 by 1 blocks of 1025 threads, expected 1 to 2147483647 by 1 to 65535 of 1 to 1024");
  EXPECT_DEATH(emulation::RunGrid("Tested", 1, 65536, 32, [] {}), "1 by 65536 blocks");
  EXPECT_DEATH(Barrier(), "outside of a launch");
}

}  // namespace
}  // namespace trellis::engine::cuda
