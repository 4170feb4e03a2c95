// What a synthetic engine answers: arithmetic simple enough to be done by hand in a test.
//
//   checksum(row)  = the sum over its tokens t = 0, 1, ... of (t + 1) * (id + 1 + 7919 * type), modulo P
//   value(c, j)    = 2 * ((6700417 * c + 3000017 * j) mod P) / P - 1, as float
//   P              = 16777213
//
//   kEmbed      value(checksum + 31 * pooling, j) for each dimension j
//   kEmbedAll   for each token the same with the checksum of the row up to and with it, pooling left out
//   kSparse     each id that occurs, ascending; its weight is how often
//   kClassify   value(checksum, j) for each label j
//
// kEmbed and kEmbedAll are scaled to length 1 for Normalize::kL2. A row's values depend on nothing but the
// row.
#ifndef TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_VALUES_H_
#define TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_VALUES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "serve/engine/engine.h"

namespace trellis::engine {

struct SyntheticRow {
  std::vector<float> values;
  std::vector<int32_t> indices;
};

// `type_ids` may be empty.
SyntheticRow SyntheticValues(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
                             const RowTask& task, const EngineLimits& limits);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_SYNTHETIC_SYNTHETIC_VALUES_H_
