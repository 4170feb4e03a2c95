// How long a model takes until it can encode: its source, and its compiled file mapped or copied into huge
// pages. CPU time of the process; `min` of the repetitions is what the machine can do. The file is in the
// page cache after the first time.
//   build/release/bin/load_bench [--benchmark_filter=Map]       models/multilingual-e5-small, or
//   $TRELLIS_MODEL
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "trellis/load.h"
#include "trellis/tokenizer.h"

namespace {

std::string Source() {
  const char* const named = std::getenv("TRELLIS_MODEL");
  return named != nullptr ? named : "models/multilingual-e5-small";
}

// The model compiled into a file that goes with the program.
class CompiledModel {
 public:
  CompiledModel()
      : path_(std::filesystem::temp_directory_path() / ("load_bench." + std::to_string(getpid()))) {
    const absl::StatusOr<trellis::TokenizerSpec> spec = trellis::LoadSpec(Source());
    status_ = spec.ok() ? trellis::CompileTokenizer(*spec, path_) : spec.status();
  }
  ~CompiledModel() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  static const CompiledModel& Get() {
    static const CompiledModel model;
    return model;
  }
  const std::string& path() const { return path_; }
  const absl::Status& status() const { return status_; }

 private:
  std::string path_;
  absl::Status status_;
};

void Report(benchmark::State& state, const absl::Status& status) {
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
}

void LoadSource(benchmark::State& state) {
  for (auto _ : state) Report(state, trellis::LoadTokenizer(Source()).status());
}

void MapCompiled(benchmark::State& state, bool huge_pages) {
  Report(state, CompiledModel::Get().status());
  for (auto _ : state) {
    Report(state, trellis::MapTokenizer(CompiledModel::Get().path(), {.huge_pages = huge_pages}).status());
  }
}

double Min(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

void Repeated(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->ComputeStatistics("min", Min)
      ->Repetitions(20);
  benchmark->ReportAggregatesOnly();
}
BENCHMARK(LoadSource)->Iterations(1)->Apply(Repeated);
BENCHMARK_CAPTURE(MapCompiled, Mapped, false)->Iterations(10)->Apply(Repeated);
BENCHMARK_CAPTURE(MapCompiled, HugePages, true)->Iterations(10)->Apply(Repeated);

}  // namespace
