#include "trellis/scratch.h"

#include <sys/mman.h>

#include <new>

namespace trellis {

Scratch::Scratch(std::span<std::byte> memory) {
  // Carved regions are aligned; so must be the first.
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  const size_t skip = (ScratchCarver::kAlign - address % ScratchCarver::kAlign) % ScratchCarver::kAlign;
  if (skip < memory.size()) memory_ = memory.subspan(skip);
}

void Scratch::Free::operator()(std::byte* p) const { munmap(p, bytes); }

void Scratch::Reserve(size_t bytes) {
  if (bytes <= memory_.size()) return;
  // Straight from the kernel: zeroed lazily, so a generous bound costs only the
  // pages that are used.
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  owned_ = {static_cast<std::byte*>(p), Free{bytes}};
  memory_ = {owned_.get(), bytes};
  cache_owner_ = 0;
}

}  // namespace trellis
