// A piece of memory, the GPU's or the host's, that somebody else owns.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_BUFFER_H_
#define TRELLIS_SERVE_ENGINE_CUDA_BUFFER_H_

#include <cstddef>

namespace trellis::engine::cuda {

struct Buffer {
  std::byte* data = nullptr;
  size_t size = 0;

  Buffer Part(size_t offset, size_t bytes) const { return {data + offset, bytes}; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// Where allocations and their parts begin: what vector loads of 16 bytes and cuBLASLt's best kernels want,
// and a cache line twice over.
inline constexpr size_t kAlignment = 256;
inline constexpr size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_BUFFER_H_
