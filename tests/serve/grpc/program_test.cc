// trellis-server as it is started and stopped.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "grpcpp/generic/generic_stub.h"
#include "tests/serve/grpc/loopback.h"
#include "tests/serve/grpc/metrics_text.h"
#include "tests/serve/grpc/raw_http2.h"
#include "tests/serve/grpc/running_server.h"

namespace trellis::server {
namespace {

using grpc::health::v1::HealthCheckResponse;

HealthCheckResponse::ServingStatus HealthOf(int port) {
  grpc::ClientContext call;
  HealthCheckResponse response;
  const grpc::Status status = grpc::health::v1::Health::NewStub(ChannelTo(port))->Check(&call, {}, &response);
  return status.ok() ? response.status() : HealthCheckResponse::UNKNOWN;
}

// Runs to its end with `arguments` and gives the exit status; `said` is what it said.
int EndOf(const std::vector<std::string>& arguments, std::string& said,
          const std::vector<std::string>& environment = {}) {
  RunningServer server(arguments, environment);
  server.ReadUntil("never said");
  said = server.said();
  return server.Wait();
}

constexpr char kSlow[] = "synthetic:batch_us=300000,depth=1,max_row_tokens=16,max_batch_tokens=16";

TEST(Program, ServesThenDrainsOnSigterm) {
  RunningServer server({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--engine", kSlow,
                        "--max-batch-tokens", "16"});
  const int metrics = server.ReadPort("metrics on");
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
  EXPECT_EQ(HealthOf(port), HealthCheckResponse::SERVING);
  EXPECT_EQ(ScrapeMetrics(metrics).at("trellis_inflight_requests"), 0);

  const auto stub = v1::Inference::NewStub(ChannelTo(port));
  const v1::InferRequest request = RowsOf({16});
  constexpr int kCalls = 4;
  grpc::ClientContext calls[kCalls];
  v1::InferReply replies[kCalls];
  std::promise<grpc::Status> ended[kCalls];
  for (int c = 0; c < kCalls; ++c) {
    stub->async()->Infer(&calls[c], &request, &replies[c],
                         [&, c](const grpc::Status& status) { ended[c].set_value(status); });
  }
  while (ScrapeMetrics(metrics).at("trellis_inflight_requests") != kCalls) usleep(1000);
  server.Signal(SIGTERM);
  ASSERT_FALSE(server.ReadUntil("draining for at most 30 s").empty()) << server.said();
  EXPECT_NE(HealthOf(port), HealthCheckResponse::SERVING);
  for (auto& call : ended) EXPECT_TRUE(call.get_future().get().ok());
  EXPECT_FALSE(server.ReadUntil("drained: every accepted request was finished").empty()) << server.said();
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Program, ADrainThatIsCutSaysSoAndExitsZero) {
  RunningServer server({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--drain-seconds", "0",
                        "--engine", kSlow, "--max-batch-tokens", "16"});
  const int metrics = server.ReadPort("metrics on");
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
  const auto stub = v1::Inference::NewStub(ChannelTo(port));
  const v1::InferRequest request = RowsOf({16});
  constexpr int kCalls = 20;  // six seconds of work
  grpc::ClientContext calls[kCalls];
  v1::InferReply replies[kCalls];
  std::promise<grpc::Status> ended[kCalls];
  for (int c = 0; c < kCalls; ++c) {
    stub->async()->Infer(&calls[c], &request, &replies[c],
                         [&, c](const grpc::Status& status) { ended[c].set_value(status); });
  }
  while (ScrapeMetrics(metrics).at("trellis_queue_depth") < 2) usleep(1000);
  server.Signal(SIGINT);
  EXPECT_FALSE(server.ReadUntil("not drained in 0 s").empty()) << server.said();
  EXPECT_EQ(server.Wait(), 0);
  int unavailable = 0;
  for (auto& call : ended) {
    const grpc::Status status = call.get_future().get();
    if (status.ok()) continue;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    ++unavailable;
  }
  EXPECT_GT(unavailable, 0);
}

TEST(Program, AnswersThatWereNotTakenAreSaid) {
  RunningServer server(
      {"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--drain-seconds", "0"});
  const int metrics = server.ReadPort("metrics on");
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
  RawHttp2 client(port);
  client.Preface(0);
  client.Headers(1);
  client.Message(1, RowsOf({16}).SerializeAsString());
  while (ScrapeMetrics(metrics).at("trellis_undelivered_requests") != 1) usleep(1000);
  EXPECT_GT(ScrapeMetrics(metrics).at("trellis_undelivered_bytes"), 0);
  server.Signal(SIGTERM);
  EXPECT_FALSE(server.ReadUntil("every accepted request was finished; 1 answers were not taken").empty())
      << server.said();
  EXPECT_EQ(server.Wait(), 0);
}

// A few bytes that would be a hundred times the longest message.
TEST(Program, CompressedMessagesAreNotInflated) {
  RunningServer server({"--listen", "127.0.0.1:0", "--max-message-bytes", "1000000"});
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
  const int64_t before = server.PeakKilobytes();
  grpc::GenericStub stub(ChannelTo(port));
  const grpc::Slice zeros(std::string(size_t{100} << 20, '\0'));
  const grpc::ByteBuffer message(&zeros, 1);
  grpc::ByteBuffer reply;
  grpc::ClientContext call;
  call.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&call, "/trellis.v1.Inference/Infer", {}, &message, &reply,
                 [&](const grpc::Status& status) { ended.set_value(status); });
  EXPECT_EQ(ended.get_future().get().error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_LT(server.PeakKilobytes() - before, 50 << 10);
}

TEST(Program, ASecondSignalEndsItAtOnce) {
  for (const int signal : {SIGTERM, SIGINT}) {
    RunningServer server({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--engine", kSlow,
                          "--max-batch-tokens", "16"});
    const int metrics = server.ReadPort("metrics on");
    const int port = server.ReadPort("listening on");
    ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
    const auto stub = v1::Inference::NewStub(ChannelTo(port));
    const v1::InferRequest request = RowsOf({16});
    constexpr int kCalls = 20;  // six seconds of work
    grpc::ClientContext calls[kCalls];
    v1::InferReply replies[kCalls];
    std::promise<grpc::Status> ended[kCalls];
    for (int c = 0; c < kCalls; ++c) {
      stub->async()->Infer(&calls[c], &request, &replies[c],
                           [&, c](const grpc::Status& status) { ended[c].set_value(status); });
    }
    while (ScrapeMetrics(metrics).at("trellis_queue_depth") < 2) usleep(1000);
    server.Signal(SIGTERM);
    ASSERT_FALSE(server.ReadUntil("draining").empty()) << server.said();
    server.Signal(signal);
    EXPECT_FALSE(server.ReadUntil("again: ended at once").empty()) << server.said();
    EXPECT_EQ(server.Wait(), 128 + signal);
    for (auto& call : ended) call.get_future().wait();
  }
}

TEST(Program, HealthAndSignalsDuringTheWarmUp) {
  RunningServer server(
      {"--listen", "127.0.0.1:0", "--engine", "synthetic:batch_us=60000000"});  // a minute a batch
  EXPECT_EQ(HealthOf(server.ReadPort("listening on")), HealthCheckResponse::NOT_SERVING);
  server.Signal(SIGTERM);
  EXPECT_FALSE(server.ReadUntil("while starting").empty()) << server.said();
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Program, FlagsThatAreWrongAreNamed) {
  std::string said;
  EXPECT_EQ(EndOf({"--max-batch-tokens", "many"}, said), 2);
  EXPECT_NE(said.find("--max-batch-tokens"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--max-wait-us", "-1"}, said), 2);
  EXPECT_NE(said.find("--max-wait-us"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--listen", "50051"}, said), 2);
  EXPECT_NE(said.find("'50051', expected host:port"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--listen", "localhost:65536"}, said), 2);
  EXPECT_NE(said.find("65536"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--metrics-listen", "::1:9100"}, said), 2);
  EXPECT_NE(said.find("--metrics-listen"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--max-message-bytes", "100"}, said), 2);
  EXPECT_NE(said.find("--max-message-bytes: 100, expected 0 or at least 5184"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--max-answer-bytes", "100"}, said), 2);
  EXPECT_NE(said.find("max_answer_bytes: 100"), std::string::npos) << said;
  EXPECT_EQ(said.find("listening"), std::string::npos) << "found before a port was open: " << said;
  EXPECT_EQ(EndOf({"--engine", "synthetic:model=\xff"}, said), 2);
  EXPECT_NE(said.find("not UTF-8"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--engine", "abacus"}, said), 2);
  EXPECT_NE(said.find("'abacus', expected one of: cpu, cuda, synthetic"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--engine", "synthetic:batch_us=soon"}, said), 2);
  EXPECT_NE(said.find("batch_us"), std::string::npos) << said;
  EXPECT_EQ(EndOf({}, said, {"TRELLIS_DRAIN_SECONDS=x"}), 2);
  EXPECT_NE(said.find("--drain-seconds"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--unknown"}, said), 2);
  EXPECT_NE(said.find("--unknown"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--version"}, said), 0);
  EXPECT_TRUE(said.starts_with("trellis-server ")) << said;
  EXPECT_EQ(EndOf({"--help"}, said), 0);
  EXPECT_NE(said.find("TRELLIS_MAX_QUEUED_TOKENS"), std::string::npos) << said;
  // The engines that it knows are those that an unknown name is told of.
  const size_t known = said.find("(known: ");
  ASSERT_NE(known, std::string::npos) << said;
  const std::string names = said.substr(known + 8, said.find(')', known) - known - 8);
  EXPECT_EQ(EndOf({"--engine", "abacus"}, said), 2);
  EXPECT_NE(said.find("expected one of: " + names), std::string::npos) << names << " but " << said;
}

// This machine's GPUs, if it has any, are fewer than that.
constexpr char kNoSuchGpu[] = "cuda:1023";

TEST(Program, AGpuThatIsNotThereIsNamedWithTheWayWithoutIt) {
  const std::string model = TRELLIS_SOURCE_DIR "/tests/serve/models/tiny-bert";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--model", model, "--device", kNoSuchGpu},
        std::vector<std::string>{"--engine", "cuda:" + model + ",device=1023"}}) {
    std::string said;
    EXPECT_EQ(EndOf(arguments, said), 1);
    EXPECT_NE(said.find(arguments[0] + ": " + kNoSuchGpu + ": "), std::string::npos) << said;
    EXPECT_NE(said.find("--device cpu (or --engine cpu:FOLDER) runs the model on the processor"),
              std::string::npos)
        << said;
    EXPECT_EQ(said.find("listening"), std::string::npos) << said;
  }
}

TEST(Program, ModelAndDeviceThatDoNotGoTogetherAreNamed) {
  std::string said;
  EXPECT_EQ(EndOf({"--device", "cuda"}, said), 2);
  EXPECT_NE(said.find("--device: 'cuda', expected --model FOLDER beside it"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "f", "--engine", "cpu:f"}, said), 2);
  EXPECT_NE(said.find("--model: given beside --engine"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "f", "--device", "gpu"}, said), 2);
  EXPECT_NE(said.find("--device: 'gpu', expected cpu, cuda or cuda:N"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "f", "--device", "cuda:1", "--dtype", "int8"}, said), 2);
  EXPECT_NE(said.find("--dtype: int8, expected auto, bf16 or fp16 with --device cuda"), std::string::npos)
      << said;
  EXPECT_EQ(EndOf({"--engine", "synthetic", "--dtype", "bf16"}, said), 2);
  EXPECT_NE(said.find("--dtype: given without --model"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "f", "--dtype", "fp8"}, said), 2);
  EXPECT_NE(said.find("--dtype"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "f"}, said, {"TRELLIS_DEVICE=gpu"}), 2);
  EXPECT_NE(said.find("--device: 'gpu'"), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--model", "/no/such/folder"}, said), 2);
  EXPECT_NE(said.find("--model: "), std::string::npos) << said;
  EXPECT_NE(said.find("/no/such/folder"), std::string::npos) << said;
}

TEST(Program, ServesAModelsFolderOnTheProcessor) {
  RunningServer server({"--listen", "127.0.0.1:0", "--model",
                        TRELLIS_SOURCE_DIR "/tests/serve/models/tiny-bert", "--device", "cpu", "--dtype",
                        "float32"});
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready: engine cpu").empty()) << server.said();
  EXPECT_EQ(HealthOf(port), HealthCheckResponse::SERVING);
}

TEST(Program, AnOptionThatNoBatchCanMeetIsRefused) {
  std::string said;
  EXPECT_EQ(EndOf({"--listen", "127.0.0.1:0", "--engine", "synthetic:max_row_tokens=100",
                   "--max-batch-tokens", "50"},
                  said),
            2);
  EXPECT_NE(said.find("max_batch_tokens: 50"), std::string::npos) << said;
}

TEST(Program, PortsInUseAreNamed) {
  RunningServer server({"--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"});
  const std::string metrics = "127.0.0.1:" + std::to_string(server.ReadPort("metrics on"));
  const std::string grpc = "127.0.0.1:" + std::to_string(server.ReadPort("listening on"));
  std::string said;
  EXPECT_EQ(EndOf({"--listen", grpc}, said), 1);
  EXPECT_NE(said.find("--listen: cannot listen on " + grpc), std::string::npos) << said;
  EXPECT_EQ(EndOf({"--listen", "127.0.0.1:0", "--metrics-listen", metrics}, said), 1);
  EXPECT_NE(said.find("--metrics-listen: cannot listen on " + metrics), std::string::npos) << said;
}

TEST(Program, TheEnvironmentSetsFlags) {
  RunningServer server({},
                       {"TRELLIS_LISTEN=127.0.0.1:0", "TRELLIS_ENGINE=synthetic:model=from-the-environment"});
  const int port = server.ReadPort("listening on");
  ASSERT_FALSE(server.ReadUntil("ready").empty()) << server.said();
  grpc::ClientContext call;
  v1::ModelDescription model;
  ASSERT_TRUE(v1::Inference::NewStub(ChannelTo(port))->Describe(&call, {}, &model).ok());
  EXPECT_EQ(model.model(), "from-the-environment");
}

}  // namespace
}  // namespace trellis::server
