#include "bench/end_to_end/allocation_count.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#ifndef __GLIBC__
#error "counting allocations needs glibc's __libc_malloc"
#endif

namespace {

std::atomic<uint64_t> allocations{0};

void CountOne() { allocations.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

// glibc's own names of what is replaced below; no dlsym, which allocates.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  CountOne();
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  CountOne();
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  CountOne();
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) {
  CountOne();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  CountOne();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  CountOne();
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}
}

namespace trellis::bench {

uint64_t AllocationCount() { return allocations.load(std::memory_order_relaxed); }

}  // namespace trellis::bench
