#include "serve/gateway/compute_headers.h"

#include <chrono>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {
namespace {

std::string Milliseconds(std::chrono::nanoseconds time) {
  return absl::StrCat(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ComputeHeaders(const RowCosts& costs,
                                                                const std::string& compute_type) {
  return {{"x-compute-type", compute_type},
          {"x-compute-time", Milliseconds(costs.total)},
          {"x-compute-characters", absl::StrCat(costs.characters)},
          {"x-compute-tokens", absl::StrCat(costs.tokens)},
          {"x-total-time", Milliseconds(costs.total)},
          {"x-tokenization-time", Milliseconds(costs.tokenization)},
          {"x-queue-time", Milliseconds(costs.queue)},
          {"x-inference-time", Milliseconds(costs.inference)}};
}

}  // namespace trellis::gateway
