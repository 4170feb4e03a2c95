// The function between a layer's two wide products. By erf in full: cuBLASLt's own epilogue has only the form
// by tanh.
#include "serve/engine/cuda/kernels/half.h"

namespace trellis::engine::cuda {
namespace kernels {

inline constexpr int kActivateThreads = 256;

template <Curve kCurve>
SIMT_DEVICE float Activated(float x) {
  if constexpr (kCurve == Curve::kGelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  } else if constexpr (kCurve == Curve::kGeluTanh) {
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
  } else {
    return x < 0 ? 0.0f : x;  // what is not a number stays so
  }
}

template <HalfType kType, Curve kCurve>
SIMT_KERNEL(kActivateThreads, 1)
ActivateKernel(ActivateArgs args) {
  const size_t at =
      (static_cast<size_t>(BlockX()) * kActivateThreads + static_cast<size_t>(Thread())) * kVectorWidth;
  if (at + kVectorWidth <= args.count) {
    float values[kVectorWidth];
    Load<kType>(args.values + at, values);
    SIMT_UNROLL
    for (float& value : values) value = Activated<kCurve>(value);
    Store<kType>(values, args.values + at);
    return;
  }
  for (size_t i = at; i < args.count; ++i)
    args.values[i] = Narrow<kType>(Activated<kCurve>(Wide<kType>(args.values[i])));
}

}  // namespace kernels

void LaunchActivate(Stream stream, const ActivateArgs& args) {
  using namespace kernels;
  WithType(args.type, [&](auto type) {
    const Grid grid = GridOfVectors(args.count, kActivateThreads);
    switch (args.curve) {
      case Curve::kGelu:
        return Start("Activate", ActivateKernel<type(), Curve::kGelu>, grid, kActivateThreads, stream, args);
      case Curve::kGeluTanh:
        return Start("Activate", ActivateKernel<type(), Curve::kGeluTanh>, grid, kActivateThreads, stream,
                     args);
      case Curve::kRelu:
        return Start("Activate", ActivateKernel<type(), Curve::kRelu>, grid, kActivateThreads, stream, args);
    }
  });
}

}  // namespace trellis::engine::cuda
