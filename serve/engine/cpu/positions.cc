#include "serve/engine/cpu/positions.h"

namespace trellis::engine::cpu {

void PositionsOf(std::span<const int32_t> ids, const ModelConfig& config, std::span<int32_t> out) {
  int32_t next = config.position_offset;
  for (size_t t = 0; t < ids.size(); ++t) {
    const bool skip = config.positions == Positions::kSkipPadding && ids[t] == config.pad_token_id;
    out[t] = skip ? config.pad_token_id : next++;
  }
}

}  // namespace trellis::engine::cpu
