// A spec's fields for an archive that writes or reads them (compiled_spec.cc):
// each struct's are listed once, for both ways. The lists name all fields (a
// structured binding must), so that a new one cannot be forgotten here: it does
// not compile. What is added or moved raises the spec's revision
// (compiled_file.cc).
#ifndef TRELLIS_SRC_SPEC_FIELDS_H_
#define TRELLIS_SRC_SPEC_FIELDS_H_

#include "trellis/spec.h"

namespace trellis::internal {

// The last value of each enumeration.
constexpr auto Last(Dialect) { return Dialect::kSentencePiece; }
constexpr auto Last(UnicodeForm) { return UnicodeForm::kNfkd; }
constexpr auto Last(PrependScheme) { return PrependScheme::kNever; }
constexpr auto Last(SplitBehavior) { return SplitBehavior::kContiguous; }
constexpr auto Last(Sequence) { return Sequence::kB; }
constexpr auto Last(TrimOffsets) { return TrimOffsets::kKeepPrefixSpace; }
constexpr auto Last(Truncate) { return Truncate::kOnlySecond; }
constexpr auto Last(Side) { return Side::kLeft; }

template <typename A>
void Fields(A& a, typename A::template Ref<AddedToken> token) {
  auto& [content, id, single_word, lstrip, rstrip, normalized, special] = token;
  a(content, id, single_word, lstrip, rstrip, normalized, special);
}
template <typename A>
void Fields(A& a, typename A::template Ref<PrecompiledNormalizer> normalizer) {
  auto& [charsmap] = normalizer;
  a(charsmap);
}
template <typename A>
void Fields(A& a, typename A::template Ref<ReplaceNormalizer> normalizer) {
  auto& [pattern, is_regex, content] = normalizer;
  a(pattern, is_regex, content);
}
template <typename A>
void Fields(A& a, typename A::template Ref<SentencePieceNormalizer> normalizer) {
  auto& [charsmap, dummy, extra, escape, suffix] = normalizer;
  a(charsmap, dummy, extra, escape, suffix);
}
template <typename A>
void Fields(A& a, typename A::template Ref<UnicodeNormalizer> normalizer) {
  auto& [form] = normalizer;
  a(form);
}
template <typename A>
void Fields(A& a, typename A::template Ref<StripNormalizer> normalizer) {
  auto& [left, right] = normalizer;
  a(left, right);
}
template <typename A>
void Fields(A& a, typename A::template Ref<PrependNormalizer> normalizer) {
  auto& [prepend] = normalizer;
  a(prepend);
}
template <typename A>
void Fields(A& a, typename A::template Ref<BertNormalizer> normalizer) {
  auto& [clean, chinese, accents, lowercase] = normalizer;
  a(clean, chinese, accents, lowercase);
}
template <typename A>
void Fields(A& a, typename A::template Ref<MetaspacePreTokenizer> pre_tokenizer) {
  auto& [replacement, scheme, split] = pre_tokenizer;
  a(replacement, scheme, split);
}
template <typename A>
void Fields(A& a, typename A::template Ref<PunctuationPreTokenizer> pre_tokenizer) {
  auto& [behavior] = pre_tokenizer;
  a(behavior);
}
template <typename A>
void Fields(A& a, typename A::template Ref<DigitsPreTokenizer> pre_tokenizer) {
  auto& [individual] = pre_tokenizer;
  a(individual);
}
template <typename A>
void Fields(A& a, typename A::template Ref<SplitPreTokenizer> pre_tokenizer) {
  auto& [pattern, is_regex, behavior, invert] = pre_tokenizer;
  a(pattern, is_regex, behavior, invert);
}
template <typename A>
void Fields(A& a, typename A::template Ref<CharDelimiterPreTokenizer> pre_tokenizer) {
  auto& [delimiter] = pre_tokenizer;
  a(delimiter);
}
template <typename A>
void Fields(A& a, typename A::template Ref<FixedLengthPreTokenizer> pre_tokenizer) {
  auto& [length] = pre_tokenizer;
  a(length);
}
template <typename A>
void Fields(A& a, typename A::template Ref<UnigramModel> model) {
  auto& [pieces, unk_id, byte_fallback, unk_surface] = model;
  (void)pieces;  // have sections of their own
  a(unk_id, byte_fallback, unk_surface);
}
template <typename A>
void Fields(A& a, typename A::template Ref<TemplateSequence> piece) {
  auto& [sequence, type_id] = piece;
  a(sequence, type_id);
}
template <typename A>
void Fields(A& a, typename A::template Ref<TemplateSpecial> piece) {
  auto& [ids, content, type_id] = piece;
  a(ids, content, type_id);
}
template <typename A>
void Fields(A& a, typename A::template Ref<PostProcessorTemplate> post_processor) {
  auto& [single, pair, trim_offsets] = post_processor;
  a(single, pair, trim_offsets);
}
template <typename A>
void Fields(A& a, typename A::template Ref<MetaspaceDecoder> decoder) {
  auto& [replacement, scheme] = decoder;
  a(replacement, scheme);
}
template <typename A>
void Fields(A& a, typename A::template Ref<SentencePieceDecoder> decoder) {
  auto& [charsmap] = decoder;
  a(charsmap);
}
template <typename A>
void Fields(A& a, typename A::template Ref<ReplaceDecoder> decoder) {
  auto& [pattern, is_regex, content] = decoder;
  a(pattern, is_regex, content);
}
template <typename A>
void Fields(A& a, typename A::template Ref<StripDecoder> decoder) {
  auto& [content, start, stop] = decoder;
  a(content, start, stop);
}
template <typename A>
void Fields(A& a, typename A::template Ref<WordPieceDecoder> decoder) {
  auto& [prefix, cleanup] = decoder;
  a(prefix, cleanup);
}
template <typename A>
void Fields(A& a, typename A::template Ref<Truncation> truncation) {
  auto& [strategy, side, max_length, stride] = truncation;
  a(strategy, side, max_length, stride);
}
template <typename A>
void Fields(A& a, typename A::template Ref<Padding> padding) {
  auto& [length, multiple_of, side, id, type_id, token] = padding;
  a(length, multiple_of, side, id, type_id, token);
}
template <typename A>
void Fields(A& a, typename A::template Ref<TokenizerSpec> spec) {
  auto& [dialect, added_tokens, normalizers, pre_tokenizers, model, post_processor, decoders, truncation,
         padding] = spec;
  a(dialect, added_tokens, normalizers, pre_tokenizers, model, post_processor, decoders, truncation, padding);
}

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_SPEC_FIELDS_H_
