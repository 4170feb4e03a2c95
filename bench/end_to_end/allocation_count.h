// Counts this program's heap allocations, of whoever asks: malloc and its
// kin are replaced here, and operator new goes through malloc.
#ifndef TRELLIS_BENCH_END_TO_END_ALLOCATION_COUNT_H_
#define TRELLIS_BENCH_END_TO_END_ALLOCATION_COUNT_H_

#include <cstdint>

namespace trellis::bench {

// Allocations since the start, reallocations included.
uint64_t AllocationCount();

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_ALLOCATION_COUNT_H_
