// What a warp does with matrices: products of 16x16 by 16x8 on the tensor cores, and how their operands come
// from shared memory. The layouts are those of the PTX manual for mma.m16n8k16 and ldmatrix; with group =
// lane / 4 and pair = lane % 4:
//   a[0] (group, 2 pair)      a[1] (group + 8, 2 pair)      a[2] (group, 2 pair + 8)      a[3] (group + 8, 2
//   pair + 8) b[0] (2 pair, group)      b[1] (2 pair + 8, group) d[0], d[1] (group, 2 pair and 2 pair + 1)
//   d[2], d[3] (group + 8, the same)
// where a word of a has two neighbours of a row, and one of b two neighbours of a column.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_TENSOR_CORE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_TENSOR_CORE_H_

#include "serve/engine/cuda/kernels/half.h"

namespace trellis::engine::cuda::kernels {

// d += a b. Sums are in float.
template <HalfType kType>
SIMT_DEVICE void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                             Site site = {}) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  if constexpr (kType == HalfType::kBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#else
  struct Operands {
    uint32_t a[4], b[2];
  };
  const auto lanes = emulation::Exchange(Operands{{a[0], a[1], a[2], a[3]}, {b0, b1}}, site);
  const int group = Lane() / 4, pair = Lane() % 4;
  const auto half = [](uint32_t word, int which) {
    return Wide<kType>(static_cast<Bits16>(word >> (16 * which)));
  };
  float sums[4] = {};
  for (int k = 0; k < 16; ++k) {
    const int owner = k % 8 / 2, high = k / 8, which = k % 2;
    const Operands row = lanes[group * 4 + owner];
    for (int column = 0; column < 2; ++column) {
      const float right = half(lanes[(2 * pair + column) * 4 + owner].b[high], which);
      sums[column] += half(row.a[2 * high], which) * right;
      sums[2 + column] += half(row.a[2 * high + 1], which) * right;
    }
  }
  for (int i = 0; i < 4; ++i) d[i] += sums[i];
#endif
}

// Four matrices of 8x8: lane l says where row l % 8 of matrix l / 8 begins, 8 numbers in shared memory,
// 16-byte aligned. words[m] gets (group, 2 pair) and its neighbour in the row, of matrix m; transposed, (2
// pair, group) and its neighbour in the column.
template <bool kTransposed>
SIMT_DEVICE void LoadMatrices(uint32_t (&words)[4], const Bits16* row, Site site = {}) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  }
#else
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) emulation::Die("a matrix row that is not aligned", site);
  if (!emulation::IsShared(row, 16)) emulation::Die("a matrix row that is not in shared memory", site);
  const auto lanes = emulation::Exchange(row, site);
  const int group = Lane() / 4, pair = Lane() % 4;
  for (int m = 0; m < 4; ++m) {
    const Bits16 *first = lanes[m * 8 + group] + 2 * pair, *second = first + 1;
    if (kTransposed) {
      first = lanes[m * 8 + 2 * pair] + group;
      second = lanes[m * 8 + 2 * pair + 1] + group;
    }
    words[m] = uint32_t{*first} | uint32_t{*second} << 16;
  }
#endif
}

// 16 bytes from the device's memory into shared memory, past the registers: done when the group that the
// thread commits it to has been waited for, and seen by other threads after a barrier. Not `there`: zeros,
// and `from` is not read.
SIMT_DEVICE void CopyAsync(Bits16* to, const Bits16* from, bool there, Site site = {}) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(there ? 16 : 0)
               : "memory");
#else
  emulation::CopyLater(to, there ? from : nullptr, 16, site);
#endif
}
SIMT_DEVICE void CommitCopies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulation::CommitCopies();
#endif
}
// All of this thread's groups but the last `kLeft`.
template <int kLeft>
SIMT_DEVICE void WaitForCopies(Site site = {}) {
#if defined(__CUDACC__)
  static_cast<void>(site);
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#else
  emulation::WaitForCopies(kLeft, site);
#endif
}

}  // namespace trellis::engine::cuda::kernels

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_TENSOR_CORE_H_
