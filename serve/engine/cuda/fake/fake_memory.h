// The fake GPU's memory and its pinned host memory: what is allocated, how much is left. New memory is full
// of NaNs.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_MEMORY_H_
#define TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_MEMORY_H_

#include <cstddef>
#include <map>
#include <optional>

#include "serve/engine/cuda/buffer.h"

namespace trellis::engine::cuda {

enum class MemoryKind : unsigned char { kDevice, kPinned };

class FakeMemory {
 public:
  explicit FakeMemory(size_t capacity) : capacity_(capacity) {}
  ~FakeMemory();
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;

  // Null: there is not that much left. Pinned memory is the host's and not counted.
  Buffer Allocate(size_t bytes, MemoryKind kind);
  // False: `buffer` is not what Allocate gave.
  bool Free(Buffer buffer);

  // The whole allocation that `buffer` lies in, if there is one.
  struct Allocation {
    Buffer all;
    MemoryKind kind = MemoryKind::kDevice;
  };
  std::optional<Allocation> Find(Buffer buffer) const;

  // What graphs take up, beside allocations. False: there is not that much left.
  bool Take(size_t bytes);
  void GiveBack(size_t bytes) { used_ -= bytes; }

  void set_capacity(size_t bytes) { capacity_ = bytes; }
  size_t left() const { return used_ < capacity_ ? capacity_ - used_ : 0; }
  size_t allocations() const { return live_.size(); }

 private:
  size_t capacity_, used_ = 0;
  std::map<std::byte*, Allocation> live_;
};

// Whether they share a byte.
bool Overlap(Buffer a, Buffer b);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_MEMORY_H_
