#include "serve/engine/cuda/fake/fake_memory.h"

#include <cstdlib>
#include <cstring>

namespace trellis::engine::cuda {

FakeMemory::~FakeMemory() {
  for (const auto& [data, allocation] : live_) std::free(data);
}

Buffer FakeMemory::Allocate(size_t bytes, MemoryKind kind) {
  if (kind == MemoryKind::kDevice && !Take(bytes)) return {};
  void* data = nullptr;  // exactly as long as asked for, so that AddressSanitizer sees what goes past its end
  if (posix_memalign(&data, kAlignment, bytes) != 0) std::abort();
  std::memset(data, 0xff, bytes);
  const Buffer all{static_cast<std::byte*>(data), bytes};
  live_[all.data] = {all, kind};
  return all;
}

bool FakeMemory::Free(Buffer buffer) {
  const auto found = live_.find(buffer.data);
  if (found == live_.end() || found->second.all.size != buffer.size) return false;
  if (found->second.kind == MemoryKind::kDevice) GiveBack(buffer.size);
  live_.erase(found);
  std::free(buffer.data);
  return true;
}

std::optional<FakeMemory::Allocation> FakeMemory::Find(Buffer buffer) const {
  auto after = live_.upper_bound(buffer.data);
  if (after == live_.begin()) return std::nullopt;
  const Allocation& allocation = (--after)->second;
  if (buffer.data + buffer.size > allocation.all.data + allocation.all.size) return std::nullopt;
  return allocation;
}

bool FakeMemory::Take(size_t bytes) {
  if (bytes > left()) return false;
  used_ += bytes;
  return true;
}

bool Overlap(Buffer a, Buffer b) { return a.data < b.data + b.size && b.data < a.data + a.size; }

}  // namespace trellis::engine::cuda
