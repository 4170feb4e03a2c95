// A row's token vectors as one vector, and its length.
#ifndef TRELLIS_SERVE_ENGINE_CPU_POOLING_H_
#define TRELLIS_SERVE_ENGINE_CPU_POOLING_H_

#include <span>
#include <vector>

#include "serve/engine/engine.h"

namespace trellis::engine::cpu {

// `states` is [tokens, hidden]; `pooling` is not kModel.
std::vector<float> Pool(Pooling pooling, std::span<const float> states, int hidden);

// To length 1; a vector of zeros stays what it is.
void ScaleToOne(std::span<float> vector);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_POOLING_H_
