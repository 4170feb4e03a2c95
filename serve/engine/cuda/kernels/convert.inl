// Floats to 16 bits and back.
#include "serve/engine/cuda/kernels/half.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kConvertThreads = 256;

SIMT_DEVICE size_t FirstOfThread() {
  return (static_cast<size_t>(BlockX()) * kConvertThreads + static_cast<size_t>(Thread())) * kVectorWidth;
}

template <HalfType kType>
SIMT_KERNEL(kConvertThreads, 1)
NarrowKernel(NarrowArgs args) {
  const size_t at = FirstOfThread();
  if (at + kVectorWidth <= args.count) {
    float values[kVectorWidth];
    LoadFloats(args.from + at, values);
    Store<kType>(values, args.to + at);
    return;
  }
  for (size_t i = at; i < args.count; ++i) args.to[i] = Narrow<kType>(args.from[i]);
}

template <HalfType kType>
SIMT_KERNEL(kConvertThreads, 1)
WidenKernel(WidenArgs args) {
  const size_t at = FirstOfThread();
  if (at + kVectorWidth <= args.count) {
    float values[kVectorWidth];
    Load<kType>(args.from + at, values);
    StoreFloats(values, args.to + at);
    return;
  }
  for (size_t i = at; i < args.count; ++i) args.to[i] = Wide<kType>(args.from[i]);
}

}  // namespace kernels

void LaunchNarrow(Stream stream, const NarrowArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    Start("Narrow", NarrowKernel<type()>, GridOfVectors(args.count, kConvertThreads), kConvertThreads, stream,
          args);
  });
}

void LaunchWiden(Stream stream, const WidenArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    Start("Widen", WidenKernel<type()>, GridOfVectors(args.count, kConvertThreads), kConvertThreads, stream,
          args);
  });
}

}  // namespace trellis::engine::cuda
