#include "serve/engine/synthetic/synthetic_options.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serve/engine/engine_settings.h"

namespace trellis::engine {
namespace {

constexpr EngineSettings kSettings("synthetic", "batch_us=1000,depth=2");
constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostSteps = int64_t{1} << 40;
constexpr int64_t kMostTime = 3'600'000'000;  // an hour in microseconds
constexpr std::string_view kTaskNames[kTasks] = {"embed", "embed_all", "sparse", "classify"};

struct Number {
  std::string_view key;
  int64_t least, most;
  std::function<void(SyntheticOptions&, int64_t)> set;
};

template <typename T>
Number Option(std::string_view key, int64_t least, int64_t most, T SyntheticOptions::*field) {
  return {key, least, most,
          [field](SyntheticOptions& o, int64_t value) { o.*field = static_cast<T>(value); }};
}
Number Limit(std::string_view key, int64_t least, int64_t most, int32_t EngineLimits::*field) {
  return {key, least, most,
          [field](SyntheticOptions& o, int64_t value) { o.limits.*field = static_cast<int32_t>(value); }};
}

const std::vector<Number>& Numbers() {
  using O = SyntheticOptions;
  using L = EngineLimits;
  static const std::vector<Number> numbers = {
      Option("batch_us", 0, kMostTime, &O::batch_us),
      Option("row_us", 0, kMostTime, &O::row_us),
      Option("token_ns", 0, kMostTime, &O::token_ns),
      Limit("depth", 1, 1024, &L::max_in_flight),
      Limit("max_row_tokens", 1, kMostInt32, &L::max_row_tokens),
      Limit("max_batch_tokens", 1, kMostInt32, &L::max_batch_tokens),
      Limit("max_batch_rows", 1, kMostInt32, &L::max_batch_rows),
      Limit("vocab", 1, kMostInt32, &L::vocab_size),
      Limit("type_vocab", 1, kMostInt32, &L::type_vocab_size),
      Limit("dimensions", 1, 1 << 16, &L::dimensions),
      Limit("labels", 1, 1 << 16, &L::labels),
      Option("fail_row_id", -1, kMostInt32, &O::fail_row_id),
      Option("fail_batch_id", -1, kMostInt32, &O::fail_batch_id),
      Option("nonfinite_id", -1, kMostInt32, &O::nonfinite_id),
      Option("fail_step", 0, kMostSteps, &O::fail_step),
      Option("throw_step", 0, kMostSteps, &O::throw_step),
      Option("throw_wait", 0, kMostSteps, &O::throw_wait),
      Option("die_after", 0, kMostSteps, &O::die_after),
      Option("die_during", 0, kMostSteps, &O::die_during),
  };
  return numbers;
}

std::string KnownKeys() {
  std::string known;
  for (const Number& number : Numbers()) absl::StrAppend(&known, std::string(number.key), ", ");
  return absl::StrCat(known, "tasks or model");
}

absl::Status SetTasks(std::string_view value, SyntheticOptions& options) {
  std::fill(std::begin(options.limits.tasks), std::end(options.limits.tasks), false);
  for (std::string_view rest = value;;) {
    const size_t plus = rest.find('+');
    const std::string_view name = rest.substr(0, plus);
    const auto found = std::find(std::begin(kTaskNames), std::end(kTaskNames), name);
    if (found == std::end(kTaskNames)) {
      return kSettings.Invalid("tasks", value,
                               "embed, embed_all, sparse and classify, any of them, joined by +");
    }
    options.limits.tasks[found - std::begin(kTaskNames)] = true;
    if (plus == std::string_view::npos) return absl::OkStatus();
    rest.remove_prefix(plus + 1);
  }
}

absl::Status SetNumber(std::string_view key, std::string_view value, SyntheticOptions& options) {
  const auto& numbers = Numbers();
  const auto found =
      std::find_if(numbers.begin(), numbers.end(), [key](const Number& n) { return n.key == key; });
  if (found == numbers.end()) return kSettings.Invalid("key", key, absl::StrCat("one of ", KnownKeys()));
  const auto number = kSettings.Number(key, value, found->least, found->most);
  if (!number.ok()) return number.status();
  found->set(options, *number);
  return absl::OkStatus();
}

}  // namespace

EngineLimits SyntheticOptions::DefaultLimits() {
  EngineLimits limits;
  limits.max_row_tokens = 512;
  limits.max_batch_tokens = 16384;
  limits.max_batch_rows = 2048;
  limits.max_in_flight = 2;
  limits.vocab_size = 250002;
  limits.type_vocab_size = 2;
  limits.dimensions = 8;
  limits.labels = 1;
  std::fill(std::begin(limits.tasks), std::end(limits.tasks), true);
  limits.model = "synthetic";
  return limits;
}

absl::StatusOr<SyntheticOptions> ParseSyntheticOptions(std::string_view spec) {
  SyntheticOptions options;
  const auto status = kSettings.ForEach(spec, [&options](std::string_view key, std::string_view value) {
    if (key == "tasks") return SetTasks(value, options);
    if (key != "model") return SetNumber(key, value, options);
    options.limits.model = std::string(value);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  const EngineLimits& limits = options.limits;
  if (limits.max_batch_tokens < limits.max_row_tokens) {
    return kSettings.Invalid("max_batch_tokens", absl::StrCat(limits.max_batch_tokens),
                             absl::StrCat("at least max_row_tokens, ", limits.max_row_tokens));
  }
  return options;
}

}  // namespace trellis::engine
