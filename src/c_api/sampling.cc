// N-best and sampling: other ways through a text, to rows of columns.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "src/c_api/columns.h"
#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"
#include "trellis/sampling.h"

namespace trellis::c_api {
namespace {

// The caller's text and columns, with nothing written yet.
struct WaysCall {
  const Tokenizer& tokenizer;
  std::string_view text;
  trellis_columns columns;
};

std::optional<WaysCall> ReadCall(const trellis_tokenizer* tokenizer, const trellis_text* text,
                                 trellis_columns* columns, const Report& report) {
  if (tokenizer == nullptr) {
    report.Invalid("tokenizer: NULL, expected a tokenizer");
    return std::nullopt;
  }
  if (text == nullptr || (text->bytes == nullptr ? text->size != 0 : text->size > PTRDIFF_MAX)) {
    report.Invalid("text: NULL or an impossible size, expected a text");
    return std::nullopt;
  }
  auto room = ReadColumns(columns, "columns", report);
  if (!room) return std::nullopt;
  ClearWritten(*room);
  WriteStruct(*room, columns);
  return WaysCall{tokenizer->tokenizer,
                  text->bytes == nullptr ? std::string_view() : std::string_view(text->bytes, text->size),
                  *room};
}

// A row each; without cu_seqlens there is one.
trellis_status WriteWays(std::span<const Segmentation> ways, trellis_columns& out, const Report& report) {
  size_t tokens = 0;
  for (const Segmentation& way : ways) tokens += way.ids.size();
  out.needed_tokens = tokens;
  out.needed_rows = ways.size();
  const bool has_rows = out.cu_seqlens != nullptr;
  if (tokens > out.capacity || (has_rows && out.cu_seqlens_capacity <= ways.size())) {
    return report.Failf(
        TRELLIS_RESOURCE_EXHAUSTED,
        "columns: room for %zu tokens and %zu rows, expected %zu tokens and %zu rows and one more number",
        out.capacity, out.cu_seqlens_capacity, tokens, ways.size());
  }
  if (has_rows && tokens > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return report.Fail(TRELLIS_RESOURCE_EXHAUSTED, "columns.cu_seqlens: more tokens than they can count");
  }
  size_t at = 0, row = 0;
  if (has_rows) out.cu_seqlens[0] = 0;
  for (const Segmentation& way : ways) {
    std::copy(way.ids.begin(), way.ids.end(), out.ids + at);
    if (out.offsets != nullptr)
      std::copy(way.offsets.begin(), way.offsets.end(), AsOffsets(out.offsets) + at);
    at += way.ids.size();
    if (has_rows) out.cu_seqlens[++row] = static_cast<int32_t>(at);
  }
  if (out.type_ids != nullptr) std::fill_n(out.type_ids, at, uint8_t{0});
  if (out.special_tokens_mask != nullptr) std::fill_n(out.special_tokens_mask, at, uint8_t{0});
  if (out.attention_mask != nullptr) std::fill_n(out.attention_mask, at, uint8_t{1});
  out.num_tokens = at;
  out.num_rows = ways.size();
  return TRELLIS_OK;
}

}  // namespace
}  // namespace trellis::c_api

using trellis::c_api::Guarded;
using trellis::c_api::Report;

trellis_status trellis_encode_nbest(const trellis_tokenizer* tokenizer, const trellis_text* text,
                                    size_t count, trellis_columns* columns, float* scores,
                                    size_t scores_capacity, char* message, size_t message_size) {
  const Report report(message, message_size);
  return Guarded(report, [&]() -> trellis_status {
    auto call = trellis::c_api::ReadCall(tokenizer, text, columns, report);
    if (!call) return TRELLIS_INVALID_ARGUMENT;
    if (call->columns.cu_seqlens == nullptr) {
      return report.Invalid("columns.cu_seqlens: NULL, expected room for a number a row and one more");
    }
    const auto ways = trellis::EncodeNBest(call->tokenizer, call->text, count);
    if (!ways.ok()) return report.From(ways.status());
    if (scores != nullptr && scores_capacity < ways->size()) {
      return report.Failf(TRELLIS_RESOURCE_EXHAUSTED, "scores: room for %zu, expected %zu", scores_capacity,
                          ways->size());
    }
    const trellis_status status = trellis::c_api::WriteWays(*ways, call->columns, report);
    trellis::c_api::WriteStruct(call->columns, columns);
    if (status != TRELLIS_OK || scores == nullptr) return status;
    for (size_t i = 0; i < ways->size(); ++i) scores[i] = (*ways)[i].score;
    return TRELLIS_OK;
  });
}

trellis_status trellis_random_create(uint32_t seed, trellis_random** random) {
  if (random == nullptr) return TRELLIS_INVALID_ARGUMENT;
  *random = new (std::nothrow) trellis_random{std::mt19937(seed)};
  return *random == nullptr ? TRELLIS_RESOURCE_EXHAUSTED : TRELLIS_OK;
}

void trellis_random_free(trellis_random* random) { delete random; }

trellis_status trellis_encode_sample(const trellis_tokenizer* tokenizer, const trellis_text* text,
                                     int32_t nbest_size, float alpha, trellis_random* random,
                                     trellis_columns* columns, float* score, char* message,
                                     size_t message_size) {
  const Report report(message, message_size);
  if (random == nullptr) return report.Invalid("random: NULL, expected a random");
  return Guarded(report, [&]() -> trellis_status {
    auto call = trellis::c_api::ReadCall(tokenizer, text, columns, report);
    if (!call) return TRELLIS_INVALID_ARGUMENT;
    if (call->columns.cu_seqlens_capacity < 2) call->columns.cu_seqlens = nullptr;
    std::mt19937 drawing = random->random;
    const auto way = trellis::EncodeSample(call->tokenizer, call->text, {nbest_size, alpha}, drawing);
    if (!way.ok()) return report.From(way.status());
    const trellis_status status = trellis::c_api::WriteWays({&*way, 1}, call->columns, report);
    call->columns.cu_seqlens = columns->cu_seqlens;
    trellis::c_api::WriteStruct(call->columns, columns);
    if (status != TRELLIS_OK) return status;
    random->random = drawing;
    if (score != nullptr) *score = way->score;
    return TRELLIS_OK;
  });
}
