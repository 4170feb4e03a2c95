#include "serve/engine/cuda/cuda_options.h"

#include <charconv>
#include <optional>
#include <set>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

// More than any model's longest row, and so few that no size overflows.
constexpr int32_t kMostTokens = 1 << 20;
constexpr int kMostDevice = 1023;

absl::Status Invalid(std::string_view key, std::string_view value, const std::string& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("cuda: ", std::string(key), ": \"", std::string(value), "\", expected ", expected));
}

std::optional<int32_t> NumberIn(std::string_view text, int32_t least, int32_t most) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    return std::nullopt;
  }
  return number;
}

absl::Status SetNumber(std::string_view key, std::string_view value, int32_t least, int32_t most,
                       int32_t& to) {
  const auto number = NumberIn(value, least, most);
  if (!number) return Invalid(key, value, absl::StrCat("a whole number from ", least, " to ", most));
  to = *number;
  return absl::OkStatus();
}

absl::Status SetWarmUp(std::string_view value, CudaEngineOptions& options) {
  for (std::string_view rest = value;;) {
    const size_t plus = rest.find('+');
    const std::string_view size = rest.substr(0, plus);
    const size_t times = size.find('x');
    const auto rows = NumberIn(size.substr(0, times), 1, kMostTokens);
    const auto tokens = times == std::string_view::npos
                            ? std::nullopt
                            : NumberIn(size.substr(times + 1), rows.value_or(1), kMostTokens);
    if (!rows || !tokens) {
      return Invalid("warm_up", value,
                     "ROWSxTOKENS joined by +, as in 1x128+32x4096, no fewer tokens than rows");
    }
    options.warm_up.push_back({*rows, *tokens});
    if (plus == std::string_view::npos) return absl::OkStatus();
    rest.remove_prefix(plus + 1);
  }
}

absl::Status Set(std::string_view key, std::string_view value, CudaEngineOptions& options) {
  if (key == "device") return SetNumber(key, value, 0, kMostDevice, options.device);
  if (key == "max_batch_tokens") return SetNumber(key, value, 1, kMostTokens, options.max_batch_tokens);
  if (key == "warm_up") return SetWarmUp(value, options);
  if (key == "attention") {
    options.attention = std::string(value);
    return absl::OkStatus();
  }
  if (key == "dtype") {
    if (value != "auto" && value != "bf16" && value != "fp16")
      return Invalid(key, value, "auto, bf16 or fp16");
    options.type = value == "fp16" ? HalfType::kF16 : HalfType::kBf16;
    return absl::OkStatus();
  }
  return Invalid("key", key, "device, dtype, max_batch_tokens, attention or warm_up");
}

}  // namespace

absl::StatusOr<CudaEngineOptions> ParseCudaEngineOptions(std::string_view spec) {
  CudaEngineOptions options;
  const size_t first = spec.find(',');
  options.folder = std::string(spec.substr(0, first));
  if (options.folder.empty()) {
    return Invalid("folder", "", "a model's folder, as in cuda:FOLDER,device=0,dtype=fp16");
  }
  std::set<std::string_view> seen;
  spec.remove_prefix(first == std::string_view::npos ? spec.size() : first + 1);
  while (!spec.empty()) {
    const size_t comma = spec.find(',');
    const std::string_view setting = spec.substr(0, comma);
    spec.remove_prefix(comma == std::string_view::npos ? spec.size() : comma + 1);
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos) return Invalid("setting", setting, "key=value, as in device=0");
    const std::string_view key = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (!seen.insert(key).second) return Invalid(key, value, "each key once");
    if (auto status = Set(key, value, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace trellis::engine::cuda
