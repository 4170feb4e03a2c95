#include "bench/serve/gpu/findings.h"

#include <chrono>
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/serve/gpu/bucket_check.h"
#include "bench/serve/gpu/json_line.h"
#include "bench/serve/gpu/row_values.h"
#include "serve/engine/cuda/pipeline_times.h"

namespace trellis::engine::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double Us(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

class Findings {
 public:
  Findings(DeviceThread& thread, const std::map<std::string, Rows>& batches, const Wanted& wanted)
      : thread_(thread), batches_(batches), wanted_(wanted) {}

  // Graphs first: what is asked for later would make them.
  absl::Status Run() {
    absl::Status status = CheckNames();
    for (const BucketSize& size : wanted_.buckets) {
      InTime(status, absl::StrCat("graph ", size.rows, "x", size.tokens), [&] { return Graph(size); });
    }
    // From here on, graphs are used as a server would.
    InTime(status, "inflection", [&] { return FindAndSetInflection(); });
    if (status.ok() && !wanted_.values_path.empty()) {
      status = WriteValues(thread_, batches_.at(wanted_.values_of), wanted_.values_path);
    }
    for (const std::string& name : wanted_.latency) {
      InTime(status, "latency " + name, [&] { return TimeOne(name); });
    }
    for (const std::string& name : wanted_.throughput) {
      InTime(status, "throughput " + name, [&] { return TimeMany(name); });
    }
    if (!status.ok()) return status;
    SayCounters();
    if (wrong_.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrJoin(wrong_, "; "));
  }

 private:
  using Work = std::function<absl::Status()>;

  // Unless `status` is an error already; and says it if the time is over.
  void InTime(absl::Status& status, const std::string& what, const Work& work) {
    if (!status.ok()) return;
    if (std::chrono::duration<double>(Clock::now() - begin_).count() < wanted_.budget) {
      status = work();
    } else {
      JsonLine().Text("part", "left_out").Text("what", what).Text("why", "no time left").Print();
    }
  }

  // Before anything is measured: a name that is wrong must not cost a lent GPU's time.
  absl::Status CheckNames() const {
    std::vector<std::string> names = wanted_.latency;
    names.insert(names.end(), wanted_.throughput.begin(), wanted_.throughput.end());
    if (!wanted_.values_path.empty()) names.push_back(wanted_.values_of);
    for (const std::string& name : names) {
      if (!batches_.contains(name)) {
        return absl::InvalidArgumentError(absl::StrCat("no batch is named \"", name, "\", expected one"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Graph(const BucketSize& size) {
    const auto check = CheckBucket(thread_, size.rows, size.tokens, wanted_.bucket_runs);
    if (!check.ok()) return check.status();
    JsonLine()
        .Text("part", "graph")
        .Count("rows", check->bucket.rows)
        .Count("tokens", check->bucket.tokens)
        .Flag("captured", check->captured)
        .Flag("equal", check->equal)
        .Count("runs", check->runs)
        .Number("eager_us", Us(check->eager))
        .Number("eager_launch_us", Us(check->eager_launch))
        .Number("graph_us", Us(check->graph))
        .Number("graph_launch_us", Us(check->graph_launch))
        .Number("capture_us", Us(check->capture))
        .Count("bytes", static_cast<int64_t>(check->graph_bytes))
        .Print();
    const std::string bucket = absl::StrCat("bucket ", check->bucket.rows, "x", check->bucket.tokens);
    if (!check->captured) wrong_.push_back(bucket + ": no graph was made and launched again");
    if (!check->equal) wrong_.push_back(bucket + ": the graph's answers are not those of its kernels");
    return absl::OkStatus();
  }

  absl::Status FindAndSetInflection() {
    const auto found = MeasureInflection(thread_, [] { return Clock::now(); });
    if (!found.ok()) return found.status();
    std::vector<std::string> probes;
    for (const Inflection::Probe& probe : found->probes) {
      // A graph that there cannot be takes for ever.
      const bool ever = probe.replay != ForwardTimes::Duration::max();
      probes.push_back(absl::StrCat("[", probe.tokens, ", ", Us(probe.eager), ", ",
                                    ever ? absl::StrCat(Us(probe.replay)) : "null", "]"));
    }
    JsonLine()
        .Text("part", "inflection")
        .Count("tokens", found->tokens)
        .Raw("probes", absl::StrCat("[", absl::StrJoin(probes, ", "), "]"))
        .Print();
    return absl::OkStatus();
  }

  absl::Status TimeOne(const std::string& name) {
    const auto latency = TimeLatency(thread_, batches_.at(name), wanted_.how_long);
    if (!latency.ok()) return latency.status();
    JsonLine()
        .Text("part", "latency")
        .Text("name", name)
        .Count("runs", latency->runs)
        .Number("least_ms", latency->least * 1e3)
        .Number("p50_ms", latency->p50 * 1e3)
        .Number("p90_ms", latency->p90 * 1e3)
        .Number("p99_ms", latency->p99 * 1e3)
        .Print();
    return absl::OkStatus();
  }

  absl::Status TimeMany(const std::string& name) {
    const auto throughput = TimeThroughput(thread_, batches_.at(name), wanted_.how_long);
    if (!throughput.ok()) return throughput.status();
    JsonLine()
        .Text("part", "throughput")
        .Text("name", name)
        .Number("seconds", throughput->seconds)
        .Number("rows_per_s", static_cast<double>(throughput->rows) / throughput->seconds)
        .Number("tokens_per_s", static_cast<double>(throughput->tokens) / throughput->seconds)
        .Print();
    return absl::OkStatus();
  }

  void SayCounters() {
    const GraphCounters counters = thread_.graph_counters();
    JsonLine()
        .Text("part", "counters")
        .Count("eager", counters.eager)
        .Count("captures", counters.captures)
        .Count("replays", counters.replays)
        .Count("failures", counters.failures)
        .Count("evictions", counters.evictions)
        .Count("graphs", counters.graphs)
        .Count("bytes", static_cast<int64_t>(counters.bytes))
        .Print();
    if (counters.failures > 0) wrong_.push_back(absl::StrCat(counters.failures, " graphs failed"));
  }

  DeviceThread& thread_;
  const std::map<std::string, Rows>& batches_;
  const Wanted& wanted_;
  const Clock::time_point begin_ = Clock::now();
  std::vector<std::string> wrong_;
};

}  // namespace

absl::StatusOr<std::vector<BucketSize>> ReadBuckets(const std::vector<std::string>& names) {
  std::vector<BucketSize> sizes;
  std::map<Bucket, std::string> seen;
  for (const std::string& name : names) {
    BucketSize size;
    char more = 0;
    if (std::sscanf(name.c_str(), "%dx%d%c", &size.rows, &size.tokens, &more) != 2 || size.rows < 1 ||
        size.tokens < size.rows || size.tokens > (1 << 24)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bucket \"", name, "\": expected ROWSxTOKENS, up to 16777216 tokens, one a row or more"));
    }
    const auto [at, fresh] = seen.emplace(BucketOf(size.rows, size.tokens), name);
    if (!fresh) {
      return absl::InvalidArgumentError(
          absl::StrCat("buckets ", at->second, " and ", name, ": expected two, found one"));
    }
    sizes.push_back(size);
  }
  return sizes;
}

absl::Status FindOut(DeviceThread& thread, const std::map<std::string, Rows>& batches, const Wanted& wanted) {
  return Findings(thread, batches, wanted).Run();
}

}  // namespace trellis::engine::cuda
