// Which row of the position table each token has: known from ids alone, for engines on any device.
#ifndef TRELLIS_SERVE_ENGINE_CPU_POSITIONS_H_
#define TRELLIS_SERVE_ENGINE_CPU_POSITIONS_H_

#include <cstdint>
#include <span>

#include "serve/engine/model_config.h"

namespace trellis::engine::cpu {

// The position of each token of one row; `out` has as many places as `ids`.
void PositionsOf(std::span<const int32_t> ids, const ModelConfig& config, std::span<int32_t> out);

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_POSITIONS_H_
