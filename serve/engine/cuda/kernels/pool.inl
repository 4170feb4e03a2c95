// A row's token vectors as one. A block has one row and some columns; its warps share the tokens out, by
// turns, so that a long row does not wait for one thread's walk through it.
#include "serve/engine/cuda/kernels/half.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kPoolWarps = 16;
inline constexpr int kPoolThreads = kPoolWarps * kWarp;

template <HalfType kType, int kWidth>
SIMT_KERNEL(kPoolThreads, 1)
PoolKernel(PoolArgs args) {
  constexpr int kColumns = kWarp * kWidth;
  SIMT_SHARED(float, sums, kPoolWarps* kColumns);
  const int row = BlockX(), first_column = BlockY() * kColumns, column = first_column + Lane() * kWidth;
  const RowWork work = args.work[row];
  int begin = args.cu_seqlens[row], end = args.cu_seqlens[row + 1];
  if (work.pool == RowWork::kNothing) end = begin;
  if (work.pool == RowWork::kCls && end > begin) end = begin + 1;
  if (work.pool == RowWork::kLast && end > begin) begin = end - 1;

  float sum[kWidth] = {};
  if (column < args.hidden) {
    for (int token = begin + Warp(); token < end; token += kPoolWarps) {
      float values[kWidth];
      Load<kType>(args.states + static_cast<size_t>(token) * static_cast<size_t>(args.hidden) + column,
                  values);
      SIMT_UNROLL
      for (int i = 0; i < kWidth; ++i) sum[i] += values[i];
    }
  }
  StoreFloats(sum, sums + Warp() * kColumns + Lane() * kWidth);
  Barrier();
  const float share = end > begin ? 1.0f / static_cast<float>(end - begin) : 0.0f;
  for (int c = Thread(); c < kColumns && first_column + c < args.hidden; c += kPoolThreads) {
    float total = 0;
    SIMT_UNROLL
    for (int warp = 0; warp < kPoolWarps; ++warp) total += sums[warp * kColumns + c];
    args.out[static_cast<size_t>(row) * static_cast<size_t>(args.hidden) +
             static_cast<size_t>(first_column + c)] = total * share;
  }
}

}  // namespace kernels

void LaunchPool(Stream stream, const PoolArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    WithWidth(args.hidden, [&](auto width) {
      Start("Pool", PoolKernel<type(), width()>, {args.rows, Ceiling(args.hidden, kWarp * width())},
            kPoolThreads, stream, args);
    });
  });
}

}  // namespace trellis::engine::cuda
