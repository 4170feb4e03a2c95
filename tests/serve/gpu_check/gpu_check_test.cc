// What tools/gpu_check says of a GPU is only worth what its checks are: on the toy model, whose answers are
// worked out by hand, on the GPU that is none.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/serve/gpu/bucket_check.h"
#include "bench/serve/gpu/findings.h"
#include "bench/serve/gpu/json_line.h"
#include "bench/serve/gpu/row_values.h"
#include "bench/serve/gpu/step_rows.h"
#include "bench/serve/gpu/step_times.h"
#include "gtest/gtest.h"
#include "simdjson.h"
#include "tests/serve/engine/cuda/toy_engine.h"

namespace trellis::engine::cuda {
namespace {

Rows RowsOf(const std::vector<int>& lengths) {
  Rows rows;
  for (const int length : lengths) {
    std::vector<int32_t> ids;
    for (int i = 0; i < length; ++i) ids.push_back((7 * i + length) % 100);
    rows.Add(ids);
  }
  return rows;
}

ToyRows Toy(const Rows& rows) {
  ToyRows toy;
  toy.ids = rows.ids;
  toy.cu_seqlens = rows.cu_seqlens;
  toy.tasks = rows.tasks;
  return toy;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  return lines;
}

class GpuCheck : public ::testing::Test {
 protected:
  void Start(ToyBug bug = ToyBug::kNone) {
    auto thread = DeviceThread::Start(ToySetup(fake_, bug));
    ASSERT_TRUE(thread.ok()) << thread.status();
    thread_ = *std::move(thread);
  }
  void TearDown() override {
    thread_.reset();
    ExpectClean(*fake_);
  }

  const std::shared_ptr<FakeDevice> fake_ = std::make_shared<FakeDevice>();
  std::unique_ptr<DeviceThread> thread_;
};

TEST_F(GpuCheck, AGraphThatIsRight) {
  Start();
  const auto check = CheckBucket(*thread_, 4, 128, 3);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->bucket, (Bucket{4, 128}));
  EXPECT_TRUE(check->captured);
  EXPECT_TRUE(check->equal);
  // Two kernels and a product are in it.
  EXPECT_EQ(check->graph_bytes, 3 * FakeDevice::kExecBytesPerNode);
  EXPECT_EQ(thread_->graph_counters().captures, 1);
  EXPECT_EQ(thread_->graph_counters().replays,
            3 + 3);  // its capture, two that are compared; three that are timed
}

// This model's graph computes as many rows as the batch had that it was captured with.
TEST_F(GpuCheck, AGraphThatKnowsItsBatch) {
  Start(ToyBug::kRowsOfTheBatch);
  const auto check = CheckBucket(*thread_, 4, 128, 1);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(check->captured);
  EXPECT_FALSE(check->equal);
}

TEST_F(GpuCheck, AGraphThatCannotBeMade) {
  Start();
  fake_->Fail(FakeCall::kInstantiate, DeviceStatus::kInvalid, 1, 100);
  const auto check = CheckBucket(*thread_, 1, 64, 1);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_FALSE(check->captured);
  EXPECT_TRUE(check->equal);  // what was run instead
}

TEST_F(GpuCheck, BucketsThatTheModelDoesNotTake) {
  Start();
  const std::string expected =
      ": expected up to 64 rows of up to 300 tokens, with at most 600 tokens together";
  EXPECT_EQ(CheckBucket(*thread_, 1, 301, 1).status().message(), "bucket 1x301" + expected);
  EXPECT_EQ(CheckBucket(*thread_, 65, 100, 1).status().message(), "bucket 65x100" + expected);
  EXPECT_EQ(CheckBucket(*thread_, 3, 601, 1).status().message(), "bucket 3x601" + expected);
}

TEST(GpuCheckBuckets, AreReadOrRefused) {
  const auto sizes = ReadBuckets({"1x64", "4x64", "3x128"});
  ASSERT_TRUE(sizes.ok()) << sizes.status();
  ASSERT_EQ(sizes->size(), 3u);
  EXPECT_EQ((*sizes)[2].rows, 3);
  EXPECT_EQ((*sizes)[2].tokens, 128);
  for (const char* const name : {"", "64", "1x", "0x64", "-1x64", "65x64", "1x64x", "1x64 ", "1x99999999"}) {
    const auto status = ReadBuckets({name}).status();
    EXPECT_NE(status.message().find("expected ROWSxTOKENS"), std::string::npos) << name << ": " << status;
  }
  // Both are made of up to 4 rows and 64 tokens.
  EXPECT_EQ(ReadBuckets({"3x60", "4x64"}).status().message(),
            "buckets 3x60 and 4x64: expected two, found one");
}

TEST_F(GpuCheck, StepsHoldAsManyRowsAsFit) {
  Start();
  // 300 + 250 fit into 600, 60 more do not; then rows are counted.
  std::vector<int> lengths{300, 250, 60, 300, 240};
  lengths.insert(lengths.end(), 65, 1);
  const Rows rows = RowsOf(lengths);
  const auto steps = StepsOf(rows, thread_->limits());
  ASSERT_TRUE(steps.ok()) << steps.status();
  std::vector<size_t> counts;
  std::vector<int32_t> ids;
  for (const Rows& step : *steps) {
    counts.push_back(step.tasks.size());
    ids.insert(ids.end(), step.ids.begin(), step.ids.end());
  }
  EXPECT_EQ(counts, (std::vector<size_t>{2, 3, 64, 1}));
  EXPECT_EQ(ids, rows.ids);
  EXPECT_NE(StepsOf(RowsOf({301}), thread_->limits()).status().message().find("rows for the engine: "),
            std::string::npos);
}

TEST(GpuCheckPercentile, IsTheNearestRank) {
  // Of 10: the 5th, the 9th, the 10th.
  const std::vector<double> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(Percentile(ten, 0.5), 5);
  EXPECT_EQ(Percentile(ten, 0.9), 9);
  EXPECT_EQ(Percentile(ten, 0.99), 10);
  EXPECT_EQ(Percentile({3}, 0.5), 3);
}

TEST_F(GpuCheck, TimesAreOfWholeBatches) {
  Start();
  const Rows rows = RowsOf({300, 300, 100});  // two steps
  const auto latency = TimeLatency(*thread_, rows, {0, 5});
  ASSERT_TRUE(latency.ok()) << latency.status();
  EXPECT_EQ(latency->runs, 5);
  EXPECT_GT(latency->least, 0);
  EXPECT_LE(latency->least, latency->p50);
  EXPECT_LE(latency->p50, latency->p90);
  EXPECT_LE(latency->p90, latency->p99);
  const auto counters = thread_->graph_counters();
  EXPECT_EQ(counters.eager + counters.replays, 2 * (4 + 5));  // four times before

  const auto throughput = TimeThroughput(*thread_, rows, {0, 5});
  ASSERT_TRUE(throughput.ok()) << throughput.status();
  EXPECT_EQ(throughput->rows, 5 * 3);
  EXPECT_EQ(throughput->tokens, 5 * 700);
  EXPECT_GT(throughput->seconds, 0);
}

TEST_F(GpuCheck, AStepThatFailsIsTold) {
  Start();
  fake_->Fail(FakeCall::kEnqueueKernel, DeviceStatus::kInvalid, 1, 1000);
  EXPECT_EQ(TimeLatency(*thread_, RowsOf({10}), {0, 5}).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(TimeThroughput(*thread_, RowsOf({10}), {0, 5}).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(CheckBucket(*thread_, 1, 64, 1).status().code(), absl::StatusCode::kInternal);
}

TEST_F(GpuCheck, ValuesAreThoseOfTheRowsInOrder) {
  Start();
  const Rows rows = RowsOf({300, 299, 5, 100});  // more than one step
  const std::string path = ::testing::TempDir() + "gpu_check_values";
  ::testing::internal::CaptureStdout();
  const absl::Status status = WriteValues(*thread_, rows, path);
  const std::string said = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(said, "{\"part\": \"values\", \"task\": \"embed\", \"counts\": [4, 4, 4, 4]}\n");
  std::vector<float> expected;
  for (const auto& answer : ToyAnswers(Toy(rows)))
    expected.insert(expected.end(), answer.begin(), answer.end());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
  std::vector<float> written(expected.size());
  std::memcpy(written.data(), bytes.data(), bytes.size());
  EXPECT_EQ(written, expected);
  std::filesystem::remove(path);
  EXPECT_EQ(WriteValues(*thread_, rows, ::testing::TempDir() + "no/such/folder").code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(GpuCheck, FindingsAreLinesOfJson) {
  Start();
  Wanted wanted;
  wanted.buckets = {{1, 64}, {4, 128}};
  wanted.bucket_runs = 1;
  wanted.latency = {"one"};
  wanted.throughput = {"many"};
  wanted.how_long = {0, 2};
  const std::map<std::string, Rows> batches{{"one", RowsOf({20})}, {"many", RowsOf({20, 30, 40})}};
  ::testing::internal::CaptureStdout();
  const absl::Status status = FindOut(*thread_, batches, wanted);
  const auto lines = Lines(::testing::internal::GetCapturedStdout());
  ASSERT_TRUE(status.ok()) << status;
  std::vector<std::string> parts;
  simdjson::dom::parser parser;
  for (const std::string& line : lines) {
    std::string_view part;
    ASSERT_EQ(parser.parse(line)["part"].get(part), simdjson::SUCCESS) << line;
    parts.emplace_back(part);
  }
  EXPECT_EQ(parts,
            (std::vector<std::string>{"graph", "graph", "inflection", "latency", "throughput", "counters"}));
}

TEST_F(GpuCheck, WhatIsWrongIsSaidAtTheEnd) {
  Start(ToyBug::kRowsOfTheBatch);
  Wanted wanted;
  wanted.buckets = {{4, 128}};
  wanted.bucket_runs = 1;
  ::testing::internal::CaptureStdout();
  const absl::Status status = FindOut(*thread_, {}, wanted);
  const auto lines = Lines(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(status.message(), "bucket 4x128: the graph's answers are not those of its kernels");
  EXPECT_EQ(lines.size(), 3u);  // all the same: graph, inflection, counters
}

TEST_F(GpuCheck, WithoutTimeThingsAreLeftOut) {
  Start();
  Wanted wanted;
  wanted.buckets = {{1, 64}};
  wanted.latency = {"one"};
  wanted.budget = 0;
  ::testing::internal::CaptureStdout();
  const absl::Status status = FindOut(*thread_, {{"one", RowsOf({20})}}, wanted);
  const auto lines = Lines(::testing::internal::GetCapturedStdout());
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], R"({"part": "left_out", "what": "graph 1x64", "why": "no time left"})");
  EXPECT_EQ(lines[2], R"({"part": "left_out", "what": "latency one", "why": "no time left"})");
}

TEST_F(GpuCheck, ABatchThatIsNotThere) {
  Start();
  Wanted wanted;
  wanted.latency = {"1x16"};
  ::testing::internal::CaptureStdout();
  const absl::Status status = FindOut(*thread_, {}, wanted);
  ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(status.message(), "no batch is named \"1x16\", expected one");
}

TEST(GpuCheckJson, AnyTextIsRead) {
  ::testing::internal::CaptureStdout();
  JsonLine().Text("text", "a \"b\" \\ \n \x01 ü").Number("none", std::nan("")).Number("half", 0.5).Print();
  const std::string line = ::testing::internal::GetCapturedStdout();
  simdjson::dom::parser parser;
  simdjson::dom::element read;
  ASSERT_EQ(parser.parse(line).get(read), simdjson::SUCCESS) << line;
  EXPECT_EQ(std::string_view(read["text"]), "a \"b\" \\ \n \x01 ü");
  EXPECT_TRUE(read["none"].is_null());
  EXPECT_EQ(double(read["half"]), 0.5);
}

}  // namespace
}  // namespace trellis::engine::cuda
