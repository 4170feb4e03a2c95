// Padding. Nothing here allocates.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "src/c_api/columns.h"
#include "src/c_api/handles.h"
#include "src/c_api/report.h"
#include "src/c_api/versioned.h"
#include "trellis/c_api.h"
#include "trellis/padding.h"

namespace trellis::c_api {
namespace {

std::optional<Padding> ReadPadding(const trellis_padding* from, const Report& report) {
  const auto padding = ReadOptions(from, "padding", report);
  if (!padding || !FieldsFit({{"padding.strategy", padding->strategy, TRELLIS_PAD_FIXED},
                              {"padding.side", padding->side, TRELLIS_LEFT},
                              {"padding.type_id", padding->type_id, UINT8_MAX}},
                             report)) {
    return std::nullopt;
  }
  Padding out;
  if (padding->strategy == TRELLIS_PAD_FIXED) out.length = padding->length;
  out.multiple_of = padding->multiple_of;
  out.side = padding->side == TRELLIS_LEFT ? Side::kLeft : Side::kRight;
  out.id = padding->id;
  out.type_id = static_cast<uint8_t>(padding->type_id);
  return out;
}

// Rows as an encode call leaves them. What is not so is refused, since rows are
// read where cu_seqlens says.
class WrittenRows {
 public:
  static std::optional<WrittenRows> Read(const trellis_columns* from, const Report& report) {
    const auto columns = ReadColumns(from, "rows", report);
    if (!columns) return std::nullopt;
    WrittenRows rows(*columns);
    if (rows.IsSound()) return rows;
    report.Failf(TRELLIS_INVALID_ARGUMENT,
                 "rows: %zu rows of %zu tokens with a cu_seqlens that does not fit, expected what an encode "
                 "call wrote",
                 columns->num_rows, columns->num_tokens);
    return std::nullopt;
  }

  std::span<const int32_t> ends() const {
    return has_ends() ? std::span<const int32_t>(columns_.cu_seqlens, columns_.num_rows + 1)
                      : std::span<const int32_t>(one_row_);
  }
  size_t count() const { return columns_.num_rows; }
  Encoding encoding() const {
    const size_t tokens = columns_.num_tokens;
    return {Part(columns_.ids, 0, tokens), Part(AsOffsets(columns_.offsets), 0, tokens),
            Part(columns_.type_ids, 0, tokens), Part(columns_.special_tokens_mask, 0, tokens), ends()};
  }

 private:
  explicit WrittenRows(const trellis_columns& columns)
      : columns_(columns), one_row_{0, static_cast<int32_t>(columns.num_tokens)} {}

  bool has_ends() const {
    return columns_.cu_seqlens != nullptr && columns_.cu_seqlens_capacity > columns_.num_rows;
  }
  bool IsSound() const {
    constexpr size_t kMost = std::numeric_limits<int32_t>::max();
    if (columns_.num_tokens > columns_.capacity || columns_.num_tokens > kMost) return false;
    if (!has_ends()) return columns_.num_rows == 1;
    const auto ends = this->ends();
    for (size_t i = 1; i < ends.size(); ++i) {
      if (ends[i] < ends[i - 1]) return false;
    }
    return ends.front() == 0 && ends.back() == static_cast<int32_t>(columns_.num_tokens);
  }

  trellis_columns columns_;
  int32_t one_row_[2];
};

// false: more than memory holds, said in `report`.
bool PaddedSize(const WrittenRows& rows, const Padding& padding, const Report& report, size_t& length,
                size_t& tokens) {
  length = PaddedLength(rows.ends(), padding);
  if (length > kMostTokens / (rows.count() + 1)) {
    report.Failf(TRELLIS_RESOURCE_EXHAUSTED,
                 "padding: %zu rows of %zu tokens, expected what fits into memory", rows.count(), length);
    return false;
  }
  tokens = PaddedTokens(rows.ends(), length);
  return true;
}

trellis_status Pad(const WrittenRows& rows, const Padding& padding, const Report& report,
                   trellis_columns& out) {
  size_t length = 0, tokens = 0;
  if (!PaddedSize(rows, padding, report, length, tokens)) return TRELLIS_RESOURCE_EXHAUSTED;
  const EncodingBuffer buffer = BufferFrom(out, 0);
  const auto padded =
      PadRows(rows.encoding(), length, padding,
              {buffer.ids, buffer.offsets, buffer.type_ids, buffer.special_tokens_mask,
               Part(out.attention_mask, 0, out.capacity), Part(out.cu_seqlens, 0, out.cu_seqlens_capacity)});
  if (absl::IsResourceExhausted(padded.status())) {
    return report.Failf(TRELLIS_RESOURCE_EXHAUSTED, "padded.capacity: %zu tokens, expected %zu", out.capacity,
                        tokens);
  }
  if (!padded.ok()) {
    return report.Invalid("padded: a column that rows does not have, or cu_seqlens with too little room");
  }
  out.num_tokens = padded->ids.size();
  out.num_rows = rows.count();
  return TRELLIS_OK;
}

}  // namespace
}  // namespace trellis::c_api

using trellis::c_api::Guarded;
using trellis::c_api::Report;
using trellis::c_api::WrittenRows;

trellis_status trellis_padded_size(const trellis_columns* rows, const trellis_padding* padding,
                                   size_t* length, size_t* tokens, char* message, size_t message_size) {
  const Report report(message, message_size);
  if (length == nullptr || tokens == nullptr)
    return report.Invalid("length, tokens: NULL, expected where to put them");
  *length = *tokens = 0;
  return Guarded(report, [&]() -> trellis_status {
    const auto read = WrittenRows::Read(rows, report);
    const auto how = read ? trellis::c_api::ReadPadding(padding, report) : std::nullopt;
    if (!how) return TRELLIS_INVALID_ARGUMENT;
    return trellis::c_api::PaddedSize(*read, *how, report, *length, *tokens) ? TRELLIS_OK
                                                                             : TRELLIS_RESOURCE_EXHAUSTED;
  });
}

trellis_status trellis_pad(const trellis_columns* rows, const trellis_padding* padding,
                           trellis_columns* padded, char* message, size_t message_size) {
  const Report report(message, message_size);
  return Guarded(report, [&]() -> trellis_status {
    const auto read = WrittenRows::Read(rows, report);
    auto out = read ? trellis::c_api::ReadColumns(padded, "padded", report) : std::nullopt;
    const auto how = out ? trellis::c_api::ReadPadding(padding, report) : std::nullopt;
    if (!how) return TRELLIS_INVALID_ARGUMENT;
    trellis::c_api::ClearWritten(*out);
    const trellis_status status = trellis::c_api::Pad(*read, *how, report, *out);
    trellis::c_api::WriteStruct(*out, padded);
    return status;
  });
}

int32_t trellis_file_padding(const trellis_tokenizer* tokenizer, trellis_padding* padding) {
  if (tokenizer == nullptr || padding == nullptr || !tokenizer->tokenizer.spec().padding) return 0;
  auto read = trellis::c_api::ReadStruct(padding, "padding", Report(nullptr, 0));
  if (!read) return 0;
  const trellis::Padding& file = *tokenizer->tokenizer.spec().padding;
  read->strategy = file.length ? TRELLIS_PAD_FIXED : TRELLIS_PAD_LONGEST;
  read->length = file.length.value_or(0);
  read->multiple_of = file.multiple_of;
  read->side = file.side == trellis::Side::kLeft ? TRELLIS_LEFT : TRELLIS_RIGHT;
  read->id = file.id;
  read->type_id = file.type_id;
  trellis::c_api::WriteStruct(*read, padding);
  return 1;
}
