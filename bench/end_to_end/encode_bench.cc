#include "bench/end_to_end/encode_bench.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "bench/end_to_end/allocation_count.h"
#include "bench/end_to_end/call_timer.h"

namespace trellis::bench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kReportedTokens = 512;

// Repeated: how long, and how many samples at least and at most.
constexpr double kWarmUpMicroseconds = 50e3;
constexpr double kSamplingMicroseconds = 400e3;
constexpr size_t kLeastSamples = 300;
constexpr size_t kMostSamples = 20000;
// A sample is at least so many times as long as the clock's cost: shorter
// calls are timed several at once.
constexpr double kClockCosts = 20;

double PerReportedTokens(double microseconds, uint64_t tokens) {
  return tokens == 0 ? kNan : microseconds * kReportedTokens / static_cast<double>(tokens);
}

// For texts that were encoded once without an error. The call is virtual and
// writes to memory: the compiler cannot leave it out.
void EncodeAgain(LabelEncoder& encoder, std::string_view text) { (void)encoder.Encode(text); }

// Samples of one text in a loop.
std::vector<double> SampleRepeated(LabelEncoder& encoder, std::string_view text, double clock_cost) {
  const double start = NowMicroseconds();
  size_t warm_calls = 0;
  do {
    EncodeAgain(encoder, text);
    ++warm_calls;
  } while (NowMicroseconds() - start < kWarmUpMicroseconds || warm_calls < 3);
  const double estimate = (NowMicroseconds() - start) / static_cast<double>(warm_calls);
  const auto batch = static_cast<size_t>(std::max(1.0, std::ceil(kClockCosts * clock_cost / estimate)));
  std::vector<double> samples;
  const double sampling_start = NowMicroseconds();
  while (samples.size() < kLeastSamples ||
         (samples.size() < kMostSamples && NowMicroseconds() - sampling_start < kSamplingMicroseconds)) {
    const double begin = NowMicroseconds();
    for (size_t i = 0; i < batch; ++i) EncodeAgain(encoder, text);
    const double spent = NowMicroseconds() - begin - clock_cost;
    samples.push_back(std::max(0.0, spent) / static_cast<double>(batch));
  }
  return samples;
}

}  // namespace

absl::StatusOr<std::vector<LabelResult>> BenchRepeated(const TextPath& path, Columns columns,
                                                       const std::vector<LabelledTexts>& labels) {
  const double clock_cost = ClockCostMicroseconds();
  std::vector<LabelResult> results;
  for (const LabelledTexts& label : labels) {
    LabelEncoder encoder(path, columns, label.texts);
    LabelResult result = {.label = label.label, .texts = label.texts.size()};
    std::vector<double> all;
    double sum_of_medians = 0;
    uint64_t allocations = 0, counted_calls = 0;
    for (size_t i = 0; i < label.texts.size(); ++i) {
      const std::string& text = label.texts[i];
      absl::StatusOr<Encoding> encoding = encoder.Encode(text);
      if (!encoding.ok()) return Located(encoding.status(), label.label, i);
      result.tokens += encoding->ids.size();
      result.bytes += text.size();
      std::vector<double> samples = SampleRepeated(encoder, text, clock_cost);
      // Counted apart: the samples' own memory must not be in it.
      constexpr uint64_t kCounted = 10;
      const uint64_t before = AllocationCount();
      for (uint64_t call = 0; call < kCounted; ++call) EncodeAgain(encoder, text);
      allocations += AllocationCount() - before;
      counted_calls += kCounted;
      sum_of_medians += Quantile(samples, 0.5);
      all.insert(all.end(), samples.begin(), samples.end());
    }
    result.p50_us = Quantile(all, 0.5);
    result.p99_us = Quantile(all, 0.99);
    result.us_per_512_tokens = PerReportedTokens(sum_of_medians, result.tokens);
    result.allocations = static_cast<double>(allocations) / static_cast<double>(counted_calls);
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<std::vector<LabelResult>> LoopRepeated(const TextPath& path, Columns columns,
                                                      const std::vector<LabelledTexts>& labels,
                                                      uint64_t iterations) {
  std::vector<LabelResult> results;
  for (const LabelledTexts& label : labels) {
    LabelEncoder encoder(path, columns, label.texts);
    LabelResult result = {.label = label.label, .texts = label.texts.size()};
    result.p50_us = result.p99_us = result.us_per_512_tokens = kNan;
    const uint64_t before = AllocationCount();
    for (size_t i = 0; i < label.texts.size(); ++i) {
      result.bytes += label.texts[i].size();
      for (uint64_t call = 0; call < iterations; ++call) {
        absl::StatusOr<Encoding> encoding = encoder.Encode(label.texts[i]);
        if (!encoding.ok()) return Located(encoding.status(), label.label, i);
        if (call == 0) result.tokens += encoding->ids.size();
      }
    }
    const uint64_t calls = iterations * label.texts.size();
    result.allocations =
        calls == 0 ? 0 : static_cast<double>(AllocationCount() - before) / static_cast<double>(calls);
    results.push_back(std::move(result));
  }
  return results;
}

absl::StatusOr<std::vector<LabelResult>> BenchFresh(const TextPath& path, Columns columns,
                                                    const std::vector<LabelledTexts>& labels, size_t passes) {
  const double clock_cost = ClockCostMicroseconds();
  struct LabelState {
    std::unique_ptr<LabelEncoder> encoder;
    std::vector<std::vector<double>> calls;  // [pass][text]
    std::vector<uint64_t> allocations;       // [pass]
    LabelResult result;
  };
  std::vector<LabelState> states;
  size_t most_texts = 0;
  for (const LabelledTexts& label : labels) {
    LabelState state;
    state.encoder = std::make_unique<LabelEncoder>(path, columns, label.texts);
    state.calls.assign(passes, std::vector<double>(label.texts.size()));
    state.allocations.assign(passes, 0);
    state.result = {.label = label.label, .texts = label.texts.size()};
    for (const std::string& text : label.texts) state.result.bytes += text.size();
    most_texts = std::max(most_texts, label.texts.size());
    states.push_back(std::move(state));
  }
  for (size_t pass = 0; pass < passes; ++pass) {
    for (LabelState& state : states) state.encoder->ClearCache();
    for (size_t i = 0; i < most_texts; ++i) {
      for (size_t l = 0; l < labels.size(); ++l) {
        if (i >= labels[l].texts.size()) continue;
        LabelState& state = states[l];
        const uint64_t allocations = AllocationCount();
        const double begin = NowMicroseconds();
        absl::StatusOr<Encoding> encoding = state.encoder->Encode(labels[l].texts[i]);
        const double spent = NowMicroseconds() - begin - clock_cost;
        if (!encoding.ok()) return Located(encoding.status(), labels[l].label, i);
        state.allocations[pass] += AllocationCount() - allocations;
        state.calls[pass][i] = std::max(0.0, spent);
        if (pass == 0) state.result.tokens += encoding->ids.size();
      }
    }
  }
  std::vector<LabelResult> results;
  for (LabelState& state : states) {
    std::vector<std::pair<double, size_t>> totals;  // and whose pass
    for (size_t pass = 0; pass < passes; ++pass) {
      totals.emplace_back(std::accumulate(state.calls[pass].begin(), state.calls[pass].end(), 0.0), pass);
    }
    std::sort(totals.begin(), totals.end());
    const auto [total, median_pass] = totals[passes / 2];
    LabelResult& result = state.result;
    result.us_per_512_tokens = PerReportedTokens(total, result.tokens);
    result.p50_us = Quantile(state.calls[median_pass], 0.5);
    result.p99_us = Quantile(state.calls[median_pass], 0.99);
    result.allocations =
        static_cast<double>(state.allocations[median_pass]) / static_cast<double>(result.texts);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trellis::bench
