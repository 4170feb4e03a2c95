// One input to rows: truncation, windows, and the template around the texts.
#include <algorithm>
#include <optional>

#include "src/tokenizer_impl.h"
#include "trellis/internal/stage/offset_trim.h"

namespace trellis {

using internal::CodeOnly;
using internal::PostProcessor;
using internal::StageResult;
using internal::TemplateStep;
using internal::TextWindows;
using internal::TokenSink;
using internal::TokenWindow;
using internal::WordCache;

namespace {

absl::StatusCode ToCode(StageResult result) {
  switch (result) {
    case StageResult::kOk:
      return absl::StatusCode::kOk;
    case StageResult::kNoRoom:
      return absl::StatusCode::kResourceExhausted;
    case StageResult::kNoUnk:
      return absl::StatusCode::kInvalidArgument;
  }
  return absl::StatusCode::kInternal;
}

// The columns of `buffer` at [at, at + size) get one value or row of tokens.
void FillColumns(const EncodingBuffer& buffer, size_t at, size_t size, uint8_t type_id, uint8_t special) {
  if (!buffer.type_ids.empty()) std::fill_n(buffer.type_ids.begin() + static_cast<std::ptrdiff_t>(at), size, type_id);
  if (!buffer.special_tokens_mask.empty()) {
    std::fill_n(buffer.special_tokens_mask.begin() + static_cast<std::ptrdiff_t>(at), size, special);
  }
}

PostProcessor::Shape ShapeOf(const Input& input) {
  return input.pair ? PostProcessor::Shape::kPair : PostProcessor::Shape::kSingle;
}

std::string_view TextOf(const Input& input, size_t i) { return i == 0 ? input.text : *input.pair; }

// Of all windows of one text together.
size_t TokensOf(const TextWindows& windows) {
  size_t tokens = 0;
  for (size_t i = 0; i < windows.count(); ++i) tokens += windows[i].end - windows[i].begin;
  return tokens;
}

bool IsTooLong(const Input& input) {
  return input.text.size() > internal::kMaxTextBytes || (input.pair && input.pair->size() > internal::kMaxTextBytes);
}

}  // namespace

void Tokenizer::Impl::TrimOffsets(std::string_view text, std::span<const TokenId> ids,
                                  std::span<Offset> offsets) const {
  const auto trim = post_processor_.trim_offsets();
  for (size_t i = 0; i < ids.size(); ++i) {
    // The string of an unknown or added token is what it stands for in the text.
    const bool is_surface = ids[i] == spec_.model.unk_id || vocab_.IsAdded(ids[i]);
    const std::string_view token =
        is_surface ? text.substr(offsets[i].begin, offsets[i].end - offsets[i].begin) : vocab_.Text(ids[i]);
    offsets[i] = internal::TrimOffset(trim, text, token, i == 0, offsets[i]);
  }
}

template <typename WriteText>
absl::StatusCode Tokenizer::Impl::WriteRow(const Input& input, const EncodeOptions& options,
                                           const EncodingBuffer& buffer, size_t at, size_t& size,
                                           const WriteText& write_text) const {
  size = 0;
  for (const TemplateStep& step : post_processor_.steps(ShapeOf(input))) {
    const size_t here = at + size;
    TokenSink sink(buffer.ids.data() + here, buffer.offsets.empty() ? nullptr : buffer.offsets.data() + here,
                   buffer.ids.size() - here);
    if (step.kind == TemplateStep::Kind::kSpecial) {
      if (!options.add_special_tokens) continue;
      if (!sink.Push(step.id, Offset{})) return absl::StatusCode::kResourceExhausted;
      FillColumns(buffer, here, 1, step.type_id, 1);
      ++size;
      continue;
    }
    const size_t i = step.kind == TemplateStep::Kind::kFirst ? 0 : 1;
    if (const StageResult r = write_text(i, sink); r != StageResult::kOk) return ToCode(r);
    if (sink.wants_offsets() && post_processor_.trim_offsets() != trellis::TrimOffsets::kNo) {
      TrimOffsets(TextOf(input, i), buffer.ids.subspan(here, sink.size()), buffer.offsets.subspan(here, sink.size()));
    }
    FillColumns(buffer, here, sink.size(), step.type_id, 0);
    size += sink.size();
  }
  return absl::StatusCode::kOk;
}

bool Tokenizer::Impl::CutsNothing(const EncodeOptions& options, PostProcessor::Shape shape) const {
  if (options.truncate == Truncate::kNever) return true;
  return options.no_room == EncodeOptions::NoRoom::kCutNothing && options.add_special_tokens &&
         options.max_length < post_processor_.NumAdded(shape);
}

absl::StatusCode Tokenizer::Impl::TokenizeTexts(const Input& input, const EncodeOptions& options,
                                                const EncodingBuffer& buffer, ScratchCarver& carver,
                                                WordCache::Memory* cache, TokenizedTexts& texts) const {
  const size_t num_texts = input.pair ? 2 : 1;
  const size_t added = options.add_special_tokens ? post_processor_.NumAdded(ShapeOf(input)) : 0;
  const bool cuts_nothing = CutsNothing(options, ShapeOf(input));
  if (!cuts_nothing && options.max_length < added) return absl::StatusCode::kInvalidArgument;
  constexpr size_t kShare = 4;
  const size_t enough = ScratchBytes(input.text.size() + (input.pair ? input.pair->size() : 0));
  const bool is_short = carver.capacity() < enough;
  for (size_t i = 0; i < num_texts; ++i) {
    const std::string_view text = TextOf(input, i);
    // All that can be, or with less scratch than that takes, a share of what there is.
    const size_t most = MaxTextTokens(text.size());
    size_t room = most;
    if (is_short) room = std::min(most, carver.left() / (kShare * (sizeof(TokenId) + sizeof(Offset))));
    texts.ids[i] = carver.Take<TokenId>(room);
    texts.offsets[i] = buffer.offsets.empty() ? std::span<Offset>() : carver.Take<Offset>(room);
    if (texts.ids[i].size() < room || (!buffer.offsets.empty() && texts.offsets[i].size() < room)) {
      return absl::StatusCode::kResourceExhausted;
    }
    TokenSink sink(texts.ids[i].data(), texts.offsets[i].empty() ? nullptr : texts.offsets[i].data(), room);
    if (const StageResult r = EncodeText(text, options, carver, cache, sink); r != StageResult::kOk) {
      if (r == StageResult::kNoRoom && room < most) carver.AskFor(std::min(2 * carver.capacity() + 1, enough));
      return ToCode(r);
    }
    texts.ids[i] = texts.ids[i].first(sink.size());
  }
  const auto kept = internal::RunTruncation(
      cuts_nothing ? Truncate::kNever : options.truncate, options.max_length - added, texts.ids[0].size(),
      input.pair ? std::optional<size_t>(texts.ids[1].size()) : std::nullopt);
  if (!kept) return absl::StatusCode::kInvalidArgument;
  for (size_t i = 0; i < num_texts; ++i) {
    texts.windows[i] =
        TextWindows(texts.ids[i].size(), i == 0 ? kept->first : kept->second, options.stride, options.truncation_side);
    if (!texts.windows[i].CanAdvance()) return absl::StatusCode::kInvalidArgument;
  }
  return absl::StatusCode::kOk;
}

absl::StatusCode Tokenizer::Impl::WriteWindow(const Input& input, const EncodeOptions& options,
                                              const TokenizedTexts& texts, const size_t (&window)[2],
                                              const EncodingBuffer& buffer, size_t at, size_t& size) const {
  return WriteRow(input, options, buffer, at, size, [&](size_t i, TokenSink& sink) {
    const TokenWindow part = texts.windows[i][window[i]];
    const size_t count = part.end - part.begin;
    if (count > sink.room()) return StageResult::kNoRoom;
    std::copy_n(texts.ids[i].data() + part.begin, count, sink.next_ids());
    if (sink.wants_offsets()) std::copy_n(texts.offsets[i].data() + part.begin, count, sink.next_offsets());
    sink.Wrote(count);
    return StageResult::kOk;
  });
}

absl::StatusCode Tokenizer::Impl::EncodeRow(const Input& input, const EncodeOptions& options, ScratchCarver& carver,
                                            WordCache::Memory* cache, const EncodingBuffer& buffer, size_t at,
                                            size_t& size, size_t& num_truncated) const {
  if (IsTooLong(input)) return absl::StatusCode::kResourceExhausted;
  if (CutsNothing(options, ShapeOf(input))) {
    return WriteRow(input, options, buffer, at, size, [&](size_t i, TokenSink& sink) {
      return EncodeText(TextOf(input, i), options, carver, cache, sink);
    });
  }
  TokenizedTexts texts;
  const absl::StatusCode code = TokenizeTexts(input, options, buffer, carver, cache, texts);
  if (code != absl::StatusCode::kOk) return code;
  for (size_t i = 0; i < 2; ++i) {
    const TokenWindow kept = texts.windows[i][0];
    num_truncated += texts.ids[i].size() - (kept.end - kept.begin);
  }
  return WriteWindow(input, options, texts, {0, 0}, buffer, at, size);
}

absl::StatusOr<Encoding> Tokenizer::Impl::EncodeWindows(const Input& input, const EncodeOptions& options,
                                                        Scratch& scratch, const EncodingBuffer& buffer,
                                                        WindowRoom& needed) const {
  if (!internal::ColumnsFit(buffer)) return CodeOnly(absl::StatusCode::kInvalidArgument);
  if (IsTooLong(input)) return CodeOnly(absl::StatusCode::kResourceExhausted);
  ScratchCarver carver(scratch);
  WordCache::Memory* const cache = TakeCache(carver);
  if (words_ != nullptr && cache == nullptr) return CodeOnly(absl::StatusCode::kResourceExhausted);
  TokenizedTexts texts;
  const absl::StatusCode tokenized = TokenizeTexts(input, options, buffer, carver, cache, texts);
  if (tokenized != absl::StatusCode::kOk) return CodeOnly(tokenized);

  // A text that the template leaves out has no windows either. The one that comes
  // first in it changes last, once the first row is out: the reference's order.
  size_t count[2] = {1, 1}, uses[2] = {0, 0}, added = 0;
  std::optional<size_t> outer;
  for (const TemplateStep& step : post_processor_.steps(ShapeOf(input))) {
    if (step.kind == TemplateStep::Kind::kSpecial) {
      added += options.add_special_tokens;
      continue;
    }
    const size_t i = step.kind == TemplateStep::Kind::kFirst ? 0 : 1;
    count[i] = texts.windows[i].count();
    ++uses[i];
    if (!outer) outer = i;
  }
  // More than cu_seqlens can count: no buffer would do.
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  needed = {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max()};
  if (count[0] >= kMost / count[1]) return CodeOnly(absl::StatusCode::kResourceExhausted);
  needed.rows = count[0] * count[1];
  needed.tokens = needed.rows * added + uses[0] * TokensOf(texts.windows[0]) * count[1] +
                  uses[1] * TokensOf(texts.windows[1]) * count[0];
  if (needed.tokens > kMost || needed.tokens > buffer.ids.size() || needed.rows >= buffer.cu_seqlens.size()) {
    return CodeOnly(absl::StatusCode::kResourceExhausted);
  }

  const size_t first = outer.value_or(0), second = 1 - first;
  size_t at = 0, rows = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  buffer.cu_seqlens[0] = 0;
  const auto put = [&](size_t of_first, size_t of_second) {
    size_t window[2] = {};
    window[first] = of_first;
    window[second] = of_second;
    size_t size = 0;
    if (code == absl::StatusCode::kOk) code = WriteWindow(input, options, texts, window, buffer, at, size);
    at += size;
    buffer.cu_seqlens[++rows] = static_cast<int32_t>(at);
  };
  put(0, 0);
  for (size_t i = 1; i < count[first]; ++i) {
    for (size_t j = 0; j < count[second]; ++j) put(i, j);
  }
  for (size_t j = 1; j < count[second]; ++j) put(0, j);
  if (code != absl::StatusCode::kOk) return CodeOnly(code);
  return internal::Written(buffer, at, rows, 0);
}

}  // namespace trellis
