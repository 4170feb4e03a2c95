#include "serve/engine/cuda/cuda_options.h"

#include <utility>

#include "absl/status/status.h"
#include "serve/engine/engine_settings.h"

namespace trellis::engine::cuda {
namespace {

constexpr EngineSettings kSettings("cuda", "device=0,dtype=fp16");
// More than any model's longest row, and so few that no size overflows.
constexpr int32_t kMostTokens = 1 << 20;
constexpr int kMostDevice = 1023;

absl::Status SetNumber(std::string_view key, std::string_view value, int32_t least, int32_t most,
                       int32_t& to) {
  const auto number = kSettings.Number(key, value, least, most);
  if (!number.ok()) return number.status();
  to = static_cast<int32_t>(*number);
  return absl::OkStatus();
}

absl::Status SetWarmUp(std::string_view value, CudaEngineOptions& options) {
  for (std::string_view rest = value;;) {
    const size_t plus = rest.find('+');
    const std::string_view size = rest.substr(0, plus);
    const size_t times = size.find('x');
    int64_t rows = 0, tokens = 0;
    if (!ParseWhole(size.substr(0, times), 1, kMostTokens, rows) || times == std::string_view::npos ||
        !ParseWhole(size.substr(times + 1), rows, kMostTokens, tokens)) {
      return kSettings.Invalid("warm_up", value,
                               "ROWSxTOKENS joined by +, as in 1x128+32x4096, no fewer tokens than rows");
    }
    options.warm_up.push_back({static_cast<int32_t>(rows), static_cast<int32_t>(tokens)});
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
      return kSettings.Invalid(key, value, "auto, bf16 or fp16");
    options.type = value == "fp16" ? HalfType::kF16 : HalfType::kBf16;
    return absl::OkStatus();
  }
  return kSettings.Invalid("key", key, "device, dtype, max_batch_tokens, attention or warm_up");
}

}  // namespace

absl::StatusOr<CudaEngineOptions> ParseCudaEngineOptions(std::string_view spec) {
  auto folder = kSettings.TakeFolder(spec);
  if (!folder.ok()) return folder.status();
  CudaEngineOptions options;
  options.folder = *std::move(folder);
  const auto status = kSettings.ForEach(
      spec, [&options](std::string_view key, std::string_view value) { return Set(key, value, options); });
  if (!status.ok()) return status;
  return options;
}

}  // namespace trellis::engine::cuda
