#include "trellis/internal/text/hf_properties.h"

#include "src/text/hf_tables.h"

namespace trellis::internal {
namespace {

std::vector<uint32_t> Entries() {
  std::vector<uint32_t> entries(kMaxCodePoint + 1, 0);
  for (const HfRun& run : kHfRuns) {
    for (uint32_t c = run.first; c <= run.last; ++c) entries[c] = run.entry;
  }
  return entries;
}

std::vector<int32_t> Distances() {
  std::vector<int32_t> distances(kMaxCodePoint + 1, 0);
  for (const LowercaseRun& run : kLowercaseRuns) {
    for (uint32_t c = run.first; c <= run.last; c += run.step) distances[c] = run.distance;
  }
  return distances;
}

}  // namespace

HfProperties::HfProperties() : entries_(Entries()), lowercase_(Distances()) {}

const HfProperties& HfProperties::Get() {
  static const HfProperties properties;
  return properties;
}

}  // namespace trellis::internal
