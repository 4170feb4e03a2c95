#include "serve/engine/synthetic/synthetic_values.h"

#include <cmath>
#include <cstddef>
#include <map>

namespace trellis::engine {
namespace {

constexpr uint64_t kPrime = 16777213;
constexpr uint64_t kTypeStep = 7919;

float Value(uint64_t checksum, uint64_t j) {
  return static_cast<float>(2.0 * static_cast<double>((6700417 * checksum + 3000017 * j) % kPrime) / kPrime - 1.0);
}

void AppendVector(uint64_t checksum, int32_t size, Normalize normalize, std::vector<float>& out) {
  double length = 0;
  for (int32_t j = 0; j < size; ++j) {
    const double value = Value(checksum, static_cast<uint64_t>(j));
    length += value * value;
  }
  length = normalize == Normalize::kL2 && length > 0 ? std::sqrt(length) : 1.0;
  for (int32_t j = 0; j < size; ++j) {
    out.push_back(static_cast<float>(Value(checksum, static_cast<uint64_t>(j)) / length));
  }
}

}  // namespace

SyntheticRow SyntheticValues(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
                             const RowTask& task, const EngineLimits& limits) {
  SyntheticRow row;
  const int32_t dimensions = task.dimensions > 0 ? task.dimensions : limits.dimensions;
  uint64_t checksum = 0;
  for (size_t t = 0; t < ids.size(); ++t) {
    const uint64_t type = type_ids.empty() ? 0 : static_cast<uint64_t>(type_ids[t]);
    checksum = (checksum + (t + 1) * (static_cast<uint64_t>(ids[t]) + 1 + kTypeStep * type)) % kPrime;
    if (task.task == Task::kEmbedAll) AppendVector(checksum, dimensions, task.normalize, row.values);
  }
  if (task.task == Task::kEmbed) {
    AppendVector(checksum + 31 * static_cast<uint64_t>(task.pooling), dimensions, task.normalize, row.values);
  } else if (task.task == Task::kClassify) {
    AppendVector(checksum, limits.labels, Normalize::kNone, row.values);
  } else if (task.task == Task::kSparse) {
    std::map<int32_t, float> weights;
    for (const int32_t id : ids) weights[id] += 1.0f;
    for (const auto& [id, weight] : weights) {
      row.indices.push_back(id);
      row.values.push_back(weight);
    }
  }
  return row;
}

}  // namespace trellis::engine
