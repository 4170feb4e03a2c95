// How long the CPU engine takes for batches of one shape: from Step to the end of Wait, on token ids, nothing
// else running. Ids are random, which for the engine's work makes no difference. One line of JSON a shape.
// With --batches it is driven from outside instead: batch_commands.h.
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
#include "bench/serve/batch_commands.h"
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

Rows RowsOf(const Shape& shape, int32_t vocab_size) {
  Rows rows;
  std::mt19937 random(2);
  for (const int tokens : shape.rows) {
    std::vector<int32_t> row;
    for (int i = 0; i < tokens; ++i) {
      row.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocab_size)));
    }
    rows.Add(row);
  }
  return rows;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "cpu_engine_bench: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Times the CPU engine.", "cpu_engine_bench");
  std::string engine_spec, batches_path;
  std::vector<std::string> names = {"1x16", "1x128", "1x512", "32x128", "16x512", "ragged"};
  double seconds = 1;
  app.add_option("engine", engine_spec, "FOLDER[,dtype=...,threads=N]")->required();
  app.add_option("--shapes", names, "ROWSxTOKENS or ragged")->delimiter(',')->capture_default_str();
  app.add_option("--seconds", seconds, "for each shape, after one batch that is not timed")
      ->capture_default_str();
  app.add_option("--batches", batches_path, "a file of batches: in place of shapes, commands on stdin");
  CLI11_PARSE(app, argc, argv);

  const auto begin = Clock::now();
  auto engine = OpenCpuEngine(engine_spec);
  if (!engine.ok()) return Fail(engine.status());
  const EngineLimits& limits = (*engine)->limits();
  if (const auto first = Time(**engine, RowsOf({"", {5}}, limits.vocab_size), 0, 1); !first.ok())
    return Fail(first.status());
  std::printf("{\"engine\": \"%s\", \"load\": %.3f}\n", engine_spec.c_str(), Seconds(Clock::now() - begin));
  std::fflush(stdout);
  if (!batches_path.empty()) {
    const auto batches = ReadBatches(batches_path);
    if (!batches.ok()) return Fail(batches.status());
    const auto status = RunCommands(**engine, *batches);
    return status.ok() ? 0 : Fail(status);
  }

  for (const Shape& shape : ShapesOf(names, limits.max_row_tokens)) {
    const Rows rows = RowsOf(shape, limits.vocab_size);
    if (const auto warm = Time(**engine, rows, 0, 1); !warm.ok()) return Fail(warm.status());
    const auto timing = Time(**engine, rows, seconds, 3);
    if (!timing.ok()) return Fail(timing.status());
    std::printf(
        "{\"shape\": \"%s\", \"tokens\": %zu, \"batches\": %d, \"ms\": %.3f, \"least_ms\": %.3f, "
        "\"cpu_ms\": %.3f, \"tokens_per_second\": %.0f}\n",
        shape.name.c_str(), rows.ids.size(), timing->runs, timing->median * 1e3, timing->least * 1e3,
        timing->cpu * 1e3, static_cast<double>(rows.ids.size()) / timing->median);
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
