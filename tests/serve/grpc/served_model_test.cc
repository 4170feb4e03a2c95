// trellis-server with the CPU engine on the tiny models, over loopback: what comes back is what transformers
// says.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/serve/grpc/loopback.h"
#include "tests/serve/grpc/running_server.h"
#include "tests/serve/model_reference.h"

namespace trellis::server {
namespace {

using ::trellis::testing::ReferenceRow;
using ::trellis::testing::ReferenceRows;
using ::trellis::testing::TinyModel;

constexpr float kBound = 1e-5f;

class ServedModel {
 public:
  explicit ServedModel(const std::string& model, const std::string& settings = ",dtype=f32,threads=2")
      : program_({"--listen", "127.0.0.1:0", "--engine", "cpu:" + TinyModel(model) + settings}) {
    const int port = program_.ReadPort("listening on");
    EXPECT_FALSE(program_.ReadUntil("ready: engine cpu").empty()) << program_.said();
    inference_ = v1::Inference::NewStub(ChannelTo(port));
  }
  ~ServedModel() {
    program_.Signal(SIGTERM);
    program_.ReadUntil("drained");
    EXPECT_EQ(program_.Wait(), 0);
  }

  v1::ModelDescription Describe() {
    grpc::ClientContext call;
    v1::ModelDescription description;
    const grpc::Status status = inference_->Describe(&call, {}, &description);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return description;
  }
  grpc::Status Infer(const v1::InferRequest& request, v1::InferReply& reply) {
    grpc::ClientContext call;
    return inference_->Infer(&call, request, &reply);
  }

 private:
  RunningServer program_;
  std::unique_ptr<v1::Inference::Stub> inference_;
};

// One answer of the reference that is wanted of each row that has it.
struct Wanted {
  std::string answer;
  v1::Task task;
  v1::Normalize normalize = v1::NORMALIZE_NONE;
  int skipped = 0;  // values at the start that the reference leaves out
};

// All of it in one request: rows of different tasks side by side.
void ExpectTheReference(ServedModel& served, const std::string& model, const std::vector<Wanted>& wanted) {
  v1::InferRequest request;
  request.add_cu_seqlens(0);
  std::vector<std::pair<const ReferenceRow*, const Wanted*>> asked;
  const std::vector<ReferenceRow> rows = ReferenceRows(model);
  for (const Wanted& one : wanted) {
    v1::RowTask& task = *request.add_tasks();
    task.set_task(one.task);
    // What is no vector is not normalized, and a request for either is refused.
    const bool vectors = one.task == v1::TASK_EMBED || one.task == v1::TASK_EMBED_ALL;
    if (vectors) task.set_normalize(one.normalize);
    const size_t before = asked.size();
    for (const ReferenceRow& row : rows) {
      if (!row.answers.contains(one.answer)) continue;
      asked.emplace_back(&row, &one);
      request.add_row_tasks(static_cast<uint32_t>(request.tasks_size() - 1));
      request.mutable_input_ids()->Add(row.ids.begin(), row.ids.end());
      for (size_t t = 0; t < row.ids.size(); ++t) {
        request.add_type_ids(row.type_ids.empty() ? 0 : row.type_ids[t]);
      }
      request.add_cu_seqlens(request.input_ids_size());
    }
    ASSERT_GE(asked.size() - before, 8u) << one.answer;
  }
  v1::InferReply reply;
  const grpc::Status status = served.Infer(request, reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(reply.failures_size(), 0) << reply.failures(0).message();
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& [row, one] = asked[i];
    const std::string where = model + ", " + one->answer + " of row " + std::to_string(i);
    const std::vector<float>& expected = row->answers.at(one->answer);
    const std::vector<float> values = RowValues(reply, static_cast<int>(i));
    const auto skipped = static_cast<size_t>(one->skipped);
    ASSERT_EQ(values.size(), expected.size() + skipped) << where;
    for (size_t j = 0; j < expected.size(); ++j) {
      ASSERT_NEAR(values[j + skipped], expected[j], kBound) << where << ", value " << j;
    }
    if (one->task == v1::TASK_SPARSE) {
      EXPECT_EQ(RowIndices(reply, static_cast<int>(i)), row->sparse_ids) << where;
    }
  }
}

TEST(ServedModel, DescribesItself) {
  ServedModel served("tiny-m3");
  const v1::ModelDescription model = served.Describe();
  EXPECT_EQ(model.dimensions(), 32);
  EXPECT_EQ(model.labels(), 0);
  EXPECT_EQ(model.max_row_tokens(), 64);
  EXPECT_EQ(model.type_vocab_size(), 1);
  EXPECT_EQ(std::vector<int>(model.tasks().begin(), model.tasks().end()),
            (std::vector<int>{v1::TASK_EMBED, v1::TASK_EMBED_ALL, v1::TASK_SPARSE}));
}

TEST(ServedModel, EmbedsTextsAndTokens) {
  ServedModel served("tiny-bert");
  ExpectTheReference(served, "tiny-bert", {{"embedding", v1::TASK_EMBED}, {"hidden", v1::TASK_EMBED_ALL}});
}

TEST(ServedModel, GivesTokenWeightsAndTokenVectors) {
  ServedModel served("tiny-m3");
  ExpectTheReference(served, "tiny-m3",
                     {{"embedding", v1::TASK_EMBED},
                      {"sparse", v1::TASK_SPARSE},
                      {"colbert", v1::TASK_EMBED_ALL, v1::NORMALIZE_L2, /*skipped=*/32}});
}

TEST(ServedModel, ScoresPairsAndClassifies) {
  for (const std::string model : {"tiny-reranker", "tiny-bert-classifier"}) {
    ServedModel served(model);
    ExpectTheReference(served, model, {{"logits", v1::TASK_CLASSIFY}});
  }
}

TEST(ServedModel, RefusesWhatTheModelDoesNot) {
  ServedModel served("tiny-reranker");
  v1::InferReply reply;
  EXPECT_EQ(served.Infer(RowsOf({3}), reply).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST(ServedModel, AFolderThatIsNoneEndsTheProgram) {
  RunningServer none({"--listen", "127.0.0.1:0", "--engine", "cpu:" + TinyModel("none")});
  EXPECT_FALSE(none.ReadUntil("--engine: ").empty());
  EXPECT_NE(none.said().find(TinyModel("none")), std::string::npos) << none.said();
  EXPECT_EQ(none.Wait(), 2);
}

}  // namespace
}  // namespace trellis::server
