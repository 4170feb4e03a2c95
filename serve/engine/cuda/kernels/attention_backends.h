// The ways to compute attention, of which an engine takes one for its model and its device. A new one is a
// launch function with the arguments of the others and a line in attention_backends.cc; the tests take it
// from there.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_BACKENDS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_BACKENDS_H_

#include <span>
#include <string_view>

#include "serve/engine/cuda/kernels/kernels.h"

namespace trellis::engine::cuda {

// What is known when a model is loaded.
struct AttentionShape {
  HalfType type = HalfType::kBf16;
  int heads = 0;
  int head_size = 0;
  int max_row_tokens = 0;
  int architecture = 0;  // of the device, compute capability: 80, 90, ...
};

struct AttentionBackend {
  std::string_view name;
  bool (*supports)(const AttentionShape& shape);
  void (*launch)(Stream stream, const AttentionArgs& args);
};

// The faster ones first.
std::span<const AttentionBackend> AttentionBackends();

// The first that supports the shape, or the one that is named if it does; null: none.
const AttentionBackend* ChooseAttention(const AttentionShape& shape, std::string_view name = {});

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_KERNELS_ATTENTION_BACKENDS_H_
