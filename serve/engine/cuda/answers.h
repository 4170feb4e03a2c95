// Where a batch's answers lie, on the GPU and in pinned memory alike, and a row's values of them.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_ANSWERS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "serve/engine/cuda/forward.h"
#include "serve/engine/engine.h"

namespace trellis::engine::cuda {

inline size_t FloatBytes(int64_t count, int64_t width) {
  return static_cast<size_t>(count * width) * sizeof(float);
}

// Each kind at a place of its own, as long as the largest batch makes it. All are floats.
struct AnswerLayout {
  int32_t embed_size = 0, token_size = 0, labels = 0;  // 0: the model has no such answers
  bool token_weights = false;
  size_t vectors = 0;        // [rows][embed_size]
  size_t logits = 0;         // [rows][labels]
  size_t weights = 0;        // [tokens]
  size_t token_vectors = 0;  // [tokens][token_size]
  size_t bytes = 0;

  // The places, of what the model has.
  void Place(int64_t rows, int64_t tokens);
};

// On any thread, once the copy is there.
std::vector<RowAnswer> ReadAnswers(const AnswerLayout& layout, const PackedBatch& batch,
                                   std::span<const std::byte> pinned);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_ANSWERS_H_
