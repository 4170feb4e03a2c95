// How long the CPU engine takes for batches of one shape: from Step to the end of Wait, on token ids, nothing
// else running. Ids are random, which for the engine's work makes no difference. One line of JSON a shape.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "serve/engine/cpu/cpu_engine.h"

namespace trellis::engine {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

struct Shape {
  std::string name;
  std::vector<int> rows;  // tokens of each
};

// ROWSxTOKENS, or "ragged": 64 rows of 10 to 474 tokens, as many short ones as long ones on a logarithmic
// scale.
std::vector<Shape> ShapesOf(const std::vector<std::string>& names, int longest) {
  std::vector<Shape> shapes;
  for (const std::string& name : names) {
    Shape shape{name, {}};
    int rows = 0, tokens = 0;
    if (name == "ragged") {
      std::mt19937 random(1);
      for (int i = 0; i < 64; ++i) {
        const double part = static_cast<double>(random()) / 4294967296.0;
        shape.rows.push_back(std::min(longest, static_cast<int>(10 * std::pow(47.4, part))));
      }
    } else if (std::sscanf(name.c_str(), "%dx%d", &rows, &tokens) == 2 && rows > 0 && tokens > 0) {
      shape.rows.assign(static_cast<size_t>(rows), std::min(longest, tokens));
    } else {
      throw CLI::ValidationError("--shapes", name + ": expected ROWSxTOKENS or ragged");
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

struct Rows {
  std::vector<int32_t> ids, cu_seqlens{0};
  std::vector<RowTask> tasks;
  PackedBatch view() const { return {ids, {}, cu_seqlens, tasks}; }
};

Rows RowsOf(const Shape& shape, int32_t vocab_size) {
  Rows rows;
  std::mt19937 random(2);
  for (const int tokens : shape.rows) {
    for (int i = 0; i < tokens; ++i) {
      rows.ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocab_size)));
    }
    rows.cu_seqlens.push_back(static_cast<int32_t>(rows.ids.size()));
    rows.tasks.emplace_back();
  }
  return rows;
}

absl::Status Once(Engine& engine, const Rows& rows) {
  auto result = engine.Step(rows.view());
  return result.ok() ? (*result)->Wait() : result.status();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "cpu_engine_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Times the CPU engine.", "cpu_engine_bench");
  std::string engine_spec;
  std::vector<std::string> names = {"1x16", "1x128", "1x512", "32x128", "16x512", "ragged"};
  double seconds = 1;
  app.add_option("engine", engine_spec, "FOLDER[,dtype=...,threads=N]")->required();
  app.add_option("--shapes", names, "ROWSxTOKENS or ragged")->delimiter(',')->capture_default_str();
  app.add_option("--seconds", seconds, "for each shape, after one batch that is not timed")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto begin = Clock::now();
  auto engine = OpenCpuEngine(engine_spec);
  if (!engine.ok()) return Fail(engine.status());
  const EngineLimits& limits = (*engine)->limits();
  if (const auto status = Once(**engine, RowsOf({"", {5}}, limits.vocab_size)); !status.ok())
    return Fail(status);
  std::printf("{\"engine\": \"%s\", \"seconds_to_first_vector\": %.3f}\n", engine_spec.c_str(),
              Seconds(Clock::now() - begin));

  for (const Shape& shape : ShapesOf(names, limits.max_row_tokens)) {
    const Rows rows = RowsOf(shape, limits.vocab_size);
    if (const auto status = Once(**engine, rows); !status.ok()) return Fail(status);
    std::vector<double> times;
    for (double sum = 0; sum < seconds || times.size() < 3; sum += times.back()) {
      const auto start = Clock::now();
      if (const auto status = Once(**engine, rows); !status.ok()) return Fail(status);
      times.push_back(Seconds(Clock::now() - start));
    }
    std::sort(times.begin(), times.end());
    const double median = times[times.size() / 2];
    std::printf(
        "{\"shape\": \"%s\", \"tokens\": %zu, \"batches\": %zu, \"ms\": %.3f, \"least_ms\": %.3f, "
        "\"tokens_per_second\": %.0f}\n",
        shape.name.c_str(), rows.ids.size(), times.size(), median * 1e3, times.front() * 1e3,
        static_cast<double>(rows.ids.size()) / median);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace trellis::engine

int main(int argc, char** argv) {
  try {
    return trellis::engine::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_engine_bench: %s\n", error.what());
    return 1;
  }
}
