#include "trellis/padding.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"

namespace trellis {
namespace {

absl::Status CodeOnly(absl::StatusCode code) { return absl::Status(code, ""); }

// Without cu_seqlens there is one row.
size_t RowCount(std::span<const int32_t> cu_seqlens) { return cu_seqlens.empty() ? 1 : cu_seqlens.size() - 1; }

// A column's row between pads; `from` is empty where nobody wants the column.
template <typename T>
struct Column {
  std::span<const T> from;
  std::span<T> to;
  T pad;

  // Wanted, then also there, and as long as ids.
  bool IsSound(size_t tokens, size_t room) const {
    return to.empty() || (from.size() == tokens && to.size() >= room);
  }
  void Copy(size_t row_begin, size_t row_size, size_t at, size_t front, size_t back) const {
    if (to.empty()) return;
    auto out = to.begin() + static_cast<std::ptrdiff_t>(at);
    out = std::fill_n(out, front, pad);
    out = std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(row_begin), row_size, out);
    std::fill_n(out, back, pad);
  }
};

}  // namespace

size_t PaddedLength(std::span<const int32_t> cu_seqlens, const Padding& padding) {
  size_t length = padding.length.value_or(0);
  if (!padding.length) {
    for (size_t i = 1; i < cu_seqlens.size(); ++i) {
      length = std::max(length, static_cast<size_t>(cu_seqlens[i] - cu_seqlens[i - 1]));
    }
  }
  if (padding.multiple_of > 1 && length % padding.multiple_of != 0) {
    const size_t more = padding.multiple_of - length % padding.multiple_of;
    length = more > std::numeric_limits<size_t>::max() - length ? std::numeric_limits<size_t>::max() : length + more;
  }
  return length;
}

size_t PaddedTokens(std::span<const int32_t> cu_seqlens, size_t length) {
  size_t tokens = 0;
  for (size_t i = 1; i < cu_seqlens.size(); ++i) {
    tokens += std::max(length, static_cast<size_t>(cu_seqlens[i] - cu_seqlens[i - 1]));
  }
  return tokens;
}

absl::StatusOr<PaddedRows> PadRows(const Encoding& rows, size_t length, const Padding& padding,
                                   const PaddedBuffer& buffer) {
  const size_t tokens = rows.ids.size(), room = buffer.ids.size(), count = RowCount(rows.cu_seqlens);
  const Column<TokenId> ids{rows.ids, buffer.ids, padding.id};
  const Column<Offset> offsets{rows.offsets, buffer.offsets, {}};
  const Column<uint8_t> type_ids{rows.type_ids, buffer.type_ids, padding.type_id};
  const Column<uint8_t> special{rows.special_tokens_mask, buffer.special_tokens_mask, 1};
  if (!offsets.IsSound(tokens, room) || !type_ids.IsSound(tokens, room) || !special.IsSound(tokens, room) ||
      (!buffer.attention_mask.empty() && buffer.attention_mask.size() < room) ||
      (!buffer.cu_seqlens.empty() && buffer.cu_seqlens.size() <= count)) {
    return CodeOnly(absl::StatusCode::kInvalidArgument);
  }
  if (!buffer.cu_seqlens.empty()) buffer.cu_seqlens[0] = 0;
  size_t at = 0;
  for (size_t row = 0; row < count; ++row) {
    const size_t begin = rows.cu_seqlens.empty() ? 0 : static_cast<size_t>(rows.cu_seqlens[row]);
    const size_t end = rows.cu_seqlens.empty() ? tokens : static_cast<size_t>(rows.cu_seqlens[row + 1]);
    const size_t size = end - begin, pads = length - std::min(length, size);
    const size_t left = room - at;
    if (size > left || pads > left - size) return CodeOnly(absl::StatusCode::kResourceExhausted);
    const size_t front = padding.side == Side::kLeft ? pads : 0, back = pads - front;
    ids.Copy(begin, size, at, front, back);
    offsets.Copy(begin, size, at, front, back);
    type_ids.Copy(begin, size, at, front, back);
    special.Copy(begin, size, at, front, back);
    if (!buffer.attention_mask.empty()) {
      auto out = buffer.attention_mask.begin() + static_cast<std::ptrdiff_t>(at);
      out = std::fill_n(out, front, uint8_t{0});
      out = std::fill_n(out, size, uint8_t{1});
      std::fill_n(out, back, uint8_t{0});
    }
    at += size + pads;
    if (buffer.cu_seqlens.empty()) continue;
    if (at > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return CodeOnly(absl::StatusCode::kResourceExhausted);
    }
    buffer.cu_seqlens[row + 1] = static_cast<int32_t>(at);
  }
  const auto front = [](const auto& column, size_t size) { return column.first(column.empty() ? 0 : size); };
  return PaddedRows{buffer.ids.first(at),         front(buffer.offsets, at),
                    front(buffer.type_ids, at),   front(buffer.special_tokens_mask, at),
                    front(buffer.attention_mask, at), front(buffer.cu_seqlens, count + 1)};
}

std::vector<uint8_t> Pad(EncodedText& text, size_t length, const Padding& padding) {
  const size_t size = text.ids.size(), pads = length - std::min(length, size);
  const auto insert = [&](auto& column, auto pad) {
    column.insert(padding.side == Side::kLeft ? column.begin() : column.end(), pads, pad);
  };
  std::vector<uint8_t> attention_mask(size, 1);
  insert(attention_mask, uint8_t{0});
  insert(text.ids, padding.id);
  insert(text.offsets, Offset{});
  insert(text.type_ids, padding.type_id);
  insert(text.special_tokens_mask, uint8_t{1});
  return attention_mask;
}

}  // namespace trellis
