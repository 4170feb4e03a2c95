#include "serve/gateway/request_id.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "absl/strings/str_cat.h"

namespace trellis::gateway {

std::string RequestId(std::string_view from_client) {
  constexpr size_t kLongest = 128;
  const bool usable =
      !from_client.empty() && from_client.size() <= kLongest &&
      std::all_of(from_client.begin(), from_client.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (usable) return std::string(from_client);
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return absl::StrCat("req-", absl::Hex(random(), absl::kZeroPad16));
}

}  // namespace trellis::gateway
