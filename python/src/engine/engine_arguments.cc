#include "python/src/engine/engine_arguments.h"

#include <nanobind/stl/string.h>

#include "python/src/raise.h"

namespace trellis::python {

namespace nb = nanobind;

using engine::CpuEngineOptions;
using engine::cpu::Precision;

CpuEngineOptions OptionsOf(const std::filesystem::path& folder, const std::string& dtype, int threads) {
  CpuEngineOptions options;
  options.folder = folder.string();
  options.threads = threads;
  if (threads < 0 || threads > 1024) {
    throw nb::value_error(
        ("threads: " + std::to_string(threads) + ", expected a number from 0 to 1024").c_str());
  }
  if (dtype == "auto") return options;
  for (const Precision precision : {Precision::kF32, Precision::kBf16, Precision::kInt8}) {
    if (engine::cpu::NameOf(precision) == dtype) options.precision = precision;
  }
  if (!options.precision) {
    throw nb::value_error(("dtype: \"" + dtype + "\", expected auto, f32, bf16 or int8").c_str());
  }
  return options;
}

void CheckThatPairs(const Texts& texts, bool pairs) {
  for (size_t i = 0; i < texts.inputs().size(); ++i) {
    if (texts.inputs()[i].pair.has_value() == pairs) continue;
    const std::string place = (pairs ? "pairs[" : "texts[") + std::to_string(i) + "]: ";
    throw nb::value_error(
        (place + (pairs ? "one text, expected a pair" : "a pair, expected one text")).c_str());
  }
}

void CheckAtLeast(int64_t least, const std::optional<int64_t>& value, const char* name) {
  if (!value || *value >= least) return;
  throw nb::value_error(
      (std::string(name) + ": " + std::to_string(*value) + ", expected at least " + std::to_string(least))
          .c_str());
}

nb::tuple ParseOptions(const std::string& spec) {
  const CpuEngineOptions options = ValueOrRaise(engine::ParseCpuEngineOptions(spec));
  const std::string dtype = options.precision ? std::string(engine::cpu::NameOf(*options.precision)) : "auto";
  return nb::make_tuple(options.folder, dtype, options.threads);
}

engine::Pooling PoolingOf(const std::string& name) {
  if (name == "model") return engine::Pooling::kModel;
  if (name == "mean") return engine::Pooling::kMean;
  if (name == "cls") return engine::Pooling::kCls;
  if (name == "last") return engine::Pooling::kLast;
  throw nb::value_error(("pooling: \"" + name + "\", expected model, mean, cls or last").c_str());
}

}  // namespace trellis::python
