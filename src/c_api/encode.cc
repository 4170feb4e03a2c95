// Encoding: texts to rows of columns. Nothing here allocates.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "src/c_api/columns.h"
#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"

namespace trellis::c_api {
namespace {

// Everything of a call but its inputs.
struct EncodeCall {
  const Tokenizer& tokenizer;
  EncodeOptions options;
  Scratch& scratch;
  trellis_columns columns;
};

std::optional<EncodeOptions> ReadEncodeOptions(const trellis_encode_options* from, const Report& report) {
  const auto options = ReadOptions(from, "options", report);
  if (!options || !FieldsFit({{"options.no_special_tokens", options->no_special_tokens, 1},
                              {"options.shield", options->shield, 1},
                              {"options.truncate", options->truncate, TRELLIS_TRUNCATE_ONLY_SECOND},
                              {"options.truncation_side", options->truncation_side, TRELLIS_LEFT},
                              {"options.cut_nothing", options->cut_nothing, 1},
                              {"options.encode_special_tokens", options->encode_special_tokens, 1}},
                             report)) {
    return std::nullopt;
  }
  return EncodeOptions{
      .add_special_tokens = options->no_special_tokens == 0,
      .match_special_tokens = options->shield == 0,
      .encode_special_tokens = options->encode_special_tokens != 0,
      .truncate = static_cast<Truncate>(options->truncate),
      .truncation_side = options->truncation_side == TRELLIS_LEFT ? Side::kLeft : Side::kRight,
      .max_length = options->max_length,
      .stride = options->stride,
      .no_room =
          options->cut_nothing != 0 ? EncodeOptions::NoRoom::kCutNothing : EncodeOptions::NoRoom::kRefuse};
}

std::optional<EncodeCall> ReadCall(const trellis_tokenizer* tokenizer, const trellis_encode_options* options,
                                   trellis_scratch* scratch, trellis_columns* columns, const Report& report) {
  if (tokenizer == nullptr || scratch == nullptr) {
    report.Invalid(tokenizer == nullptr ? "tokenizer: NULL, expected a tokenizer"
                                        : "scratch: NULL, expected a scratch");
    return std::nullopt;
  }
  auto room = ReadColumns(columns, "columns", report);
  if (!room) return std::nullopt;
  ClearWritten(*room);
  WriteStruct(*room, columns);
  const auto read = ReadEncodeOptions(options, report);
  if (!read) return std::nullopt;
  return EncodeCall{tokenizer->tokenizer, *read, scratch->scratch, *room};
}

// false: a pointer that is NULL where there are bytes, or a size beyond memory.
bool ReadInput(const trellis_input& from, Input& to) {
  const auto sound = [](const trellis_text& text) {
    return text.bytes == nullptr ? text.size == 0 : text.size <= PTRDIFF_MAX;
  };
  if (!sound(from.text) || !sound(from.pair)) return false;
  to = {};
  if (from.text.bytes != nullptr) to.text = {from.text.bytes, from.text.size};
  if (from.pair.bytes != nullptr) to.pair = std::string_view(from.pair.bytes, from.pair.size);
  return true;
}

size_t BytesOf(const Input& input) {
  return input.text.size() + input.pair.value_or(std::string_view()).size();
}

// What the library's codes mean, with the numbers of the call.
trellis_status Refused(absl::StatusCode code, const EncodeCall& call, const Input& input, size_t row,
                       const Report& report) {
  const size_t bytes = BytesOf(input);
  if (code == absl::StatusCode::kResourceExhausted) {
    if (std::max(input.text.size(), input.pair.value_or(std::string_view()).size()) > UINT32_MAX) {
      return report.Failf(TRELLIS_RESOURCE_EXHAUSTED, "inputs[%zu]: 4 GiB or more, expected less", row);
    }
    return report.Failf(
        TRELLIS_RESOURCE_EXHAUSTED,
        "inputs[%zu]: no room in scratch (%zu bytes) or columns (%zu tokens); trellis_scratch_bytes "
        "and trellis_max_tokens, %zu and %zu for such a row, are enough",
        row, call.scratch.capacity(), call.columns.capacity, call.tokenizer.ScratchBytes(bytes),
        call.tokenizer.MaxTokens(bytes));
  }
  if (call.options.truncate == Truncate::kNever) {
    return report.Failf(
        static_cast<trellis_status>(code),
        "inputs[%zu]: a character that is in no piece, expected a model with an unknown piece", row);
  }
  return report.Failf(
      static_cast<trellis_status>(code),
      "inputs[%zu]: cannot be cut by options.truncate %d, max_length %zu, stride %zu: expected room for the "
      "special tokens and more text than the stride, and the text that is to be cut",
      row, static_cast<int>(call.options.truncate), call.options.max_length, call.options.stride);
}

void FillAttention(trellis_columns& columns, size_t begin, size_t size) {
  if (columns.attention_mask != nullptr) std::fill_n(columns.attention_mask + begin, size, uint8_t{1});
}

trellis_status EncodeRows(EncodeCall& call, const trellis_input* inputs, size_t count, const Report& report) {
  trellis_columns& out = call.columns;
  size_t at = 0, truncated = 0;
  if (out.cu_seqlens != nullptr) out.cu_seqlens[0] = 0;
  for (size_t row = 0; row < count; ++row) {
    Input input;
    if (!ReadInput(inputs[row], input)) {
      return report.Failf(TRELLIS_INVALID_ARGUMENT,
                          "inputs[%zu]: bytes NULL or an impossible size, expected a text", row);
    }
    const auto encoding = call.tokenizer.Encode(input, call.options, call.scratch, BufferFrom(out, at));
    if (!encoding.ok()) return Refused(encoding.status().code(), call, input, row, report);
    FillAttention(out, at, encoding->ids.size());
    at += encoding->ids.size();
    truncated += encoding->num_truncated;
    if (out.cu_seqlens == nullptr) continue;
    if (at > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return report.Failf(TRELLIS_RESOURCE_EXHAUSTED,
                          "inputs[%zu]: more tokens than columns.cu_seqlens can count", row);
    }
    out.cu_seqlens[row + 1] = static_cast<int32_t>(at);
  }
  out.num_tokens = at;
  out.num_rows = count;
  out.num_truncated = truncated;
  return TRELLIS_OK;
}

trellis_status EncodeWindows(EncodeCall& call, const trellis_input& from, const Report& report) {
  Input input;
  if (!ReadInput(from, input))
    return report.Invalid("input: bytes NULL or an impossible size, expected a text");
  trellis_columns& out = call.columns;
  EncodingBuffer buffer = BufferFrom(out, 0);
  buffer.cu_seqlens = Part(out.cu_seqlens, 0, out.cu_seqlens_capacity);
  WindowRoom needed;
  const auto rows = call.tokenizer.EncodeWindows(input, call.options, call.scratch, buffer, &needed);
  out.needed_tokens = needed.tokens;
  out.needed_rows = needed.rows;
  if (!rows.ok()) {
    if (needed.rows == 0) return Refused(rows.status().code(), call, input, 0, report);
    return report.Failf(
        TRELLIS_RESOURCE_EXHAUSTED,
        "columns: room for %zu tokens and %zu rows, expected %zu tokens and %zu rows and one more number",
        out.capacity, out.cu_seqlens_capacity, needed.tokens, needed.rows);
  }
  out.num_tokens = rows->ids.size();
  out.num_rows = needed.rows;
  FillAttention(out, 0, out.num_tokens);
  return TRELLIS_OK;
}

}  // namespace
}  // namespace trellis::c_api

using trellis::c_api::Guarded;
using trellis::c_api::Report;

trellis_status trellis_encode(const trellis_tokenizer* tokenizer, const trellis_input* input,
                              const trellis_encode_options* options, trellis_scratch* scratch,
                              trellis_columns* columns, char* message, size_t message_size) {
  const Report report(message, message_size);
  if (input == nullptr) return report.Invalid("input: NULL, expected a text");
  return Guarded(report, [&]() -> trellis_status {
    auto call = trellis::c_api::ReadCall(tokenizer, options, scratch, columns, report);
    if (!call) return TRELLIS_INVALID_ARGUMENT;
    if (call->columns.cu_seqlens_capacity < 2) call->columns.cu_seqlens = nullptr;
    const trellis_status status = trellis::c_api::EncodeRows(*call, input, 1, report);
    call->columns.cu_seqlens = columns->cu_seqlens;
    trellis::c_api::WriteStruct(call->columns, columns);
    return status;
  });
}

trellis_status trellis_encode_batch(const trellis_tokenizer* tokenizer, const trellis_input* inputs,
                                    size_t count, const trellis_encode_options* options,
                                    trellis_scratch* scratch, trellis_columns* columns, char* message,
                                    size_t message_size) {
  const Report report(message, message_size);
  if ((inputs == nullptr && count != 0) || count > PTRDIFF_MAX / sizeof(trellis_input)) {
    return report.Invalid("inputs: NULL or an impossible count, expected an array");
  }
  return Guarded(report, [&]() -> trellis_status {
    auto call = trellis::c_api::ReadCall(tokenizer, options, scratch, columns, report);
    if (!call) return TRELLIS_INVALID_ARGUMENT;
    if (call->columns.cu_seqlens == nullptr || call->columns.cu_seqlens_capacity <= count) {
      return report.Failf(TRELLIS_INVALID_ARGUMENT,
                          "columns.cu_seqlens: NULL or room for %zu numbers, expected %zu",
                          call->columns.cu_seqlens_capacity, count + 1);
    }
    const trellis_status status = trellis::c_api::EncodeRows(*call, inputs, count, report);
    trellis::c_api::WriteStruct(call->columns, columns);
    return status;
  });
}

trellis_status trellis_encode_windows(const trellis_tokenizer* tokenizer, const trellis_input* input,
                                      const trellis_encode_options* options, trellis_scratch* scratch,
                                      trellis_columns* columns, char* message, size_t message_size) {
  const Report report(message, message_size);
  if (input == nullptr) return report.Invalid("input: NULL, expected a text");
  return Guarded(report, [&]() -> trellis_status {
    auto call = trellis::c_api::ReadCall(tokenizer, options, scratch, columns, report);
    if (!call) return TRELLIS_INVALID_ARGUMENT;
    const trellis_status status = trellis::c_api::EncodeWindows(*call, *input, report);
    trellis::c_api::WriteStruct(call->columns, columns);
    return status;
  });
}

int32_t trellis_file_truncation(const trellis_tokenizer* tokenizer, trellis_encode_options* options) {
  if (tokenizer == nullptr || options == nullptr || !tokenizer->tokenizer.spec().truncation) return 0;
  auto read = trellis::c_api::ReadStruct(options, "options", Report(nullptr, 0));
  if (!read) return 0;
  const trellis::EncodeOptions file = trellis::WithFileTruncation(tokenizer->tokenizer.spec());
  read->truncate = static_cast<uint32_t>(file.truncate);
  read->truncation_side = file.truncation_side == trellis::Side::kLeft ? TRELLIS_LEFT : TRELLIS_RIGHT;
  read->max_length = file.max_length;
  read->stride = file.stride;
  read->cut_nothing = file.no_room == trellis::EncodeOptions::NoRoom::kCutNothing ? 1 : 0;
  trellis::c_api::WriteStruct(*read, options);
  return 1;
}
