// The calls that own and allocate what they return, on top of those that do not.
#include <algorithm>
#include <limits>

#include "trellis/growing_scratch.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

// One a thread, for all tokenizers; grows to what its largest text has needed.
Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

size_t Bytes(const Input& input) { return input.text.size() + input.pair.value_or(std::string_view()).size(); }

// Columns of so many tokens.
EncodingBuffer Resize(size_t tokens, EncodedText& text) {
  text.ids.resize(tokens);
  text.offsets.resize(tokens);
  text.type_ids.resize(tokens);
  text.special_tokens_mask.resize(tokens);
  return {text.ids, text.offsets, text.type_ids, text.special_tokens_mask, {}};
}

}  // namespace

absl::StatusOr<EncodedText> Tokenizer::Encode(const Input& input, const EncodeOptions& options) const {
  Scratch& scratch = ThreadScratch();
  const size_t bytes = Bytes(input);
  EncodedText text;
  // What the bound allows is far more than nearly all texts need: begin with
  // less and grow when that proves too little.
  const size_t most = std::min(MaxTokens(bytes), size_t{std::numeric_limits<uint32_t>::max()});
  for (size_t room = std::min(most, bytes / 2 + 16);; room = std::min(most, room * 4)) {
    const EncodingBuffer buffer = Resize(room, text);
    const auto encoding =
        WithGrowingScratch(*this, bytes, scratch, [&] { return Encode(input, options, scratch, buffer); });
    if (!encoding.ok()) {
      if (absl::IsResourceExhausted(encoding.status()) && room < most) continue;
      return encoding.status();
    }
    Resize(encoding->ids.size(), text);
    text.num_truncated = encoding->num_truncated;
    return text;
  }
}

absl::StatusOr<EncodedText> Tokenizer::Encode(std::string_view text) const { return Encode(Input{text}); }

absl::StatusOr<std::vector<EncodedText>> Tokenizer::EncodeWindows(const Input& input,
                                                                  const EncodeOptions& options) const {
  Scratch& scratch = ThreadScratch();
  EncodedText all;
  WindowRoom room;
  // The first call only counts.
  absl::StatusOr<Encoding> rows = WithGrowingScratch(
      *this, Bytes(input), scratch, [&] { return EncodeWindows(input, options, scratch, {}, &room); });
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  if (!absl::IsResourceExhausted(rows.status()) || room.rows == 0 || room.tokens > kMost) return rows.status();
  EncodingBuffer buffer = Resize(room.tokens, all);
  std::vector<int32_t> ends(room.rows + 1);
  buffer.cu_seqlens = ends;
  rows = WithGrowingScratch(*this, Bytes(input), scratch,
                            [&] { return EncodeWindows(input, options, scratch, buffer); });
  if (!rows.ok()) return rows.status();
  std::vector<EncodedText> windows(room.rows);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto begin = static_cast<size_t>(ends[i]), size = static_cast<size_t>(ends[i + 1] - ends[i]);
    const auto part = [&](const auto& column, auto& out) {
      const auto values = column.subspan(begin, size);
      out.assign(values.begin(), values.end());
    };
    part(rows->ids, windows[i].ids);
    part(rows->offsets, windows[i].offsets);
    part(rows->type_ids, windows[i].type_ids);
    part(rows->special_tokens_mask, windows[i].special_tokens_mask);
  }
  return windows;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  std::string text;
  text.resize(DecodeGrowing(*this, ids, options, text).value_or(std::string_view()).size());
  return text;
}

}  // namespace trellis
