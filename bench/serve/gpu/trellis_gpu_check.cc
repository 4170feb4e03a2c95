// What the CUDA engine does with one model on the GPU that there is: its values, whether graphs come to the
// same bits as kernels launched one by one, what graphs cost and up to which size they pay, how long batches
// take. A line of JSON a finding, for tools/gpu_check. No gRPC.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "bench/serve/gpu/findings.h"
#include "bench/serve/gpu/gpu.h"
#include "bench/serve/gpu/json_line.h"
#include "bench/serve/gpu/open_model.h"

namespace trellis::engine::cuda {
namespace {

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "trellis-gpu-check: %s\n", std::string(status.message()).c_str());
  return 1;
}

void SayModel(const OpenModel& model, const std::string& dtype) {
  const EngineLimits& limits = model.thread->limits();
  JsonLine()
      .Text("part", "load")
      .Text("gpu", kGpuKind)
      .Text("dtype", dtype)
      .Number("open_s", model.open_seconds)
      .Number("load_s", model.load_seconds)
      .Count("bytes", static_cast<int64_t>(model.model_bytes))
      .Count("max_row_tokens", limits.max_row_tokens)
      .Count("max_batch_tokens", limits.max_batch_tokens)
      .Count("max_batch_rows", limits.max_batch_rows)
      .Count("dimensions", limits.dimensions)
      .Count("labels", limits.labels)
      .Print();
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Checks and times the CUDA engine on one model; tools/gpu_check runs it and compares its values.",
      "trellis-gpu-check");
  std::string folder, batches_path, dtype = "bf16";
  std::vector<std::string> buckets;
  CudaModelOptions options;
  Wanted wanted;
  app.add_option("model", folder, "a folder with config.json and model.safetensors")->required();
  app.add_option("--batches", batches_path, "a row a line: the name of its batch, then its ids")->required();
  app.add_option("--dtype", dtype, "of weights and activations")
      ->check(CLI::IsMember({"bf16", "fp16"}))
      ->capture_default_str();
  app.add_option("--attention", options.attention, "a backend's name in place of the first that can");
  app.add_option("--max-batch-tokens", options.max_batch_tokens)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--max-batch-rows", options.max_batch_rows)
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--values", wanted.values_of, "a batch whose values are written");
  app.add_option("--values-to", wanted.values_path, "and where to");
  app.add_option("--buckets", buckets, "ROWSxTOKENS: graph against kernels, and the times of both")
      ->delimiter(',');
  app.add_option("--bucket-runs", wanted.bucket_runs, "timed, of each")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--latency", wanted.latency, "batches, each waited for")->delimiter(',');
  app.add_option("--throughput", wanted.throughput, "batches, one behind the other")->delimiter(',');
  app.add_option("--seconds", wanted.how_long.seconds, "for each batch")->capture_default_str();
  app.add_option("--least-runs", wanted.how_long.least_runs, "of each batch")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--budget", wanted.budget, "seconds after which nothing more is begun")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  options.type = dtype == "bf16" ? HalfType::kBf16 : HalfType::kF16;

  auto sizes = ReadBuckets(buckets);
  if (!sizes.ok()) return Fail(sizes.status());
  wanted.buckets = *std::move(sizes);
  const auto batches = ReadBatches(batches_path);
  if (!batches.ok()) return Fail(batches.status());
  {
    const auto model = OpenOnGpu(folder, options);
    if (!model.ok()) return Fail(model.status());
    SayModel(*model, dtype);
    if (auto status = FindOut(*model->thread, *batches, wanted); !status.ok()) return Fail(status);
  }
  if (auto status = RulesKept(); !status.ok()) return Fail(status);
  return 0;
}

}  // namespace
}  // namespace trellis::engine::cuda

int main(int argc, char** argv) {
  try {
    return trellis::engine::cuda::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trellis-gpu-check: %s\n", error.what());
    return 1;
  }
}
