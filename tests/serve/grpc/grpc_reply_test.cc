#include "serve/server/grpc_reply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "serve/server/answer_bytes.h"
#include "tests/serve/grpc/loopback.h"

namespace trellis::server {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int32_t>::max();

v1::InferReply Parse(const grpc::ByteBuffer& wire) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(wire.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  v1::InferReply reply;
  EXPECT_TRUE(reply.ParseFromString(bytes));
  EXPECT_EQ(bytes.size(), wire.Length());
  return reply;
}

v1::InferReply Sent(Reply reply) {
  absl::StatusOr<grpc::ByteBuffer> wire = ReplyToWire(std::move(reply), Clock::now(), kNoLimit);
  EXPECT_TRUE(wire.ok()) << wire.status();
  return wire.ok() ? Parse(*wire) : v1::InferReply();
}

TEST(WriteLittleEndian, Bytes) {
  const float values[] = {1.0f, -0.5f, 0.25f, 0.0f};
  char bytes[16];
  WriteLittleEndian(values, bytes);
  const std::string expected("\x00\x00\x80\x3f\x00\x00\x00\xbf\x00\x00\x80\x3e\x00\x00\x00\x00", 16);
  EXPECT_EQ(std::string(bytes, 16), expected);
}

TEST(ReplyToWire, RowsFailuresAndTimings) {
  Reply reply;
  reply.rows.resize(4);
  reply.rows[0].values = {1.5f, -2.0f};
  reply.rows[1].status = absl::DataLossError("row 1: not finite");
  reply.rows[1].values = {NAN};  // never sent
  reply.rows[2].values = {0.25f, 0.75f, 1.0f};
  reply.rows[2].indices = {5, 70000, 250001};
  reply.timings = {std::chrono::nanoseconds(11), std::chrono::nanoseconds(22)};
  const v1::InferReply sent = Sent(std::move(reply));
  EXPECT_EQ(RowValues(sent, 0), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_TRUE(RowValues(sent, 1).empty());
  EXPECT_EQ(RowValues(sent, 2), (std::vector<float>{0.25f, 0.75f, 1.0f}));
  EXPECT_EQ(RowIndices(sent, 2), (std::vector<int32_t>{5, 70000, 250001}));
  EXPECT_TRUE(RowValues(sent, 3).empty());
  EXPECT_TRUE(RowIndices(sent, 0).empty());
  EXPECT_EQ(sent.values().size(), 20u);
  ASSERT_EQ(sent.failures_size(), 1);
  EXPECT_EQ(sent.failures(0).row(), 1);
  EXPECT_EQ(sent.failures(0).code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(sent.failures(0).message(), "row 1: not finite");
  EXPECT_EQ(sent.timings().queue_ns(), 11);
  EXPECT_EQ(sent.timings().forward_ns(), 22);
  EXPECT_GE(sent.timings().total_ns(), 0);
}

TEST(ReplyToWire, NoIndicesNoOffsets) {
  Reply reply;
  reply.rows.resize(2);
  reply.rows[0].values = {1.0f};
  const v1::InferReply sent = Sent(std::move(reply));
  EXPECT_EQ(sent.index_offsets_size(), 0);
  EXPECT_EQ(sent.value_offsets_size(), 3);
}

// Long rows travel in slices of their own, short ones are gathered; nobody may be able to tell.
TEST(ReplyToWire, RowsOfEverySizeArriveInOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Reply reply;
    for (int row = 0; row < 20; ++row) {
      const size_t sizes[] = {0, 1, 1000, 4095, 4096, 4097, 20000};
      std::vector<float>& values = reply.rows.emplace_back().values;
      values.resize(sizes[random() % 7]);
      for (float& value : values) value = static_cast<float>(random()) / 65536.0f;
    }
    const std::vector<RowReply> expected = reply.rows;
    const v1::InferReply sent = Sent(std::move(reply));
    for (int row = 0; row < 20; ++row)
      ASSERT_EQ(RowValues(sent, row), expected[static_cast<size_t>(row)].values) << row;
  }
}

TEST(ReplyToWire, ExactlyTheLimitFitsAndOneLessDoesNot) {
  Reply reply;
  reply.rows.resize(2);
  reply.rows[0].values.resize(5000, 0.5f);
  reply.rows[1].values.resize(100, 0.5f);
  // An hour ago, so that total_ns has as many bytes each time.
  const Clock::time_point arrived = Clock::now() - std::chrono::hours(1);
  const int64_t bytes = static_cast<int64_t>(ReplyToWire(reply, arrived, kNoLimit)->Length());
  EXPECT_TRUE(ReplyToWire(reply, arrived, bytes).ok());
  const absl::Status status = ReplyToWire(reply, arrived, bytes - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(std::string(status.message()).find(std::to_string(bytes - 1)), std::string::npos) << status;
  EXPECT_EQ(ReplyToWire(reply, arrived, 100).status().code(), absl::StatusCode::kResourceExhausted);
}

// Failures are never hidden because there are too many of them: their messages give way.
TEST(ReplyToWire, MessagesOfFailedRowsAreBounded) {
  Reply reply;
  reply.rows.resize(1000);
  for (RowReply& row : reply.rows) row.status = absl::InternalError(std::string(511, 'a') + "\u00e9tc");
  const v1::InferReply sent = Sent(reply);
  ASSERT_EQ(sent.failures_size(), 1000);
  EXPECT_EQ(sent.failures(0).message(), std::string(511, 'a')) << "not half of a character";
  EXPECT_EQ(sent.failures(999).message(), "");
  EXPECT_EQ(sent.failures(999).code(), grpc::StatusCode::INTERNAL);
  EXPECT_LT(sent.ByteSizeLong(), size_t{100'000});
  // With no room for any message.
  const int64_t least = AnswerBytes(reply.rows);
  const absl::StatusOr<grpc::ByteBuffer> wire = ReplyToWire(reply, Clock::now(), least);
  ASSERT_TRUE(wire.ok()) << wire.status();
  EXPECT_EQ(Parse(*wire).failures_size(), 1000);
}

TEST(ReplyToWire, AnswerBytesIsNeverTooLittle) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Reply reply;
    for (unsigned rows = random() % 40; rows > 0; --rows) {
      RowReply& row = reply.rows.emplace_back();
      if (random() % 3 == 0) row.status = absl::DataLossError("");
      row.values.resize(random() % 20);
      if (random() % 2 == 0) row.indices.assign(row.values.size(), 250001);
    }
    reply.timings = {std::chrono::hours(100), std::chrono::hours(100)};
    const int64_t most = AnswerBytes(reply.rows);
    ASSERT_TRUE(ReplyToWire(reply, Clock::now(), most).ok());
  }
}

TEST(ToGrpcStatus, EveryCodeKeepsNumberAndMessage) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  for (int code = 1; code <= 16; ++code) {
    const grpc::Status status = ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(code), "why"));
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), "why");
  }
}

}  // namespace
}  // namespace trellis::server
