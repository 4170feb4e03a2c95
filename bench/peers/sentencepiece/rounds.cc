#include "rounds.h"

#include <simdjson.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>

// Counts what the whole program allocates, C++ and C alike. One thread is measured, so a plain counter is
// enough and costs the peer nothing that could be seen.
static uint64_t allocations = 0;
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++allocations;
  return __libc_realloc(memory, size);
}
}

namespace peers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFreshPasses = 9;
constexpr double kWarmUpSeconds = 0.05;
constexpr double kMeasuredSeconds = 0.25;
constexpr double kFewestSamples = 31;
constexpr double kMostSamples = 20000;
// Calls shorter than so many readings of the clock are timed several at once.
constexpr double kClockCosts = 20;

struct Label {
  std::string name;
  std::vector<std::string> texts;
};

// One label's samples, and `total`: the time of all its texts once.
struct Measured {
  std::vector<double> microseconds;
  double total = 0;
  size_t tokens = 0;
  double allocations = 0;
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

// Labels in the order of their first text.
std::vector<Label> ReadTexts(const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::dom::array pairs;
  const auto error = parser.load(path).get(pairs);
  if (error) Fail(path + ": " + simdjson::error_message(error));
  std::vector<Label> labels;
  std::map<std::string, size_t, std::less<>> index;
  for (simdjson::dom::array pair : pairs) {
    const std::string_view name = pair.at(0), text = pair.at(1);
    const auto [at, is_new] = index.emplace(name, labels.size());
    if (is_new) labels.push_back({std::string(name), {}});
    labels[at->second].texts.emplace_back(text);
  }
  return labels;
}

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What two readings of the clock with nothing between them cost; taken off every sample.
double ClockCost() {
  double least = 1e9;
  for (int i = 0; i < 10000; ++i) {
    const double cost = SecondsSince(Clock::now()) * 1e6;
    if (cost > 0) least = std::min(least, cost);
  }
  return least;
}

// Microseconds of one call; of `calls` calls timed together, the mean.
double Time(const Encode& encode, const std::string& text, std::vector<int>& ids, int calls,
            double clock_cost) {
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) encode(text, ids);
  return std::max(0.0, SecondsSince(begin) * 1e6 - clock_cost) / calls;
}

double Percentile(const std::vector<double>& sorted, size_t percent) {
  return sorted[std::min(sorted.size() * percent / 100, sorted.size() - 1)];
}

Measured Repeated(const Encode& encode, const Label& label) {
  const double clock = ClockCost();
  Measured measured;
  std::vector<int> ids;
  for (const std::string& text : label.texts) {
    int calls = 0;
    const auto begin = Clock::now();
    while (calls < 3 || SecondsSince(begin) < kWarmUpSeconds) {
      encode(text, ids);
      ++calls;
    }
    const double each = SecondsSince(begin) / calls;
    const int together = std::max(1, static_cast<int>(std::ceil(kClockCosts * clock / (each * 1e6))));
    std::vector<double> times(
        static_cast<size_t>(std::clamp(kMeasuredSeconds / each / together, kFewestSamples, kMostSamples)));
    const uint64_t before = allocations;
    for (double& time : times) time = Time(encode, text, ids, together, clock);
    measured.allocations += static_cast<double>(allocations - before) / static_cast<double>(times.size()) /
                            together / static_cast<double>(label.texts.size());
    measured.tokens += ids.size();
    std::sort(times.begin(), times.end());
    measured.total += Percentile(times, 50);
    measured.microseconds.insert(measured.microseconds.end(), times.begin(), times.end());
  }
  return measured;
}

// Of each label the median pass.
std::vector<Measured> Fresh(const Encode& encode, const std::vector<Label>& labels, int passes) {
  const double clock = ClockCost();
  size_t longest = 0;
  for (const Label& label : labels) longest = std::max(longest, label.texts.size());
  std::vector<std::vector<Measured>> all(labels.size(), std::vector<Measured>(passes));
  for (size_t i = 0; i < labels.size(); ++i) {
    for (Measured& pass : all[i]) pass.microseconds.reserve(labels[i].texts.size());
  }
  std::vector<int> ids;
  for (int pass = 0; pass < passes; ++pass) {
    for (size_t turn = 0; turn < longest; ++turn) {
      for (size_t i = 0; i < labels.size(); ++i) {
        const auto& texts = labels[i].texts;
        if (turn >= texts.size()) continue;
        Measured& measured = all[i][pass];
        const uint64_t before = allocations;
        const double spent = Time(encode, texts[turn], ids, 1, clock);
        measured.allocations += static_cast<double>(allocations - before) / static_cast<double>(texts.size());
        measured.microseconds.push_back(spent);
        measured.total += spent;
        measured.tokens += ids.size();
      }
    }
  }
  std::vector<Measured> medians;
  for (auto& of_label : all) {
    const auto middle = of_label.begin() + passes / 2;
    std::nth_element(of_label.begin(), middle, of_label.end(),
                     [](const Measured& a, const Measured& b) { return a.total < b.total; });
    medians.push_back(*middle);
  }
  return medians;
}

void Report(const Label& label, const Measured& measured) {
  std::vector<double> sorted = measured.microseconds;
  std::sort(sorted.begin(), sorted.end());
  size_t bytes = 0;
  for (const auto& text : label.texts) bytes += text.size();
  std::printf(
      "{\"label\":\"%s\",\"texts\":%zu,\"tokens\":%zu,\"bytes\":%zu,\"p50_us\":%.4f,\"p99_us\":%.4f,"
      "\"us_per_512_tokens\":%.4f,\"allocations\":%.1f}\n",
      label.name.c_str(), label.texts.size(), measured.tokens, bytes, Percentile(sorted, 50),
      Percentile(sorted, 99),
      measured.total * 512 / static_cast<double>(std::max<size_t>(measured.tokens, 1)), measured.allocations);
}

[[noreturn]] void Usage(const char* program, const std::vector<std::string_view>& variants) {
  std::string names;
  for (auto variant : variants) names += (names.empty() ? "" : "|") + std::string(variant);
  std::fprintf(
      stderr,
      "usage: %s MODEL TEXTS.json --mode repeated|fresh|once|ids [--iterations N] [--variant %s]\n"
      "TEXTS.json is [[label, text], ...]; `ids` prints the ids of one text a line; with --iterations, "
      "`repeated` encodes each text N times and prints nothing\n",
      program, names.c_str());
  std::exit(2);
}

}  // namespace

int Run(int argc, char** argv, const std::vector<std::string_view>& variants, const Load& load) {
  std::vector<std::string> positional;
  std::string mode, variant(variants.front());
  int iterations = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--mode" && has_value) {
      mode = argv[++i];
    } else if (argument == "--iterations" && has_value) {
      iterations = std::atoi(argv[++i]);
    } else if (argument == "--variant" && has_value) {
      variant = argv[++i];
    } else {
      positional.push_back(argument);
    }
  }
  const bool variant_known = std::find(variants.begin(), variants.end(), variant) != variants.end();
  if (positional.size() != 2 || !variant_known) Usage(argv[0], variants);
  const auto labels = ReadTexts(positional[1]);
  const Encode encode = load(positional[0], variant);
  std::vector<int> ids;
  if (mode == "ids") {
    for (const Label& label : labels) {
      for (const auto& text : label.texts) {
        encode(text, ids);
        for (size_t i = 0; i < ids.size(); ++i) std::printf(i == 0 ? "%d" : " %d", ids[i]);
        std::printf("\n");
      }
    }
  } else if (mode == "repeated" && iterations > 0) {
    for (const Label& label : labels) {
      for (const auto& text : label.texts) {
        for (int i = 0; i < iterations; ++i) encode(text, ids);
      }
    }
  } else if (mode == "repeated") {
    for (const Label& label : labels) Report(label, Repeated(encode, label));
  } else if (mode == "fresh" || mode == "once") {
    const auto medians = Fresh(encode, labels, mode == "once" ? 1 : kFreshPasses);
    for (size_t i = 0; i < labels.size(); ++i) Report(labels[i], medians[i]);
  } else {
    Usage(argv[0], variants);
  }
  return 0;
}

}  // namespace peers
