#include "serve/engine/cpu/cpu_options.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "serve/engine/engine_settings.h"

namespace trellis::engine {
namespace {

constexpr EngineSettings kSettings("cpu", "dtype=bf16,threads=2");
constexpr int kMostThreads = 1024;

absl::Status Set(std::string_view key, std::string_view value, CpuEngineOptions& options) {
  if (key == "dtype") {
    if (value == "auto") {
      options.precision.reset();
      return absl::OkStatus();
    }
    for (const cpu::Precision precision :
         {cpu::Precision::kF32, cpu::Precision::kBf16, cpu::Precision::kInt8}) {
      if (value != cpu::NameOf(precision)) continue;
      options.precision = precision;
      return absl::OkStatus();
    }
    return kSettings.Invalid(key, value, "auto, f32, bf16 or int8");
  }
  if (key == "threads") {
    const auto number = kSettings.Number(key, value, 1, kMostThreads);
    if (!number.ok()) return number.status();
    options.threads = static_cast<int>(*number);
    return absl::OkStatus();
  }
  return kSettings.Invalid("key", key, "dtype or threads");
}

}  // namespace

cpu::Precision DefaultPrecision() {
  return cpu::Supports(cpu::Precision::kBf16).ok() ? cpu::Precision::kBf16 : cpu::Precision::kF32;
}

int DefaultThreads() {
  cpu_set_t allowed;
  const int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                        ? CPU_COUNT(&allowed)
                        : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, kMostThreads);
}

absl::StatusOr<CpuEngineOptions> ParseCpuEngineOptions(std::string_view spec) {
  auto folder = kSettings.TakeFolder(spec);
  if (!folder.ok()) return folder.status();
  CpuEngineOptions options;
  options.folder = *std::move(folder);
  const auto status = kSettings.ForEach(
      spec, [&options](std::string_view key, std::string_view value) { return Set(key, value, options); });
  if (!status.ok()) return status;
  return options;
}

}  // namespace trellis::engine
