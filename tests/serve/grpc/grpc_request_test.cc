#include "serve/server/grpc_request.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <string>

#include "tests/serve/grpc/loopback.h"

namespace trellis::server {
namespace {

TEST(RequestFromWire, CarriesEveryField) {
  v1::InferRequest wire = RowsOf({2, 3}, v1::TASK_SPARSE);
  for (int i = 0; i < 5; ++i) wire.add_type_ids(i % 2);
  v1::RowTask& embed = *wire.add_tasks();
  embed.set_task(v1::TASK_EMBED);
  embed.set_pooling(v1::POOLING_LAST);
  embed.set_normalize(v1::NORMALIZE_NONE);
  embed.set_dimensions(7);
  wire.add_row_tasks(1);
  wire.add_row_tasks(0);
  wire.set_priority(v1::PRIORITY_BULK);
  const absl::StatusOr<Request> request = RequestFromWire(wire);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->ids, (std::vector<int32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(request->type_ids, (std::vector<int32_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(request->cu_seqlens, (std::vector<int32_t>{0, 2, 5}));
  EXPECT_EQ(request->priority, Priority::kBulk);
  ASSERT_EQ(request->rows.size(), 2u);
  EXPECT_EQ(request->rows[0].task, engine::Task::kEmbed);
  EXPECT_EQ(request->rows[0].pooling, engine::Pooling::kLast);
  EXPECT_EQ(request->rows[0].normalize, engine::Normalize::kNone);
  EXPECT_EQ(request->rows[0].dimensions, 7);
  EXPECT_EQ(request->rows[1].task, engine::Task::kSparse);
}

TEST(RequestFromWire, OneTaskServesAllRows) {
  const absl::StatusOr<Request> request = RequestFromWire(RowsOf({1, 1, 1}, v1::TASK_CLASSIFY));
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_EQ(request->rows.size(), 3u);
  for (const engine::RowTask& row : request->rows) EXPECT_EQ(row.task, engine::Task::kClassify);
  EXPECT_EQ(request->priority, Priority::kInteractive);
  EXPECT_TRUE(request->type_ids.empty());
}

TEST(RequestFromWire, EveryEnumValueHasAMeaning) {
  for (int task = v1::Task_MIN + 1; task <= v1::Task_MAX; ++task) {
    EXPECT_TRUE(RequestFromWire(RowsOf({1}, static_cast<v1::Task>(task))).ok()) << task;
  }
  for (int pooling = v1::Pooling_MIN; pooling <= v1::Pooling_MAX; ++pooling) {
    v1::InferRequest wire = RowsOf({1});
    wire.mutable_tasks(0)->set_pooling(static_cast<v1::Pooling>(pooling));
    const auto request = RequestFromWire(wire);
    ASSERT_TRUE(request.ok()) << pooling;
    EXPECT_EQ(static_cast<int>(request->rows[0].pooling), pooling);
  }
}

struct Broken {
  const char* expected;  // in the message
  std::function<void(v1::InferRequest&)> change;
};

TEST(RequestFromWire, NamesTheFieldThatIsWrong) {
  const Broken kBroken[] = {
      {"cu_seqlens: 0 entries", [](auto& wire) { wire.clear_cu_seqlens(); }},
      {"cu_seqlens: 1 entries", [](auto& wire) { wire.clear_cu_seqlens(), wire.add_cu_seqlens(0); }},
      {"cu_seqlens[0]: 1", [](auto& wire) { wire.set_cu_seqlens(0, 1); }},
      {"row 1 is empty", [](auto& wire) { wire.set_cu_seqlens(2, 2); }},
      {"cu_seqlens[2]: 1, expected more than 2, the entry before it",
       [](auto& wire) { wire.set_cu_seqlens(2, 1); }},
      {"cu_seqlens[1]: -2", [](auto& wire) { wire.set_cu_seqlens(1, -2); }},
      {"cu_seqlens[2]: 4, expected 5", [](auto& wire) { wire.set_cu_seqlens(2, 4); }},
      {"cu_seqlens[2]: 2147483647",
       [](auto& wire) { wire.set_cu_seqlens(2, std::numeric_limits<int32_t>::max()); }},
      {"cu_seqlens[2]: 5, expected 0", [](auto& wire) { wire.clear_input_ids(); }},
      {"type_ids: 1 entries, expected none or 5", [](auto& wire) { wire.add_type_ids(0); }},
      {"row_tasks: 1 entries, expected none or 2", [](auto& wire) { wire.add_row_tasks(0); }},
      {"row_tasks[1]: 1, expected less than 1",
       [](auto& wire) { wire.add_row_tasks(0), wire.add_row_tasks(1); }},
      {"tasks: empty", [](auto& wire) { wire.clear_tasks(); }},
      {"tasks[0].task: not set", [](auto& wire) { wire.mutable_tasks(0)->clear_task(); }},
      {"tasks[0].task: 99", [](auto& wire) { wire.mutable_tasks(0)->set_task(static_cast<v1::Task>(99)); }},
      {"tasks[0].pooling: -1",
       [](auto& wire) { wire.mutable_tasks(0)->set_pooling(static_cast<v1::Pooling>(-1)); }},
      {"tasks[0].normalize: 5",
       [](auto& wire) { wire.mutable_tasks(0)->set_normalize(static_cast<v1::Normalize>(5)); }},
      {"tasks[0].dimensions: -3", [](auto& wire) { wire.mutable_tasks(0)->set_dimensions(-3); }},
      {"tasks[1].task: not set", [](auto& wire) { wire.add_tasks(); }},
      {"priority: 7", [](auto& wire) { wire.set_priority(static_cast<v1::Priority>(7)); }},
  };
  for (const Broken& broken : kBroken) {
    v1::InferRequest wire = RowsOf({2, 3});
    ASSERT_TRUE(RequestFromWire(wire).ok());
    broken.change(wire);
    const absl::Status status = RequestFromWire(wire).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << broken.expected;
    EXPECT_NE(std::string(status.message()).find(broken.expected), std::string::npos)
        << broken.expected << " in " << status;
  }
}

// Whatever the fields hold, the answer is a well-formed request or InvalidArgument.
TEST(RequestFromWire, RandomFields) {
  std::mt19937 random(20261130);
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    v1::InferRequest wire = RowsOf({});
    wire.clear_tasks();
    for (int t = below(3); t > 0; --t) {
      v1::RowTask& task = *wire.add_tasks();
      task.set_task(static_cast<v1::Task>(below(6)));
      task.set_pooling(static_cast<v1::Pooling>(below(40) == 0 ? 9 : below(4)));
      task.set_dimensions(below(40) == 0 ? -1 : below(9));
    }
    for (int row = below(4); row > 0; --row) {
      for (int token = below(12) == 0 ? 0 : 1 + below(3); token > 0; --token)
        wire.add_input_ids(static_cast<int32_t>(random()));
      wire.add_cu_seqlens(wire.input_ids_size());
      if (below(2) == 0) wire.add_row_tasks(static_cast<uint32_t>(below(2)));
    }
    if (below(4) == 0) wire.set_cu_seqlens(below(wire.cu_seqlens_size()), static_cast<int32_t>(random()));
    if (below(4) == 0) {
      for (int i = wire.input_ids_size() + (below(4) == 0 ? 1 : 0); i > 0; --i)
        wire.add_type_ids(static_cast<int32_t>(random()));
    }
    const absl::StatusOr<Request> request = RequestFromWire(wire);
    if (!request.ok()) {
      ASSERT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << wire.ShortDebugString();
      ASSERT_FALSE(request.status().message().empty());
      continue;
    }
    ++accepted;
    ASSERT_EQ(request->rows.size() + 1, request->cu_seqlens.size());
    ASSERT_EQ(request->cu_seqlens.front(), 0);
    ASSERT_EQ(static_cast<size_t>(request->cu_seqlens.back()), request->ids.size());
    for (size_t r = 0; r < request->rows.size(); ++r)
      ASSERT_LT(request->cu_seqlens[r], request->cu_seqlens[r + 1]);
    ASSERT_TRUE(request->type_ids.empty() || request->type_ids.size() == request->ids.size());
  }
  EXPECT_GT(accepted, 500);  // else the test tried refusals only
}

TEST(SteadyDeadline, FarPastAndNear) {
  using std::chrono::system_clock;
  EXPECT_EQ(SteadyDeadline(system_clock::time_point::max()), Clock::time_point::max());
  const Clock::time_point longest_ago = SteadyDeadline(system_clock::time_point::min());
  EXPECT_LT(longest_ago, Clock::now());
  const Clock::time_point a_second_ago = SteadyDeadline(system_clock::now() - std::chrono::seconds(1));
  EXPECT_LT(a_second_ago, Clock::now());
  const Clock::time_point before = Clock::now();
  const Clock::time_point hour = SteadyDeadline(system_clock::now() + std::chrono::hours(1));
  EXPECT_GT(hour, before + std::chrono::minutes(59));
  EXPECT_LT(hour, Clock::now() + std::chrono::minutes(61));
}

}  // namespace
}  // namespace trellis::server
