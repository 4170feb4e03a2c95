#include "serve/server/grpc_limits.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "serve/server/answer_bytes.h"
#include "tests/serve/grpc/fake_server.h"
#include "tests/serve/grpc/loopback.h"

namespace trellis::server {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

TEST(LimitsFor, OverrideReplacesBoth) {
  const MessageLimits limits = LimitsFor(FakeLimits(), {}, 12345);
  EXPECT_EQ(limits.request_bytes, 12345);
  EXPECT_EQ(limits.reply_bytes, 12345);
}

TEST(LimitsFor, NeverBelowTheDefaultOfGrpcNorAboveWhatItCounts) {
  engine::EngineLimits engine = FakeLimits();
  engine.max_batch_tokens = 1;
  EXPECT_EQ(LimitsFor(engine, {}, 0).request_bytes, 4 << 20);
  EXPECT_EQ(LimitsFor(engine, {}, 0).reply_bytes, 4 << 20);
  ServerOptions options;
  options.max_queued_tokens = std::numeric_limits<int64_t>::max();
  options.max_batch_tokens = std::numeric_limits<int32_t>::max();
  engine.dimensions = std::numeric_limits<int32_t>::max() / 8;
  const MessageLimits limits = LimitsFor(engine, options, 0);
  EXPECT_EQ(limits.request_bytes, kMost);
  EXPECT_EQ(limits.reply_bytes, kMost);
}

// The longest encoding of a request that fills the queue, and the answer to a full batch of the task with the
// longest one.
TEST(LimitsFor, WhatTheOtherLimitsAllowFits) {
  const engine::EngineLimits engine = FakeLimits();
  ServerOptions options;
  options.max_queued_tokens = 2'000'000;
  const MessageLimits limits = LimitsFor(engine, options, 0);
  v1::InferRequest request;
  request.add_cu_seqlens(0);
  request.add_tasks()->set_task(v1::TASK_EMBED);
  for (int64_t token = 0; token < options.max_queued_tokens; ++token) {
    request.add_input_ids(engine.vocab_size - 1);
    request.add_type_ids(engine.type_vocab_size - 1);
    request.add_cu_seqlens(request.input_ids_size());
    request.add_row_tasks(0);
  }
  EXPECT_GT(request.ByteSizeLong(), size_t{4} << 20);  // else the least limit is all that was tested
  EXPECT_LE(static_cast<int64_t>(request.ByteSizeLong()), limits.request_bytes);

  engine::EngineLimits wide = engine;
  wide.dimensions = 1024;
  const std::vector<int32_t> bounds = {0, wide.max_batch_tokens};
  const std::vector<engine::RowTask> rows = {{.task = engine::Task::kEmbedAll}};
  EXPECT_LE(ExpectedAnswerBytes(wide, rows, bounds).most, LimitsFor(wide, {}, 0).reply_bytes);
}

}  // namespace
}  // namespace trellis::server
