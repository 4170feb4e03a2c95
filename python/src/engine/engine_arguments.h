// What Python says of an engine and of a call, checked: ValueError names the argument and what was expected.
#ifndef TRELLIS_PYTHON_ENGINE_ENGINE_ARGUMENTS_H_
#define TRELLIS_PYTHON_ENGINE_ENGINE_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "python/src/texts.h"
#include "serve/engine/cpu/cpu_options.h"
#include "serve/engine/engine.h"

namespace trellis::python {

engine::CpuEngineOptions OptionsOf(const std::filesystem::path& folder, const std::string& dtype,
                                   int threads);
// What a command line says of it in one word: (folder, dtype, threads).
nanobind::tuple ParseOptions(const std::string& spec);

engine::Pooling PoolingOf(const std::string& name);
// Each of them a pair, or none.
void CheckThatPairs(const Texts& texts, bool pairs);
void CheckAtLeast(int64_t least, const std::optional<int64_t>& value, const char* name);

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENGINE_ENGINE_ARGUMENTS_H_
