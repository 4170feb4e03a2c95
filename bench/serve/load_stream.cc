#include "bench/serve/load_stream.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace trellis::bench {
namespace {

constexpr int kDifferentRequests = 64;
// Of a request: what they take in memory, and the time to make them, stay small.
constexpr int64_t kMostTokens = int64_t{1} << 20;

bool ParseRange(absl::string_view text, int32_t least_allowed, Range& range) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const bool one = ends.second.data() == nullptr || ends.second.empty();
  return absl::SimpleAtoi(ends.first, &range.least) &&
         absl::SimpleAtoi(one ? ends.first : ends.second, &range.most) && least_allowed <= range.least &&
         range.least <= range.most;
}

bool ParseTask(absl::string_view text, v1::Task& task) {
  constexpr std::pair<const char*, v1::Task> kTasks[] = {{"embed", v1::TASK_EMBED},
                                                         {"embed_all", v1::TASK_EMBED_ALL},
                                                         {"sparse", v1::TASK_SPARSE},
                                                         {"classify", v1::TASK_CLASSIFY}};
  for (const auto& [name, value] : kTasks) {
    if (text == name) {
      task = value;
      return true;
    }
  }
  return false;
}

bool ParsePriority(absl::string_view text, v1::Priority& priority) {
  priority = text == "bulk" ? v1::PRIORITY_BULK : v1::PRIORITY_INTERACTIVE;
  return text == "bulk" || text == "interactive";
}

bool Set(LoadStream& stream, absl::string_view key, absl::string_view value, const char*& expected) {
  if (key == "name") {
    stream.name = std::string(value);
    expected = "a name without quotes";
    return !value.empty() && value.find_first_of("\"\\") == absl::string_view::npos;
  }
  if (key == "rate") {
    expected = "arrivals a second, more than 0";
    return absl::SimpleAtod(value, &stream.rate) && stream.rate > 0 && stream.rate <= 1e6;
  }
  if (key == "rows" || key == "tokens") {
    expected = "LEAST:MOST, from 1 on";
    return ParseRange(value, 1, key == "rows" ? stream.rows : stream.tokens);
  }
  if (key == "task") {
    expected = "embed, embed_all, sparse or classify";
    return ParseTask(value, stream.task);
  }
  if (key == "priority") {
    expected = "interactive or bulk";
    return ParsePriority(value, stream.priority);
  }
  if (key == "deadline_ms") {
    int32_t milliseconds = 0;
    expected = "a number from 0 on";
    const bool parsed = absl::SimpleAtoi(value, &milliseconds) && milliseconds >= 0;
    stream.deadline = std::chrono::milliseconds(milliseconds);
    return parsed;
  }
  if (key == "cancel_share") {
    expected = "a share from 0 to 1";
    return absl::SimpleAtod(value, &stream.cancel_share) && stream.cancel_share >= 0 &&
           stream.cancel_share <= 1;
  }
  if (key == "cancel_after_ms") {
    expected = "LEAST:MOST, from 0 on";
    return ParseRange(value, 0, stream.cancel_after_ms);
  }
  expected =
      "one of name, rate, rows, tokens, task, priority, deadline_ms, cancel_share, cancel_after_ms as the "
      "key";
  return false;
}

}  // namespace

absl::StatusOr<LoadStream> ParseLoadStream(std::string_view spec) {
  LoadStream stream;
  const absl::string_view text(spec.data(), spec.size());
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const char* expected = "";
    if (!Set(stream, field.first, field.second, expected)) {
      return absl::InvalidArgumentError(absl::StrCat("--stream: '", part, "', expected ", expected));
    }
  }
  if (int64_t{stream.rows.most} * stream.tokens.most > kMostTokens) {
    return absl::InvalidArgumentError(absl::StrCat("--stream: rows times tokens: ", stream.rows.most, " * ",
                                                   stream.tokens.most, ", expected at most ", kMostTokens));
  }
  return stream;
}

std::vector<v1::InferRequest> MakeRequests(const LoadStream& stream, int32_t vocab_size,
                                           std::mt19937_64& random) {
  const auto draw = [&](const Range& range) {
    return std::uniform_int_distribution<int32_t>(range.least, range.most)(random);
  };
  std::vector<v1::InferRequest> requests(kDifferentRequests);
  for (v1::InferRequest& request : requests) {
    request.add_tasks()->set_task(stream.task);
    request.set_priority(stream.priority);
    request.add_cu_seqlens(0);
    for (int32_t row = draw(stream.rows); row > 0; --row) {
      for (int32_t token = draw(stream.tokens); token > 0; --token)
        request.add_input_ids(draw({0, vocab_size - 1}));
      request.add_cu_seqlens(request.input_ids_size());
    }
  }
  return requests;
}

}  // namespace trellis::bench
