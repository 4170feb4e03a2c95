#include "serve/gateway/metrics_tei.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace trellis::gateway {
namespace {

using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

// A few, where TEI has a bucket for each number of tokens: dashboards ask for quantiles, and find them.
const Buckets kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
const Buckets kLengths = {1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
const Buckets kRows = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048};
const Buckets kBatchTokens = {16, 64, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};

double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

Histogram& NewHistogram(prometheus::Registry& registry, const std::string& name, const std::string& help,
                        const Buckets& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

prometheus::Counter& NewCounter(prometheus::Registry& registry, const std::string& name,
                                const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

size_t BucketOf(const Buckets& buckets, double value) {
  return static_cast<size_t>(std::lower_bound(buckets.begin(), buckets.end(), value) - buckets.begin());
}

// One lock for all of a batch.
void ObserveTimes(Histogram& histogram, const Buckets& buckets, double value, size_t times) {
  if (times == 1) return histogram.Observe(value);
  std::vector<double> increments(buckets.size() + 1);
  increments[BucketOf(buckets, value)] = static_cast<double>(times);
  histogram.ObserveMultiple(increments, value * static_cast<double>(times));
}

// What a route worked on, and what it would have if there had been a place. The rest never came so far: wrong
// paths and methods, no key, no JSON.
bool Counts(const RequestRecord& record) {
  return record.place == RequestRecord::Place::kHad || record.fault == Fault::kOverloaded;
}

}  // namespace

TeiMetrics::ByMethod TeiMetrics::NewByMethod(prometheus::Registry& registry, const std::string& name,
                                             const std::string& help) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  return {&family.Add({{"method", "single"}}), &family.Add({{"method", "batch"}})};
}

TeiMetrics::Durations TeiMetrics::NewDurations(prometheus::Registry& registry, const std::string& prefix,
                                               const std::string& of) {
  const auto add = [&](const char* part, const char* what) {
    return &NewHistogram(registry, prefix + part + "duration", what + of, kSeconds);
  };
  return {add("_", "Seconds of "), add("_tokenization_", "Seconds of tokenizing "),
          add("_queue_", "Seconds in the queue of "), add("_inference_", "Seconds in the engine of ")};
}

TeiMetrics::Inputs TeiMetrics::NewInputs(prometheus::Registry& registry, const std::string& prefix) {
  return {&NewCounter(registry, prefix + "_count", "Inputs."),
          &NewCounter(registry, prefix + "_success", "Inputs answered."),
          NewDurations(registry, prefix, "the request of an input that was answered.")};
}

TeiMetrics::TeiMetrics(prometheus::Registry& registry)
    : count_(NewByMethod(registry, "te_request_count", "Requests to the model's routes.")),
      success_(NewByMethod(registry, "te_request_success", "Those that were served.")),
      request_(NewDurations(registry, "te_request", "a request for rows that was answered.")),
      embed_(NewInputs(registry, "te_embed")),
      predict_(NewInputs(registry, "te_predict")),
      lengths_(&NewHistogram(registry, "te_request_input_length", "Tokens of an input.", kLengths)) {
  auto& failures = prometheus::BuildCounter()
                       .Name("te_request_failure")
                       .Help("Those that were not, by reason.")
                       .Register(registry);
  for (size_t f = 0; f <= static_cast<size_t>(Fault::kEngine); ++f) {
    const char* label = FailureLabel(static_cast<Fault>(f));
    failures_.try_emplace(label, &failures.Add({{"err", label}}));
  }
}

void TeiMetrics::Durations::Observe(const RequestRecord& record, size_t times) const {
  ObserveTimes(*total, kSeconds, Seconds(record.total), times);
  ObserveTimes(*tokenization, kSeconds, Seconds(record.tokenization), times);
  ObserveTimes(*queue, kSeconds, Seconds(record.queue), times);
  ObserveTimes(*inference, kSeconds, Seconds(record.inference), times);
}

void TeiMetrics::ObserveLengths(const RequestRecord& record) {
  if (record.cu_seqlens.size() < 2) return;
  std::vector<double> increments(kLengths.size() + 1);
  for (size_t r = 0; r + 1 < record.cu_seqlens.size(); ++r)
    increments[BucketOf(kLengths, record.cu_seqlens[r + 1] - record.cu_seqlens[r])] += 1;
  lengths_->ObserveMultiple(increments, static_cast<double>(record.tokens));
}

void TeiMetrics::RequestDone(const RequestRecord& record) {
  if (!Counts(record)) return;
  count_(record).Increment();
  const bool served = !record.fault.has_value();
  (served ? success_(record) : *failures_.at(FailureLabel(*record.fault))).Increment();
  if (record.inputs == 0) return;
  ObserveLengths(record);
  const Inputs& inputs = record.task == engine::Task::kClassify ? predict_ : embed_;
  inputs.count->Increment(static_cast<double>(record.inputs));
  if (!served) return;
  inputs.success->Increment(static_cast<double>(record.inputs));
  inputs.durations.Observe(record, record.inputs);
  request_.Observe(record, 1);
}

TeiBatchMetrics::TeiBatchMetrics(prometheus::Registry& registry, server::Observer& next)
    : next_(next),
      queue_size_(prometheus::BuildGauge()
                      .Name("te_queue_size")
                      .Help("Rows in the queue.")
                      .Register(registry)
                      .Add({})),
      batch_size_(&NewHistogram(registry, "te_batch_next_size", "Rows of a batch.", kRows)),
      batch_tokens_(&NewHistogram(registry, "te_batch_next_tokens", "Tokens of a batch.", kBatchTokens)) {}

void TeiBatchMetrics::Levels(size_t queued_rows, size_t queued_tokens, size_t in_flight_rows) {
  queue_size_.Set(static_cast<double>(queued_rows));
  next_.Levels(queued_rows, queued_tokens, in_flight_rows);
}

void TeiBatchMetrics::BatchStarted(size_t rows, size_t tokens) {
  batch_size_->Observe(static_cast<double>(rows));
  batch_tokens_->Observe(static_cast<double>(tokens));
  next_.BatchStarted(rows, tokens);
}

}  // namespace trellis::gateway
