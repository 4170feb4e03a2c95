#include "serve/server/row_replies.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::server {
namespace {

using engine::EngineLimits;
using engine::RowTask;
using engine::RowValues;
using engine::Task;

bool NonFinite(float value) { return (std::bit_cast<uint32_t>(value) & 0x7f800000u) == 0x7f800000u; }

// The number of values that a row must have; kSparse has as many as it has indices.
size_t ExpectedValues(const RowTask& task, int32_t tokens, const RowValues& got, const EngineLimits& limits) {
  const auto dimensions = static_cast<size_t>(task.dimensions > 0 ? task.dimensions : limits.dimensions);
  switch (task.task) {
    case Task::kEmbed:
      return dimensions;
    case Task::kEmbedAll:
      return dimensions * static_cast<size_t>(tokens);
    case Task::kSparse:
      return got.indices.size();
    case Task::kClassify:
      return static_cast<size_t>(limits.labels);
  }
  return 0;
}

RowReply Failed(absl::StatusCode code, const RowRef& row, const std::string& why) {
  RowReply reply;
  reply.status = absl::Status(code, absl::StrCat("row ", row.row, ": ", why));
  return reply;
}

RowReply Collect(const RowValues& got, const RowRef& row, const EngineLimits& limits) {
  if (got.status != absl::StatusCode::kOk) return Failed(got.status, row, "the engine failed on it");
  const RowTask& task = row.request->rows[row.row];
  const size_t expected = ExpectedValues(task, row.tokens(), got, limits);
  if (got.values.size() != expected) {
    return Failed(absl::StatusCode::kInternal, row,
                  absl::StrCat("the engine gave ", got.values.size(), " values, expected ", expected));
  }
  if (const size_t bad = FirstNonFinite(got.values); bad < got.values.size()) {
    return Failed(absl::StatusCode::kDataLoss, row,
                  absl::StrCat("value ", bad, " is ", got.values[bad], ", expected a finite number"));
  }
  RowReply reply;
  reply.values.assign(got.values.begin(), got.values.end());
  if (task.task == Task::kSparse) reply.indices.assign(got.indices.begin(), got.indices.end());
  return reply;
}

}  // namespace

size_t FirstNonFinite(std::span<const float> values) {
  // In blocks without a branch inside: per-token answers have millions of values, nearly always all finite.
  constexpr size_t kBlock = 256;
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    uint32_t bad = 0;
    for (const float value : block) bad |= static_cast<uint32_t>(NonFinite(value));
    if (bad != 0) {
      return begin + static_cast<size_t>(std::find_if(block.begin(), block.end(), NonFinite) - block.begin());
    }
  }
  return values.size();
}

std::vector<RowReply> CollectReplies(const engine::LazyResult& result, std::span<const RowRef> rows,
                                     const EngineLimits& limits) {
  std::vector<RowReply> replies;
  replies.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) replies.push_back(Collect(result.row(i), rows[i], limits));
  return replies;
}

}  // namespace trellis::server
