#include "serve/engine/cuda/inflection.h"

#include <algorithm>

#include "serve/engine/cuda/bucket.h"

namespace trellis::engine::cuda {
namespace {

absl::StatusOr<bool> Gains(ForwardTimes& times, int32_t tokens, Inflection& found) {
  const auto eager = times.Eager(tokens);
  if (!eager.ok()) return eager.status();
  const auto replay = times.Replay(tokens);
  if (!replay.ok()) return replay.status();
  found.probes.push_back({tokens, *eager, *replay});
  const bool gains =
      static_cast<double>(replay->count()) <= kGainAtMost * static_cast<double>(eager->count());
  if (gains) found.tokens = std::max(found.tokens, tokens);
  return gains;
}

}  // namespace

absl::StatusOr<Inflection> FindInflection(ForwardTimes& times, int32_t max_tokens) {
  Inflection found;
  const int32_t most = TokenBucket(max_tokens), smallest = TokenBucket(1);
  int32_t without = 0;  // the smallest known to gain nothing, above all that do
  int in_a_row = 0;
  for (int32_t tokens = std::min(smallest, most); in_a_row < 2;) {
    const auto gains = Gains(times, tokens, found);
    if (!gains.ok()) return gains.status();
    if (*gains) {
      in_a_row = without = 0;
    } else if (in_a_row++ == 0) {
      without = tokens;
    }
    if (tokens == most) break;
    tokens = std::min(2 * tokens, most);
  }
  while (without > found.tokens) {
    const int32_t middle = TokenBucket(found.tokens + (without - found.tokens) / 2);
    if (middle >= without || middle <= found.tokens) break;
    const auto gains = Gains(times, middle, found);
    if (!gains.ok()) return gains.status();
    if (!*gains) without = middle;
  }
  return found;
}

}  // namespace trellis::engine::cuda
