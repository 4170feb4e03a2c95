// A graph cache on the fake GPU, and the series of it as an endpoint serves them.
#include "serve/graph_metrics.h"

#include <memory>

#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "serve/engine/cuda/graph_cache.h"
#include "tests/serve/grpc/metrics_text.h"

namespace trellis::program {
namespace {

using engine::cuda::Bucket;
using engine::cuda::Buffer;
using engine::cuda::DeviceStatus;
using engine::cuda::FakeCall;
using engine::cuda::FakeDevice;
using engine::cuda::GraphCache;
using engine::cuda::GraphCacheOptions;
using engine::cuda::Launch;
using engine::cuda::StreamId;
using server::Samples;

Samples SamplesOf(const prometheus::Collectable& metrics) {
  return server::ParseMetrics(prometheus::TextSerializer().Serialize(metrics.Collect()));
}

TEST(GraphMetrics, TellHowBatchesReachedTheGpu) {
  FakeDevice fake;
  StreamId stream{};
  Buffer memory;
  ASSERT_EQ(fake.CreateStream(&stream), DeviceStatus::kOk);
  ASSERT_EQ(fake.Allocate(64, &memory), DeviceStatus::kOk);
  GraphCacheOptions options;
  options.reserve_bytes = 0;
  options.max_graphs = 1;
  options.max_tokens = 4096;
  auto cache = std::make_unique<GraphCache>(fake, stream, options, [&](StreamId on, Bucket) {
    return fake.EnqueueKernel(on, Launch{"nothing", {memory}, {memory}, [](void*) {}});
  });
  const GraphMetrics metrics(cache->statistics());
  EXPECT_EQ(SamplesOf(metrics), (Samples{{"trellis_gpu_batches_total{launch=\"eager\"}", 0},
                                         {"trellis_gpu_batches_total{launch=\"graph\"}", 0},
                                         {"trellis_gpu_graph_captures_total", 0},
                                         {"trellis_gpu_graph_failures_total", 0},
                                         {"trellis_gpu_graph_evictions_total", 0},
                                         {"trellis_gpu_graphs", 0},
                                         {"trellis_gpu_graph_bytes", 0},
                                         {"trellis_gpu_graph_max_tokens", 4096}}));

  const auto run = [&](Bucket bucket, int times) {
    for (int i = 0; i < times; ++i) EXPECT_EQ(cache->Run(bucket).status, DeviceStatus::kOk);
    EXPECT_EQ(fake.Synchronize(stream), DeviceStatus::kOk);
  };
  run({1, 64}, 4);    // eager, captured, twice replayed
  run({1, 128}, 2);   // eager, captured in the other's place
  run({1, 8192}, 3);  // too large for a graph
  fake.Fail(FakeCall::kInstantiate, DeviceStatus::kInvalid);
  run({4, 64}, 2);  // eager, and eager since no graph could be made
  cache->set_max_tokens(512);
  const Samples samples = SamplesOf(metrics);
  EXPECT_EQ(samples.at("trellis_gpu_batches_total{launch=\"eager\"}"), 1 + 1 + 3 + 2);
  EXPECT_EQ(samples.at("trellis_gpu_batches_total{launch=\"graph\"}"), 3 + 1);
  EXPECT_EQ(samples.at("trellis_gpu_graph_captures_total"), 2);
  EXPECT_EQ(samples.at("trellis_gpu_graph_failures_total"), 1);
  // The second graph went too, to make room for the one that then could not be made.
  EXPECT_EQ(samples.at("trellis_gpu_graph_evictions_total"), 2);
  EXPECT_EQ(samples.at("trellis_gpu_graphs"), 0);
  EXPECT_EQ(samples.at("trellis_gpu_graph_bytes"), 0);
  EXPECT_EQ(samples.at("trellis_gpu_graph_max_tokens"), 512);

  run({1, 64}, 2);
  EXPECT_EQ(SamplesOf(metrics).at("trellis_gpu_graph_bytes"), FakeDevice::kExecBytesPerNode);
  EXPECT_EQ(SamplesOf(metrics).at("trellis_gpu_graphs"), 1);
  // The last scrape may come when the engine is gone.
  cache.reset();
  EXPECT_EQ(SamplesOf(metrics).at("trellis_gpu_graphs"), 0);
  EXPECT_EQ(SamplesOf(metrics).at("trellis_gpu_graph_captures_total"), 3);
}

}  // namespace
}  // namespace trellis::program
