#include "bench/serve/batch_commands.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace trellis::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

absl::Status Once(Engine& engine, const Rows& rows) {
  auto result = engine.Step(rows.view());
  return result.ok() ? (*result)->Wait() : result.status();
}

absl::Status WriteVectors(Engine& engine, const Rows& rows, const std::string& path) {
  auto result = engine.Step(rows.view());
  if (!result.ok()) return result.status();
  if (auto status = (*result)->Wait(); !status.ok()) return status;
  std::ofstream out(path, std::ios::binary);
  for (size_t row = 0; row < rows.tasks.size(); ++row) {
    const auto values = (*result)->row(row).values;
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size_bytes()));
  }
  out.flush();
  return out ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; std::getline(in, word, '\t');) words.push_back(word);
  return words;
}

}  // namespace

void Rows::Add(const std::vector<int32_t>& row) {
  ids.insert(ids.end(), row.begin(), row.end());
  cu_seqlens.push_back(static_cast<int32_t>(ids.size()));
  tasks.emplace_back();
}

absl::StatusOr<Timing> Time(Engine& engine, const Rows& rows, double seconds, int least_runs) {
  struct Run {
    double wall, cpu;
  };
  std::vector<Run> runs;
  for (double sum = 0; sum < seconds || runs.size() < static_cast<size_t>(least_runs);) {
    const auto start = Clock::now();
    const double cpu = ProcessSeconds();
    if (const auto status = Once(engine, rows); !status.ok()) return status;
    const double wall = std::chrono::duration<double>(Clock::now() - start).count();
    runs.push_back({wall, ProcessSeconds() - cpu});
    sum += wall;
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.wall < b.wall; });
  return Timing{static_cast<int>(runs.size()), runs.front().wall, runs[runs.size() / 2].wall,
                runs.front().cpu};
}

absl::StatusOr<std::map<std::string, Rows>> ReadBatches(const std::string& path) {
  std::ifstream in(path);
  std::map<std::string, Rows> batches;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    std::vector<int32_t> row;
    words >> name;
    for (int32_t id = 0; words >> id;) row.push_back(id);
    if (name.empty() || row.empty() || !words.eof()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": \"", line.substr(0, 40), "\", expected a name and token ids"));
    }
    batches[name].Add(row);
  }
  if (batches.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": no batch, expected one a line"));
  return batches;
}

absl::Status RunCommands(Engine& engine, const std::map<std::string, Rows>& batches) {
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> words = WordsOf(line);
    const auto batch = words.size() < 2 ? batches.end() : batches.find(words[1]);
    if (batch == batches.end()) {
      return absl::InvalidArgumentError(absl::StrCat("stdin: \"", line, "\", expected a batch of the file"));
    }
    if (words[0] == "vectors" && words.size() == 3) {
      if (auto status = WriteVectors(engine, batch->second, words[2]); !status.ok()) return status;
      std::printf("{\"vectors\": %zu}\n", batch->second.tasks.size());
    } else if (words[0] == "warm") {
      if (auto status = Once(engine, batch->second); !status.ok()) return status;
      std::printf("{\"warm\": \"%s\"}\n", words[1].c_str());
    } else if (words[0] == "time" && words.size() == 4) {
      const auto timing = Time(engine, batch->second, std::strtod(words[3].c_str(), nullptr), 1);
      if (!timing.ok()) return timing.status();
      std::printf("{\"runs\": %d, \"least\": %.9f, \"median\": %.9f, \"cpu\": %.9f}\n", timing->runs,
                  timing->least, timing->median, timing->cpu);
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "stdin: \"", line, "\", expected vectors NAME FILE, warm NAME or time NAME PACKING S"));
    }
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace trellis::engine
