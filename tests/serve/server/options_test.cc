#include "serve/server/options.h"

#include <string>

#include "gtest/gtest.h"

namespace trellis::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

engine::EngineLimits Limits() {
  engine::EngineLimits limits;
  limits.max_row_tokens = 512;
  limits.max_batch_tokens = 16384;
  limits.max_batch_rows = 64;
  limits.max_in_flight = 2;
  limits.vocab_size = 1000;
  limits.tasks[0] = true;
  return limits;
}

TEST(Options, DefaultsAreFineAndFilledIn) {
  EXPECT_TRUE(CheckOptions(ServerOptions{}, Limits()).ok());
  const SchedulerOptions resolved = Resolve(ServerOptions{}, Limits(), 1000);
  EXPECT_EQ(resolved.policy.max_tokens, 1000);
  EXPECT_EQ(resolved.policy.max_rows, 64u);
  EXPECT_EQ(resolved.policy.max_in_flight, 2);
  EXPECT_EQ(resolved.max_queued_tokens, 64000);
  EXPECT_EQ(resolved.max_queued_tokens_bulk, 56000);
  EXPECT_GE(resolved.max_held_tokens, resolved.max_queued_tokens + 2 * 1000);
  EXPECT_EQ(resolved.max_queued_requests, 8192);
  EXPECT_EQ(resolved.max_queued_requests_bulk, 7168);
  EXPECT_GE(resolved.max_held_requests, resolved.max_queued_requests + 2 * 64);
  EXPECT_EQ(resolved.max_answer_bytes, int64_t{512} << 20);
  engine::EngineLimits wide = Limits();
  wide.dimensions = 1 << 16;  // 256 KiB a vector: a batch of 1000 tokens has up to 262 MB of them
  EXPECT_EQ(Resolve(ServerOptions{}, wide, 1000).max_answer_bytes, int64_t{8} * 1000 * (1 << 18));
}

TEST(Options, GivenOnesAreObeyed) {
  ServerOptions options;
  options.max_batch_requests = 7;
  options.max_queued_tokens = 600;
  options.max_queued_requests = 9;
  options.max_answer_bytes = 2 << 20;
  options.max_wait = microseconds(5);
  options.bulk_ageing = microseconds(6);
  const SchedulerOptions resolved = Resolve(options, Limits(), 1000);
  EXPECT_EQ(resolved.policy.max_rows, 7u);
  EXPECT_EQ(resolved.max_queued_tokens, 600);
  EXPECT_EQ(resolved.max_queued_tokens_bulk, 525);
  EXPECT_EQ(resolved.max_queued_requests, 9);
  EXPECT_EQ(resolved.max_queued_requests_bulk, 8);
  EXPECT_EQ(resolved.max_answer_bytes, 2 << 20);
  EXPECT_EQ(resolved.policy.max_wait, microseconds(5));
  EXPECT_EQ(resolved.policy.bulk_ageing, microseconds(6));
}

TEST(Options, TheLongestRowFitsInABulkQueueToo) {
  ServerOptions options;
  options.max_queued_tokens = 520;
  EXPECT_EQ(Resolve(options, Limits(), 1000).max_queued_tokens_bulk, 512);
}

TEST(Options, ErrorsNameTheOption) {
  const auto error = [](auto set) {
    ServerOptions options;
    set(options);
    const absl::Status status = CheckOptions(options, Limits());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error([](auto& o) { o.max_batch_tokens = 511; }),
            "max_batch_tokens: 511, expected 0 (the default) or 512 to 16384");
  EXPECT_EQ(error([](auto& o) { o.max_batch_tokens = 16385; }),
            "max_batch_tokens: 16385, expected 0 (the default) or 512 to 16384");
  EXPECT_EQ(error([](auto& o) { o.max_batch_requests = 65; }),
            "max_batch_requests: 65, expected 0 (the default) or 1 to 64");
  EXPECT_EQ(error([](auto& o) {
              o.max_queued_tokens = 511;
            }).find("max_queued_tokens: 511, expected 0 (the default) or 512"),
            0u);
  EXPECT_EQ(error([](auto& o) { o.max_queued_requests = 0; }).find("max_queued_requests: 0, expected 1 to"),
            0u);
  EXPECT_EQ(
      error([](auto& o) { o.max_answer_bytes = 5; }).find("max_answer_bytes: 5, expected 0 (the default) or"),
      0u);
  EXPECT_EQ(error([](auto& o) { o.max_wait = microseconds(-1); }),
            "max_wait (us): -1, expected 0 to 86400000000");
  EXPECT_EQ(error([](auto& o) { o.bulk_ageing = microseconds(-1); }),
            "bulk_ageing (us): -1, expected 0 to 86400000000");
  EXPECT_EQ(error([](auto& o) { o.target_batch_time = milliseconds(0); }),
            "target_batch_time (ms): 0, expected 1 to 86400000");
}

TEST(Options, AnEngineThatCannotRunItsLongestRowIsAnError) {
  const auto error = [](auto set) {
    engine::EngineLimits limits = Limits();
    set(limits);
    return std::string(CheckEngineLimits(limits).message());
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_EQ(error([](auto& l) { l.max_batch_tokens = 511; }),
            "engine: max_batch_tokens: 511, expected 512 to 2147483647");
  EXPECT_EQ(error([](auto& l) { l.max_in_flight = 0; }),
            "engine: max_in_flight: 0, expected 1 to 2147483647");
  EXPECT_EQ(error([](auto& l) { l.model = "bge-\u00e9-\u20ac-\U0001F600"; }), "");
  for (const char* bad :
       {"\xe9", "a\x80", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80"}) {
    EXPECT_EQ(error([bad](auto& l) { l.model = bad; }),
              "engine: model: a name that is not UTF-8, expected one that clients can read");
  }
  EXPECT_EQ(error([](auto& l) { l.tasks[0] = false; }), "engine: tasks: none, expected at least one");
}

}  // namespace
}  // namespace trellis::server
