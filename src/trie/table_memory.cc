#include "src/trie/table_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

namespace trellis::internal {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallPage = size_t{4} << 10;

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

}  // namespace

void UnmapTable::operator()(void* p) const { munmap(p, bytes); }

TableMemory::TableMemory(size_t bytes, PageSize pages) : size_(bytes) {
  if (bytes == 0) return;
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (pages == PageSize::kHuge) {
    const size_t huge_bytes = RoundUp(bytes, kHugePage);
#ifdef MAP_HUGETLB
    void* pool = mmap(nullptr, huge_bytes, kProtection, kFlags | MAP_HUGETLB, -1, 0);
    if (pool != MAP_FAILED) {
      mapping_ = {pool, UnmapTable{huge_bytes}};
      data_ = static_cast<std::byte*>(pool);
      return;
    }
#endif
    // One huge page more, so that an aligned block lies inside.
    const size_t span = huge_bytes + kHugePage;
    void* p = mmap(nullptr, span, kProtection, kFlags, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    mapping_ = {p, UnmapTable{span}};
    data_ = reinterpret_cast<std::byte*>(RoundUp(reinterpret_cast<uintptr_t>(p), kHugePage));
#ifdef MADV_HUGEPAGE
    madvise(data_, huge_bytes, MADV_HUGEPAGE);  // refused: small pages do as well
#endif
    return;
  }
  const size_t span = RoundUp(bytes, kSmallPage);
  void* p = mmap(nullptr, span, kProtection, kFlags, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  mapping_ = {p, UnmapTable{span}};
  data_ = static_cast<std::byte*>(p);
}

size_t TableMemory::HugeBytes() const {
  std::FILE* smaps = std::fopen("/proc/self/smaps", "re");
  if (smaps == nullptr || data_ == nullptr) {
    if (smaps != nullptr) std::fclose(smaps);
    return 0;
  }
  const auto begin = reinterpret_cast<uintptr_t>(data_);
  size_t total = 0;
  bool mine = false;
  char line[512];
  while (std::fgets(line, sizeof line, smaps) != nullptr) {
    unsigned long long from = 0, to = 0, kilobytes = 0;
    if (std::sscanf(line, "%llx-%llx ", &from, &to) == 2) {
      mine = from < begin + size_ && begin < to;
    } else if (mine && (std::sscanf(line, "AnonHugePages: %llu kB", &kilobytes) == 1 ||
                        std::sscanf(line, "Private_Hugetlb: %llu kB", &kilobytes) == 1)) {
      total += kilobytes << 10;
    }
  }
  std::fclose(smaps);
  return total;
}

}  // namespace trellis::internal
