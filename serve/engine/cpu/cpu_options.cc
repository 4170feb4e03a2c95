#include "serve/engine/cpu/cpu_options.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::engine {
namespace {

constexpr int kMostThreads = 1024;

absl::Status Invalid(std::string_view key, std::string_view value, const std::string& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("cpu: ", std::string(key), ": \"", std::string(value), "\", expected ", expected));
}

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
    return Invalid(key, value, "auto, f32, bf16 or int8");
  }
  if (key == "threads") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), options.threads);
    if (error != std::errc() || end != value.data() + value.size() || options.threads < 1 ||
        options.threads > kMostThreads) {
      return Invalid(key, value, absl::StrCat("a whole number from 1 to ", kMostThreads));
    }
    return absl::OkStatus();
  }
  return Invalid("key", key, "dtype or threads");
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
  CpuEngineOptions options;
  const size_t first = spec.find(',');
  options.folder = std::string(spec.substr(0, first));
  if (options.folder.empty())
    return Invalid("folder", "", "a model's folder, as in cpu:FOLDER,dtype=bf16,threads=2");
  std::set<std::string_view> seen;
  spec.remove_prefix(first == std::string_view::npos ? spec.size() : first + 1);
  while (!spec.empty()) {
    const size_t comma = spec.find(',');
    const std::string_view setting = spec.substr(0, comma);
    spec.remove_prefix(comma == std::string_view::npos ? spec.size() : comma + 1);
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos) return Invalid("setting", setting, "dtype=NAME or threads=N");
    const std::string_view key = setting.substr(0, equals), value = setting.substr(equals + 1);
    if (!seen.insert(key).second) return Invalid(key, value, "each key once");
    if (auto status = Set(key, value, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace trellis::engine
