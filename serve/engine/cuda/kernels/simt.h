// The words that kernels are written in, each with a body for nvcc and one for the emulation. A kernel is
// plain C++ and these.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_SIMT_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_SIMT_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "serve/engine/cuda/kernels/kernels.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
// A kernel, for blocks of at most so many threads, of which a processor should hold so many at a time: that bounds the
// registers. 1 does not; 0 leaves it to the compiler, which may spill for more blocks.
#define SIMT_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define SIMT_DEVICE __device__ __forceinline__
#define SIMT_UNROLL _Pragma("unroll")
// Of the block; it begins undefined.
#define SIMT_SHARED(T, name, size) __shared__ __align__(16) T name[size]
#else
#include "serve/engine/cuda/emulation/grid.h"
#define SIMT_KERNEL(threads, blocks) inline void
#define SIMT_DEVICE inline
#define SIMT_UNROLL
#define SIMT_SHARED(T, name, size) \
  T* const name = static_cast<T*>(emulation::SharedArray((size) * sizeof(T), emulation::Site()))
#endif

namespace trellis::engine::cuda::kernels {

inline constexpr int kWarp = 32;

// The call's place, as a default argument: the emulation wants all lanes at the same one.
#if defined(__CUDACC__)
struct Site {};
#else
using emulation::Site;
#endif

#if defined(__CUDACC__)
SIMT_DEVICE int BlockX() { return static_cast<int>(blockIdx.x); }
SIMT_DEVICE int BlockY() { return static_cast<int>(blockIdx.y); }
SIMT_DEVICE int Thread() { return static_cast<int>(threadIdx.x); }
SIMT_DEVICE void Barrier(Site = {}) { __syncthreads(); }
SIMT_DEVICE void WarpBarrier(Site = {}) { __syncwarp(); }
#else
inline int BlockX() { return static_cast<int>(emulation::BlockX()); }
inline int BlockY() { return static_cast<int>(emulation::BlockY()); }
inline int Thread() { return emulation::Thread(); }
inline void Barrier(Site site = {}) { emulation::Barrier(site); }
inline void WarpBarrier(Site site = {}) { emulation::Exchange(0, site); }
#endif
SIMT_DEVICE int Lane() { return Thread() % kWarp; }
SIMT_DEVICE int Warp() { return Thread() / kWarp; }

// The value of the lane whose number differs in the bits of `lanes`. Of all lanes of a warp, as every
// function of a warp.
template <typename T>
SIMT_DEVICE T ShuffleXor(T value, int lanes, Site site = {}) {
#if defined(__CUDACC__)
  return __shfl_xor_sync(0xffffffffu, value, lanes);
#else
  return emulation::Exchange(value, site)[Lane() ^ lanes];
#endif
}

SIMT_DEVICE float Exp2(float x) {
#if defined(__CUDACC__)
  return exp2f(x);
#else
  return std::exp2(x);
#endif
}
SIMT_DEVICE float RootOfInverse(float x) {
#if defined(__CUDACC__)
  return rsqrtf(x);
#else
  return 1.0f / std::sqrt(x);
#endif
}
SIMT_DEVICE float Infinity() { return HUGE_VALF; }

#if defined(__CUDACC__)
using Words4 = uint4;
using Floats4 = float4;
#else
struct alignas(16) Words4 {
  uint32_t x, y, z, w;
};
struct alignas(16) Floats4 {
  float x, y, z, w;
};
#endif

// One instruction each, where a memcpy would become many narrow ones. `at` is aligned to the vector: the GPU
// ends the program otherwise, and so does the emulation.
template <typename T>
SIMT_DEVICE T LoadVector(const void* at, [[maybe_unused]] Site site = {}) {
#if defined(__CUDACC__)
  return *static_cast<const T*>(at);
#else
  if (reinterpret_cast<uintptr_t>(at) % sizeof(T) != 0)
    emulation::Die("a vector load that is not aligned", site);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
#endif
}
template <typename T>
SIMT_DEVICE void StoreVector(void* at, T value, [[maybe_unused]] Site site = {}) {
#if defined(__CUDACC__)
  *static_cast<T*>(at) = value;
#else
  if (reinterpret_cast<uintptr_t>(at) % sizeof(T) != 0)
    emulation::Die("a vector store that is not aligned", site);
  std::memcpy(at, &value, sizeof value);
#endif
}

struct Grid {
  int x = 1, y = 1;
};
// One kernel on `stream`. A grid without blocks is no launch.
template <typename... Parameters>
void Start(const char* name, void (*kernel)(Parameters...), Grid grid, int threads, Stream stream,
           Parameters... arguments) {
  if (grid.x <= 0 || grid.y <= 0) return;
#if defined(__CUDACC__)
  static_cast<void>(name);
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
  kernel<<<blocks, static_cast<unsigned>(threads), 0, static_cast<cudaStream_t>(stream)>>>(arguments...);
#else
  static_cast<void>(stream);
  emulation::RunGrid(name, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), threads,
                     [&] { kernel(arguments...); });
#endif
}

inline int Ceiling(int value, int to) { return (value + to - 1) / to; }

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_SIMT_H_
