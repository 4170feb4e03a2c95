#include "tools/cli/text_encoder.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "tools/cli/template_layout.h"
#include "trellis/growing_scratch.h"

namespace trellis::cli {
namespace {

constexpr size_t kFirstRoom = 4096;
constexpr size_t kMostTextBytes = std::numeric_limits<uint32_t>::max();
constexpr size_t kMostWindowTokens = std::numeric_limits<int32_t>::max();

size_t BytesOf(const Input& input) { return input.text.size() + input.pair.value_or(std::string_view()).size(); }

}  // namespace

absl::Status ExplainedEncodeError(const absl::Status& status, const Tokenizer& tokenizer, const Input& input,
                                  const EncodeOptions& options) {
  if (!status.message().empty()) return status;
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError("the text is too long to encode in the memory there is");
  }
  if (!absl::IsInvalidArgument(status)) return status;
  if (options.truncate != Truncate::kNever) {
    const size_t specials = options.add_special_tokens ? SpecialCount(tokenizer.spec_without_pieces(), input) : 0;
    if (options.max_length < specials) {
      return absl::InvalidArgumentError("max_length " + std::to_string(options.max_length) +
                                        ": expected at least " + std::to_string(specials) +
                                        ", the number of special tokens");
    }
    if (options.truncate == Truncate::kOnlySecond && !input.pair.has_value()) {
      return absl::InvalidArgumentError("truncation only_second: expected a pair");
    }
    if (options.stride > 0) {
      return absl::InvalidArgumentError("stride " + std::to_string(options.stride) +
                                        ": expected less than what max_length " + std::to_string(options.max_length) +
                                        " leaves of a text");
    }
    if (options.truncate != Truncate::kLongestFirst) {
      return absl::InvalidArgumentError(
          std::string("truncation ") +
          (options.truncate == Truncate::kOnlyFirst ? "only_first" : "only_second") +
          ": that text is too short to be cut down to max_length " + std::to_string(options.max_length));
    }
  }
  if (!tokenizer.vocab().unk_id().has_value()) {
    return absl::InvalidArgumentError(
        "the text has characters that the model does not know, and the model "
        "has no token for the unknown");
  }
  return absl::InvalidArgumentError("the text cannot be encoded with these options");
}

void TextEncoder::Reserve(size_t tokens) {
  if (tokens <= max_tokens_) return;
  max_tokens_ = tokens < kFirstRoom ? kFirstRoom : std::bit_ceil(tokens);
  ids_ = std::make_unique_for_overwrite<TokenId[]>(max_tokens_);
  if (columns_ == Columns::kIds) return;
  offsets_ = std::make_unique_for_overwrite<Offset[]>(max_tokens_);
  type_ids_ = std::make_unique_for_overwrite<uint8_t[]>(max_tokens_);
  special_tokens_mask_ = std::make_unique_for_overwrite<uint8_t[]>(max_tokens_);
}

EncodingBuffer TextEncoder::Buffer() {
  EncodingBuffer buffer;
  buffer.ids = {ids_.get(), max_tokens_};
  if (columns_ == Columns::kAll) {
    buffer.offsets = {offsets_.get(), max_tokens_};
    buffer.type_ids = {type_ids_.get(), max_tokens_};
    buffer.special_tokens_mask = {special_tokens_mask_.get(), max_tokens_};
  }
  return buffer;
}

absl::StatusOr<Encoding> TextEncoder::Encode(const Input& input, const EncodeOptions& options) {
  const size_t bytes = BytesOf(input);
  if (bytes > kMostTextBytes) return absl::InvalidArgumentError("the text has 4 GiB or more");
  // Nearly all texts have fewer tokens than bytes; the bound can be many times that.
  const size_t most = std::min(tokenizer_.MaxTokens(bytes), kMostTextBytes);
  for (size_t tokens = std::min(most, bytes + kFirstRoom);; tokens = std::min(most, 4 * max_tokens_)) {
    Reserve(tokens);
    const EncodingBuffer buffer = Buffer();
    absl::StatusOr<Encoding> encoding = WithGrowingScratch(
        tokenizer_, bytes, scratch_, [&] { return tokenizer_.Encode(input, options, scratch_, buffer); });
    if (encoding.ok()) return encoding;
    if (absl::IsResourceExhausted(encoding.status()) && max_tokens_ < most) continue;
    return ExplainedEncodeError(encoding.status(), tokenizer_, input, options);
  }
}

absl::StatusOr<Encoding> TextEncoder::EncodeWindows(const Input& input, const EncodeOptions& options) {
  const size_t bytes = BytesOf(input);
  if (bytes > kMostTextBytes) return absl::InvalidArgumentError("the text has 4 GiB or more");
  Reserve(kFirstRoom);
  for (;;) {
    EncodingBuffer buffer = Buffer();
    buffer.cu_seqlens = cu_seqlens_;
    WindowRoom room;
    absl::StatusOr<Encoding> rows = WithGrowingScratch(tokenizer_, bytes, scratch_, [&] {
      return tokenizer_.EncodeWindows(input, options, scratch_, buffer, &room);
    });
    if (rows.ok()) return rows;
    // Exhausted once the room is known: it is the buffer that was too small.
    const bool small = room.tokens > max_tokens_ || room.rows >= cu_seqlens_.size();
    if (!absl::IsResourceExhausted(rows.status()) || room.rows == 0 || room.tokens > kMostWindowTokens || !small) {
      return ExplainedEncodeError(rows.status(), tokenizer_, input, options);
    }
    Reserve(room.tokens);
    cu_seqlens_.resize(std::max(cu_seqlens_.size(), room.rows + 1));
  }
}

}  // namespace trellis::cli
