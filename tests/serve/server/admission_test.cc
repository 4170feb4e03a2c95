#include "serve/server/admission.h"

#include <string>

#include "gtest/gtest.h"
#include "tests/serve/server/requests.h"

namespace trellis::server {
namespace {

engine::EngineLimits Limits() {
  engine::EngineLimits limits;
  limits.max_row_tokens = 4;
  limits.max_batch_tokens = 8;
  limits.max_batch_rows = 4;
  limits.vocab_size = 10;
  limits.type_vocab_size = 2;
  limits.dimensions = 8;
  limits.tasks[static_cast<int>(engine::Task::kEmbed)] = true;
  limits.tasks[static_cast<int>(engine::Task::kSparse)] = true;
  limits.model = "m";
  return limits;
}

absl::Status Check(const Request& request) { return CheckRequest(request, Limits(), 20); }
std::string Invalid(const Request& request) {
  const absl::Status status = Check(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(Admission, LetsGoodRequestsPass) {
  EXPECT_TRUE(Check(RequestOfLengths({1})).ok());
  EXPECT_TRUE(Check(RequestOfLengths({4, 4, 4, 4, 4})).ok()) << "more than a batch is served by several";
  Request request =
      MakeRequest({{0, 9}, {5}}, {engine::Task::kEmbed, engine::Pooling::kLast, engine::Normalize::kNone, 8});
  request.type_ids = {0, 1, 1};
  EXPECT_TRUE(Check(request).ok());
}

TEST(Admission, NamesWhatIsMalformed) {
  EXPECT_EQ(Invalid(MakeRequest({})), "rows: 0, expected at least 1");
  EXPECT_EQ(Invalid(RequestOfLengths({1, 0})), "row 1: tokens: 0, expected 1 to 4");
  EXPECT_EQ(Invalid(RequestOfLengths({1, 5})), "row 1: tokens: 5, expected 1 to 4");
  EXPECT_EQ(Invalid(MakeRequest({{1}, {2, 10}})), "row 1: input_ids[1]: 10, expected 0 to 9");
  EXPECT_EQ(Invalid(MakeRequest({{1}, {2}, {-1}})), "row 2: input_ids[0]: -1, expected 0 to 9");
  EXPECT_EQ(Invalid(RequestOfLengths({4, 4, 4, 4, 4, 1})),
            "tokens of the request: 21, expected at most 20, the length of the queue");

  Request request = RequestOfLengths({2, 1});
  request.cu_seqlens = {0, 2};
  EXPECT_EQ(Invalid(request), "cu_seqlens: 2, expected 3 numbers, one more than rows");
  request.cu_seqlens = {1, 2, 3};
  EXPECT_EQ(Invalid(request), "cu_seqlens[0]: 1, expected 0");
  request.cu_seqlens = {0, 2, 1};
  EXPECT_EQ(Invalid(request), "row 1: tokens: -1, expected 1 to 4");
  request.cu_seqlens = {0, -2147483647, 2147483647};
  EXPECT_EQ(Invalid(request), "row 0: tokens: -2147483647, expected 1 to 4");
  request.cu_seqlens = {0, 2, 4};
  EXPECT_EQ(Invalid(request), "input_ids: 3, expected 4 numbers, as the last of cu_seqlens says");
  request.cu_seqlens = {0, 2, 3};
  request.type_ids = {0, 0};
  EXPECT_EQ(Invalid(request), "type_ids: 2, expected none or 3 numbers, one a token");
  request.type_ids = {0, 0, 2};
  EXPECT_EQ(Invalid(request), "row 1: type_ids[0]: 2, expected 0 to 1");
  request.type_ids.clear();
  request.priority = static_cast<Priority>(2);
  EXPECT_EQ(Invalid(request), "priority: 2, expected 0 to 1");
  request.priority = Priority::kBulk;
  request.done = nullptr;
  EXPECT_EQ(Invalid(request), "done: empty, expected a function to call with the answer");
}

TEST(Admission, NamesWhatIsWrongWithATask) {
  using engine::Normalize;
  using engine::Pooling;
  using engine::Task;
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {static_cast<Task>(4)})), "row 0: task: 4, expected 0 to 3");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kEmbed, static_cast<Pooling>(4)})),
            "row 0: pooling: 4, expected 0 to 3");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kEmbed, Pooling::kModel, static_cast<Normalize>(2)})),
            "row 0: normalize: 2, expected 0 or 1");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kEmbed, Pooling::kModel, Normalize::kL2, 9})),
            "row 0: dimensions: 9, expected 0 to 8");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kEmbed, Pooling::kModel, Normalize::kL2, -1})),
            "row 0: dimensions: -1, expected 0 to 8");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kSparse, Pooling::kModel, Normalize::kL2, 2})),
            "row 0: dimensions: 2, expected 0 for sparse");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kSparse, Pooling::kMean})),
            "row 0: pooling: 1, expected the model's for sparse");
  EXPECT_EQ(Invalid(MakeRequest({{1}}, {Task::kSparse, Pooling::kModel, Normalize::kNone})),
            "row 0: normalize: 0, expected the default for sparse");

  Request request = RequestOfLengths({1, 1});
  request.rows[1].task = Task::kClassify;
  const absl::Status status = Check(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "row 1: task: classify, which model \"m\" does not have");
}

}  // namespace
}  // namespace trellis::server
