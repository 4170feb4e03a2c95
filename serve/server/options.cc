#include "serve/server/options.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

constexpr int64_t kQueuedBatches = 64;
constexpr int64_t kKeptFromBulk = 8;  // one part in so many
constexpr int64_t kLeastAnswerBytes = int64_t{1} << 20;
constexpr int64_t kDefaultAnswerBytes = int64_t{512} << 20;
constexpr int64_t kDefaultAnswers = 8;  // of a batch's longest
constexpr int64_t kDayMicros = int64_t{24} * 60 * 60 * 1'000'000;

absl::Status InRange(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", value, ", expected ", least, " to ", most));
}

// 0 is a default that always works.
absl::Status ZeroOrInRange(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value == 0) return absl::OkStatus();
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": ", value, ", expected 0 (the default) or ", least, " to ", most));
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80   ? 1
                          : lead < 0xC2 ? 0
                          : lead < 0xE0 ? 2
                          : lead < 0xF0 ? 3
                          : lead < 0xF5 ? 4
                                        : 0;
    if (length == 0 || i + length > text.size()) return false;
    uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    // Longer than needed, half of a UTF-16 pair, or past the end of Unicode.
    if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000)) return false;
    if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return false;
    i += length;
  }
  return true;
}

}  // namespace

absl::Status CheckEngineLimits(const engine::EngineLimits& limits) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const auto& status :
       {InRange("engine: max_row_tokens", limits.max_row_tokens, 1, kMost),
        InRange("engine: max_batch_tokens", limits.max_batch_tokens, limits.max_row_tokens, kMost),
        InRange("engine: max_batch_rows", limits.max_batch_rows, 1, kMost),
        InRange("engine: max_in_flight", limits.max_in_flight, 1, kMost),
        InRange("engine: vocab_size", limits.vocab_size, 1, kMost),
        InRange("engine: type_vocab_size", limits.type_vocab_size, 1, kMost)}) {
    if (!status.ok()) return status;
  }
  if (!IsUtf8(limits.model)) {
    return absl::InvalidArgumentError(
        "engine: model: a name that is not UTF-8, expected one that clients can read");
  }
  bool any = false;
  for (const bool task : limits.tasks) any |= task;
  if (!any) return absl::InvalidArgumentError("engine: tasks: none, expected at least one");
  return absl::OkStatus();
}

absl::Status CheckOptions(const ServerOptions& options, const engine::EngineLimits& limits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const auto& status :
       {ZeroOrInRange("max_batch_tokens", options.max_batch_tokens, limits.max_row_tokens,
                      limits.max_batch_tokens),
        ZeroOrInRange("max_batch_requests", options.max_batch_requests, 1, limits.max_batch_rows),
        ZeroOrInRange("max_queued_tokens", options.max_queued_tokens, limits.max_row_tokens, kMost / 8),
        InRange("max_queued_requests", options.max_queued_requests, 1, kMost / 8),
        ZeroOrInRange("max_answer_bytes", options.max_answer_bytes, kLeastAnswerBytes, kMost / 8),
        InRange("max_wait (us)", options.max_wait.count(), 0, kDayMicros),
        InRange("bulk_ageing (us)", options.bulk_ageing.count(), 0, kDayMicros),
        InRange("target_batch_time (ms)", options.target_batch_time.count(), 1, kDayMicros / 1000)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

SchedulerOptions Resolve(const ServerOptions& options, const engine::EngineLimits& limits,
                         int64_t max_batch_tokens) {
  SchedulerOptions resolved;
  resolved.policy.max_tokens = max_batch_tokens;
  resolved.policy.max_rows = static_cast<size_t>(options.max_batch_requests > 0 ? options.max_batch_requests
                                                                                : limits.max_batch_rows);
  resolved.policy.max_in_flight = limits.max_in_flight;
  resolved.policy.max_wait = options.max_wait;
  resolved.policy.bulk_ageing = options.bulk_ageing;
  resolved.max_queued_tokens =
      options.max_queued_tokens > 0 ? options.max_queued_tokens : kQueuedBatches * max_batch_tokens;
  resolved.max_queued_tokens_bulk = std::max<int64_t>(
      resolved.max_queued_tokens - resolved.max_queued_tokens / kKeptFromBulk, limits.max_row_tokens);
  // A request in the middle of its batches has left the queue in part and is still held, in each class and
  // for each batch in the engine; so much is in use when answers are collected as they come.
  resolved.max_held_tokens =
      4 * resolved.max_queued_tokens + (int64_t{limits.max_in_flight} + 2) * max_batch_tokens;
  resolved.max_queued_requests = options.max_queued_requests;
  resolved.max_queued_requests_bulk =
      options.max_queued_requests - options.max_queued_requests / kKeptFromBulk;
  resolved.max_held_requests =
      2 * options.max_queued_requests +
      (int64_t{limits.max_in_flight} + 2) * static_cast<int64_t>(resolved.policy.max_rows);
  const int64_t longest = max_batch_tokens * std::max(limits.dimensions, limits.labels) * 4;
  resolved.max_answer_bytes = options.max_answer_bytes > 0
                                  ? options.max_answer_bytes
                                  : std::max(kDefaultAnswerBytes, kDefaultAnswers * longest);
  return resolved;
}

}  // namespace trellis::server
