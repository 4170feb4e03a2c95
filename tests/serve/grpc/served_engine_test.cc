// The whole way: a client, the wire, the batching server, a synthetic engine, and back; with metrics.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "prometheus/text_serializer.h"
#include "serve/engine/synthetic/synthetic_engine.h"
#include "serve/engine/synthetic/synthetic_values.h"
#include "serve/server/metrics_recorder.h"
#include "serve/server/server.h"
#include "tests/serve/grpc/loopback.h"
#include "tests/serve/grpc/metrics_text.h"
#include "tests/serve/server/gated_engine.h"

namespace trellis::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

class Served {
 public:
  explicit Served(const std::string& engine_spec, const ServerOptions& options = {}) {
    auto engine = engine::MakeSyntheticEngine(engine_spec);
    if (!engine.ok()) ADD_FAILURE() << engine.status();
    loopback_ = std::make_unique<Loopback>(LimitsFor((*engine)->limits(), options, 0), &metrics_);
    auto gated = std::make_unique<GatedEngine>(*std::move(engine));
    gate_ = gated.get();
    auto server = Server::Create(std::move(gated), options, &metrics_);
    if (!server.ok()) ADD_FAILURE() << server.status();
    server_ = *std::move(server);
    loopback_->listener().Open(*server_);
  }
  ~Served() {
    gate_->Open();
    loopback_->listener().Stop(milliseconds(0));
  }
  GatedEngine& gate() { return *gate_; }  // open at first

  Server& server() { return *server_; }
  Loopback& loopback() { return *loopback_; }
  Samples Read() {
    return ParseMetrics(prometheus::TextSerializer().Serialize(metrics_.registry()->Collect()));
  }

  // Metrics of an answer are counted before it or just after: whoever compares waits.
  void Await(const std::string& series, double value) {
    while (Read().at(series) != value) std::this_thread::sleep_for(milliseconds(1));
  }

 private:
  GatedEngine* gate_ = nullptr;  // the server's
  MetricsRecorder metrics_{{"test", "synthetic", "m"}};
  std::unique_ptr<Server> server_;
  std::unique_ptr<Loopback> loopback_;
};

std::vector<int32_t> Ids(const v1::InferRequest& request, int row) {
  return {request.input_ids().begin() + request.cu_seqlens(row),
          request.input_ids().begin() + request.cu_seqlens(row + 1)};
}

// Every task in one request, with different poolings, cuts and normalization, against the engine's own
// arithmetic.
TEST(ServedEngine, EveryTaskComesBackWithItsBytes) {
  Served served("dimensions=6,labels=3,type_vocab=2,tasks=embed+embed_all+sparse+classify");
  v1::InferRequest request = RowsOf({3, 4, 5, 2, 6, 1});
  for (int token = 0; token < request.input_ids_size(); ++token) request.add_type_ids(token % 2);
  request.set_input_ids(9, request.input_ids(8));  // sparse: one id twice
  request.clear_tasks();
  struct Wanted {
    v1::Task wire;
    engine::RowTask task;
  };
  const Wanted kWanted[] = {
      {v1::TASK_EMBED, {.task = engine::Task::kEmbed}},
      {v1::TASK_EMBED_ALL, {.task = engine::Task::kEmbedAll, .dimensions = 4}},
      {v1::TASK_SPARSE, {.task = engine::Task::kSparse}},
      {v1::TASK_CLASSIFY, {.task = engine::Task::kClassify}},
      {v1::TASK_EMBED,
       {.task = engine::Task::kEmbed,
        .pooling = engine::Pooling::kCls,
        .normalize = engine::Normalize::kNone,
        .dimensions = 2}},
      {v1::TASK_EMBED, {.task = engine::Task::kEmbed, .pooling = engine::Pooling::kMean}},
  };
  for (int row = 0; row < 6; ++row) {
    v1::RowTask& task = *request.add_tasks();
    const engine::RowTask& wanted = kWanted[row].task;
    task.set_task(kWanted[row].wire);
    task.set_pooling(static_cast<v1::Pooling>(wanted.pooling));
    task.set_normalize(wanted.normalize == engine::Normalize::kL2 ? v1::NORMALIZE_L2 : v1::NORMALIZE_NONE);
    task.set_dimensions(wanted.dimensions);
    request.add_row_tasks(static_cast<uint32_t>(row));
  }
  const auto [status, reply] = served.loopback().Infer(request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.failures_size(), 0);
  for (int row = 0; row < 6; ++row) {
    std::vector<int32_t> types(request.type_ids().begin() + request.cu_seqlens(row),
                               request.type_ids().begin() + request.cu_seqlens(row + 1));
    const engine::SyntheticRow expected =
        engine::SyntheticValues(Ids(request, row), types, kWanted[row].task, served.server().engine_limits());
    EXPECT_EQ(RowValues(reply, row), expected.values) << "row " << row;
    EXPECT_EQ(RowIndices(reply, row), expected.indices) << "row " << row;
  }
  EXPECT_EQ(RowValues(reply, 0).size(), 6u);
  EXPECT_EQ(RowValues(reply, 1).size(), 16u);
  EXPECT_EQ(RowValues(reply, 3).size(), 3u);
  EXPECT_EQ(RowValues(reply, 4).size(), 2u);
}

TEST(ServedEngine, ARowsFailureIsTheRowsAlone) {
  Served served("fail_row_id=5,nonfinite_id=9");
  const auto [status, reply] = served.loopback().Infer(RowsOf({3, 3, 3, 3}));  // ids 1 to 12
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(reply.failures_size(), 2);
  EXPECT_EQ(reply.failures(0).row(), 1);
  EXPECT_NE(reply.failures(0).code(), grpc::StatusCode::OK);
  EXPECT_FALSE(reply.failures(0).message().empty());
  EXPECT_EQ(reply.failures(1).row(), 2);
  EXPECT_EQ(reply.failures(1).code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_FALSE(RowValues(reply, 0).empty());
  EXPECT_TRUE(RowValues(reply, 1).empty());
  EXPECT_TRUE(RowValues(reply, 2).empty());
  EXPECT_FALSE(RowValues(reply, 3).empty());
  served.Await("trellis_nonfinite_total", 1);
}

TEST(ServedEngine, RefusalsOfTheServer) {
  Served served("vocab=100,max_row_tokens=10,tasks=embed,dimensions=4");
  v1::InferRequest request = RowsOf({2, 2});
  request.set_input_ids(3, 100);
  grpc::Status status = served.loopback().Infer(request).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("100"), std::string::npos) << status.error_message();
  request.set_input_ids(3, -1);
  EXPECT_EQ(served.loopback().Infer(request).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(served.loopback().Infer(RowsOf({11})).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(served.loopback().Infer(RowsOf({2}, v1::TASK_CLASSIFY)).status.error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::InferRequest wide = RowsOf({2});
  wide.mutable_tasks(0)->set_dimensions(5);
  EXPECT_EQ(served.loopback().Infer(wide).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(served.loopback().Infer(RowsOf({10})).status.ok());
  EXPECT_EQ(served.Read().at(R"(trellis_rejected_total{reason="invalid"})"), 4);
  EXPECT_EQ(served.Read().at(R"(trellis_rejected_total{reason="unsupported_task"})"), 1);
}

// +1 means +1: one request of two rows, and what it may move.
TEST(ServedEngine, OneRequestIsCountedOnce) {
  Served served("");
  const Samples before = served.Read();
  ASSERT_TRUE(served.loopback().Infer(RowsOf({3, 4})).status.ok());
  served.Await("trellis_inflight_requests", 0);
  served.Await(R"(trellis_requests_total{outcome="ok"})", 1);
  served.Await("trellis_inflight_rows", 0);
  const Samples after = served.Read();
  const auto added = [&](const char* series) { return after.at(series) - before.at(series); };
  EXPECT_EQ(added(R"(trellis_requests_total{outcome="ok"})"), 1);
  EXPECT_EQ(added(R"(trellis_inputs_total{task="embed"})"), 2);
  EXPECT_EQ(added(R"(trellis_input_outcomes_total{outcome="ok"})"), 2);
  EXPECT_EQ(added("trellis_tokens_total"), 7);
  EXPECT_EQ(added("trellis_queue_wait_seconds_count"), 2);
  EXPECT_EQ(added("trellis_request_seconds_count"), 1);
  EXPECT_EQ(added("trellis_batch_size_sum"), 2);
  EXPECT_EQ(added("trellis_batch_tokens_sum"), 7);
  EXPECT_EQ(added("trellis_batch_size_count"),
            added(R"(trellis_forward_seconds_count{backend="synthetic"})"));
  for (const auto& [series, value] : after) {
    if (series.starts_with("trellis_rejected_total") || series.starts_with("trellis_retries_total")) {
      EXPECT_EQ(value, 0) << series;
    }
  }
}

// More than the queue holds, while the engine is busy: answers and RESOURCE_EXHAUSTED, nothing else, and then
// all is well.
TEST(ServedEngine, OverloadIsRefused) {
  ServerOptions options;
  options.max_batch_tokens = 16;
  options.max_queued_tokens = 64;
  Served served("max_row_tokens=16,max_batch_tokens=16", options);
  served.gate().Close();
  constexpr int kCalls = 64;
  const v1::InferRequest request = RowsOf({8});
  std::vector<std::unique_ptr<grpc::ClientContext>> calls;
  std::vector<v1::InferReply> replies(kCalls);
  std::vector<std::promise<grpc::StatusCode>> codes(kCalls);
  for (size_t c = 0; c < kCalls; ++c) {
    calls.push_back(std::make_unique<grpc::ClientContext>());
    served.loopback().inference().async()->Infer(
        calls[c].get(), &request, &replies[c],
        [&codes, c](const grpc::Status& status) { codes[c].set_value(status.error_code()); });
  }
  // Everything that is refused is refused while the engine stands still.
  double refused = 0;
  while (refused + served.Read().at("trellis_inflight_requests") < kCalls) {
    refused = served.Read().at(R"(trellis_rejected_total{reason="queue_full"})");
  }
  served.gate().Open();
  double answered = 0;
  for (auto& code : codes) {
    const grpc::StatusCode got = code.get_future().get();
    ASSERT_TRUE(got == grpc::StatusCode::OK || got == grpc::StatusCode::RESOURCE_EXHAUSTED) << got;
    answered += got == grpc::StatusCode::OK ? 1 : 0;
  }
  EXPECT_GE(answered, 8);  // what the queue holds, and then what the engine has
  EXPECT_LT(answered, 16);
  EXPECT_EQ(answered + refused, kCalls);
  EXPECT_TRUE(served.loopback().Infer(request).status.ok());
  served.Await("trellis_inflight_requests", 0);
  EXPECT_EQ(served.Read().at(R"(trellis_rejected_total{reason="queue_full"})"), refused);
  EXPECT_EQ(served.Read().at("trellis_queue_tokens"), 0);
}

TEST(ServedEngine, DeadlinesAndCancels) {
  ServerOptions options;
  options.max_batch_tokens = 16;
  Served served("max_row_tokens=16,max_batch_tokens=16,depth=1", options);
  served.gate().Close();
  const v1::InferRequest request = RowsOf({16});
  // The engine is busy with the first; the second runs out of time in the queue, the third is given up there.
  grpc::ClientContext first, third;
  v1::InferReply replies[3];
  std::promise<grpc::Status> ended[3];
  const auto start = [&](grpc::ClientContext& call, int index) {
    served.loopback().inference().async()->Infer(
        &call, &request, &replies[index],
        [&, index](const grpc::Status& status) { ended[index].set_value(status); });
  };
  start(first, 0);
  served.Await("trellis_inflight_requests", 1);
  start(third, 2);
  served.Await("trellis_inflight_requests", 2);
  grpc::ClientContext second;
  second.set_deadline(system_clock::now() + milliseconds(20));
  EXPECT_EQ(served.loopback().inference().Infer(&second, request, &replies[1]).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  third.TryCancel();
  EXPECT_EQ(ended[2].get_future().get().error_code(), grpc::StatusCode::CANCELLED);
  served.Await("trellis_queue_depth", 0);  // both are out of the queue while the engine is still busy
  served.gate().Open();
  EXPECT_TRUE(ended[0].get_future().get().ok());
  served.Await("trellis_inflight_requests", 0);
  served.Await("trellis_queue_depth", 0);
  served.Await("trellis_inflight_rows", 0);
  EXPECT_EQ(served.Read().at("trellis_batch_size_sum"), 1);  // the engine saw one row
}

TEST(ServedEngine, ADeadEngineFailsReadinessAndEveryCall) {
  Served served("die_after=200");  // warm-up takes some of them
  int calls = 0;
  grpc::Status status;
  while ((status = served.loopback().Infer(RowsOf({1})).status).ok()) {
    ASSERT_LT(++calls, 2000);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(served.loopback().Infer(RowsOf({1})).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  grpc::ClientContext call;
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(served.loopback().health().Check(&call, {}, &response).ok());
  EXPECT_EQ(response.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(served.Read().at("trellis_inflight_requests"), 0);
}

TEST(ServedEngine, DrainingRefusesNewAndFinishesOld) {
  ServerOptions options;
  options.max_batch_tokens = 16;
  Served served("max_row_tokens=16,max_batch_tokens=16,depth=1", options);
  served.gate().Close();
  const v1::InferRequest request = RowsOf({16});
  grpc::ClientContext call;
  v1::InferReply reply;
  std::promise<grpc::Status> ended;
  served.loopback().inference().async()->Infer(&call, &request, &reply,
                                               [&](const grpc::Status& status) { ended.set_value(status); });
  served.Await("trellis_inflight_requests", 1);
  std::future<bool> drained =
      std::async(std::launch::async, [&] { return served.server().Drain(std::chrono::seconds(30)); });
  while (served.server().health() != Health::kDraining) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(served.loopback().Infer(request).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  served.gate().Open();
  EXPECT_TRUE(ended.get_future().get().ok());
  EXPECT_TRUE(drained.get());
}

}  // namespace
}  // namespace trellis::server
