// The end of pooled vectors, a warp for each.
#include "serve/engine/cuda/kernels/warp.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kFinishWarps = 4;
inline constexpr int kFinishThreads = kFinishWarps * kWarp;

SIMT_DEVICE float ScaleOfFirst(const float* vector, int size) {
  double squares = 0;
  for (int i = Lane(); i < size; i += kWarp)
    squares += static_cast<double>(vector[i]) * static_cast<double>(vector[i]);
  return ScaleOf(WarpSum(squares));
}

// Each lane writes what only it has read, so that nothing has to be waited for.
SIMT_KERNEL(kFinishThreads, 1) FinishRowsKernel(FinishRowsArgs args) {
  const int row = BlockX() * kFinishWarps + Warp();
  if (row >= args.rows) return;
  const RowWork work = args.work[row];
  float* const vector = args.vectors + static_cast<size_t>(row) * static_cast<size_t>(args.size);
  if (args.model_scales) {
    const float scale = ScaleOfFirst(vector, args.size);
    for (int i = Lane(); i < args.size; i += kWarp) vector[i] *= scale;
  }
  const int kept = work.dimensions > 0 ? work.dimensions : args.size;
  const float scale = work.scale_to_one != 0 ? ScaleOfFirst(vector, kept) : 1.0f;
  for (int i = Lane(); i < args.size; i += kWarp) vector[i] = i < kept ? vector[i] * scale : 0.0f;
}

}  // namespace kernels

void LaunchFinishRows(Stream stream, const FinishRowsArgs& args) {
  using namespace kernels;
  Start("FinishRows", FinishRowsKernel, {Ceiling(args.rows, kFinishWarps)}, kFinishThreads, stream, args);
}

}  // namespace trellis::engine::cuda
