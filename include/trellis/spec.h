// TokenizerSpec: what a tokenizer file says, as plain data.
//
// The narrow waist between file formats (src/format) and the pipeline
// (src/tokenizer.cc). A value: it can be printed, compared field by field, and
// built by hand in a test. It owns all its strings. ValidateSpec says whether a
// Tokenizer can be made of it; every rejection names the field and the value.
#ifndef TRELLIS_SPEC_H_
#define TRELLIS_SPEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "trellis/encoding.h"

namespace trellis {

// Whose arithmetic and normalization decide.
//   kHuggingFace:   tokenizers 0.22.2. Scores summed in double, one lattice a
//                   pre-token, charsmap applied by grapheme cluster.
//   kSentencePiece: sentencepiece 0.2.x. Scores summed in float over the whole
//                   text, charsmap applied leftmost-longest over bytes.
enum class Dialect : uint8_t { kHuggingFace, kSentencePiece };

// A string that is matched in text before anything else looks at it
// (tokenizers, AddedToken).
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

// --- normalizers ---

// SentencePiece's precompiled rules: little-endian u32 size of a double array,
// the array, then NUL-terminated replacements (sentencepiece, normalizer.cc).
struct PrecompiledNormalizer {
  std::string charsmap;
  friend bool operator==(const PrecompiledNormalizer&, const PrecompiledNormalizer&) = default;
};

// tokenizers' Replace. `pattern` is a plain string, or a regular expression of
// those that mean the same to RE2 as to the reference (src/stage/pattern_syntax.h).
struct ReplaceNormalizer {
  std::string pattern;
  bool is_regex = false;
  std::string content;
  friend bool operator==(const ReplaceNormalizer&, const ReplaceNormalizer&) = default;
};

// What SentencePiece's NormalizerSpec does beyond the charsmap; only in the
// SentencePiece dialect, and then the only normalizer. An empty charsmap is the
// identity.
struct SentencePieceNormalizer {
  std::string charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
  friend bool operator==(const SentencePieceNormalizer&, const SentencePieceNormalizer&) = default;
};

enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// tokenizers' NFC, NFD, NFKC and NFKD.
struct UnicodeNormalizer {
  UnicodeForm form = UnicodeForm::kNfc;
  friend bool operator==(const UnicodeNormalizer&, const UnicodeNormalizer&) = default;
};

// Takes control characters away and makes blanks of others (tokenizers, Nmt).
struct NmtNormalizer {
  friend bool operator==(const NmtNormalizer&, const NmtNormalizer&) = default;
};

struct LowercaseNormalizer {
  friend bool operator==(const LowercaseNormalizer&, const LowercaseNormalizer&) = default;
};

// Takes White_Space away at the ends of a text.
struct StripNormalizer {
  bool strip_left = true;
  bool strip_right = true;
  friend bool operator==(const StripNormalizer&, const StripNormalizer&) = default;
};

// Takes combining marks away; decomposes nothing.
struct StripAccentsNormalizer {
  friend bool operator==(const StripAccentsNormalizer&, const StripAccentsNormalizer&) = default;
};

// Puts a string in front of a text that is not empty.
struct PrependNormalizer {
  std::string prepend;
  friend bool operator==(const PrependNormalizer&, const PrependNormalizer&) = default;
};

struct BertNormalizer {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  std::optional<bool> strip_accents;  // nothing: as `lowercase`
  bool lowercase = true;
  friend bool operator==(const BertNormalizer&, const BertNormalizer&) = default;
};

using Normalizer =
    std::variant<PrecompiledNormalizer, ReplaceNormalizer, SentencePieceNormalizer, UnicodeNormalizer, NmtNormalizer,
                 LowercaseNormalizer, StripNormalizer, StripAccentsNormalizer, PrependNormalizer, BertNormalizer>;

// --- pre-tokenizers ---

// Cuts at Unicode White_Space and drops it.
struct WhitespaceSplitPreTokenizer {
  friend bool operator==(const WhitespaceSplitPreTokenizer&, const WhitespaceSplitPreTokenizer&) = default;
};

enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };

// Blanks become `replacement` (one character), one is put in front as the
// scheme says, and with `split` the text is cut before each.
struct MetaspacePreTokenizer {
  std::string replacement = "\u2581";
  PrependScheme prepend_scheme = PrependScheme::kAlways;
  bool split = true;
  friend bool operator==(const MetaspacePreTokenizer&, const MetaspacePreTokenizer&) = default;
};

// Runs of word characters, and runs of what is neither that nor White_Space.
struct WhitespacePreTokenizer {
  friend bool operator==(const WhitespacePreTokenizer&, const WhitespacePreTokenizer&) = default;
};

// What becomes of the characters that a text is cut at. "the-final--cut" at "-":
//   kRemoved            the final cut
//   kIsolated           the - final - - cut
//   kMergedWithPrevious the- final- - cut
//   kMergedWithNext     the -final - -cut
//   kContiguous         the - final -- cut
enum class SplitBehavior : uint8_t { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct PunctuationPreTokenizer {
  SplitBehavior behavior = SplitBehavior::kIsolated;
  friend bool operator==(const PunctuationPreTokenizer&, const PunctuationPreTokenizer&) = default;
};

struct DigitsPreTokenizer {
  bool individual_digits = false;
  friend bool operator==(const DigitsPreTokenizer&, const DigitsPreTokenizer&) = default;
};

// Cuts where the script changes, as SentencePiece's trainer does.
struct UnicodeScriptsPreTokenizer {
  friend bool operator==(const UnicodeScriptsPreTokenizer&, const UnicodeScriptsPreTokenizer&) = default;
};

// Cuts at matches of `pattern`, or with `invert` at what lies between them. A
// regular expression is one as in ReplaceNormalizer.
struct SplitPreTokenizer {
  std::string pattern;
  bool is_regex = false;
  SplitBehavior behavior = SplitBehavior::kRemoved;
  bool invert = false;
  friend bool operator==(const SplitPreTokenizer&, const SplitPreTokenizer&) = default;
};

// Cuts at White_Space and drops it; punctuation stands alone.
struct BertPreTokenizer {
  friend bool operator==(const BertPreTokenizer&, const BertPreTokenizer&) = default;
};

// Cuts at one character and drops it.
struct CharDelimiterPreTokenizer {
  std::string delimiter;
  friend bool operator==(const CharDelimiterPreTokenizer&, const CharDelimiterPreTokenizer&) = default;
};

// Pieces of so many characters.
struct FixedLengthPreTokenizer {
  uint32_t length = 5;
  friend bool operator==(const FixedLengthPreTokenizer&, const FixedLengthPreTokenizer&) = default;
};

using PreTokenizer =
    std::variant<WhitespaceSplitPreTokenizer, MetaspacePreTokenizer, WhitespacePreTokenizer, PunctuationPreTokenizer,
                 DigitsPreTokenizer, UnicodeScriptsPreTokenizer, SplitPreTokenizer, BertPreTokenizer,
                 CharDelimiterPreTokenizer, FixedLengthPreTokenizer>;

// --- model ---

// SentencePiece's piece types; a tokenizer.json knows only kNormal.
enum class PieceType : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct Piece {
  std::string text;
  double score = 0.0;
  PieceType type = PieceType::kNormal;
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct UnigramModel {
  std::vector<Piece> pieces;  // index = TokenId
  std::optional<TokenId> unk_id;
  bool byte_fallback = false;
  // What Decode prints for the unknown id (SentencePiece dialect only).
  std::string unk_surface;
  friend bool operator==(const UnigramModel&, const UnigramModel&) = default;
};

// --- post-processor ---

enum class Sequence : uint8_t { kA, kB };

struct TemplateSequence {
  Sequence sequence = Sequence::kA;
  uint8_t type_id = 0;
  friend bool operator==(const TemplateSequence&, const TemplateSequence&) = default;
};

struct TemplateSpecial {
  std::vector<TokenId> ids;
  std::string content;  // the special's name in the file
  uint8_t type_id = 0;
  friend bool operator==(const TemplateSpecial&, const TemplateSpecial&) = default;
};

using TemplatePiece = std::variant<TemplateSequence, TemplateSpecial>;

// Whether offsets leave out the blanks (White_Space or U+0120) at a token's ends,
// as tokenizers' RobertaProcessing and ByteLevel do with trim_offsets.
// kKeepPrefixSpace (add_prefix_space): one blank at a text's start stays in.
enum class TrimOffsets : uint8_t { kNo, kYes, kKeepPrefixSpace };

// tokenizers' TemplateProcessing; Bert and RobertaProcessing are templates too. A
// file without post-processor is {[A:0], [A:0 B:1]}: tokenizers numbers the
// sequences then.
struct PostProcessorTemplate {
  std::vector<TemplatePiece> single = {TemplateSequence{Sequence::kA, 0}};
  std::vector<TemplatePiece> pair = {TemplateSequence{Sequence::kA, 0}, TemplateSequence{Sequence::kB, 1}};
  TrimOffsets trim_offsets = TrimOffsets::kNo;
  friend bool operator==(const PostProcessorTemplate&, const PostProcessorTemplate&) = default;
};

// --- decoders ---

struct MetaspaceDecoder {
  std::string replacement = "\u2581";
  PrependScheme prepend_scheme = PrependScheme::kAlways;
  friend bool operator==(const MetaspaceDecoder&, const MetaspaceDecoder&) = default;
};

// SentencePiece's own detokenization; only in the SentencePiece dialect.
// `denormalizer_charsmap` is applied to the finished text when not empty.
struct SentencePieceDecoder {
  std::string denormalizer_charsmap;
  friend bool operator==(const SentencePieceDecoder&, const SentencePieceDecoder&) = default;
};

// tokenizers' other decoders. Each takes the tokens' strings, one by one, and
// hands a list of strings on; what is left at the end is joined.

// Replace: every `pattern` in a token becomes `content`.
struct ReplaceDecoder {
  std::string pattern;
  bool is_regex = false;
  std::string content;
  friend bool operator==(const ReplaceDecoder&, const ReplaceDecoder&) = default;
};

// ByteFallback: runs of "<0xHH>" become the characters that they spell, or one
// U+FFFD a byte when the run is not UTF-8.
struct ByteFallbackDecoder {
  friend bool operator==(const ByteFallbackDecoder&, const ByteFallbackDecoder&) = default;
};

// Fuse: all tokens become one.
struct FuseDecoder {
  friend bool operator==(const FuseDecoder&, const FuseDecoder&) = default;
};

// Strip: takes at most `start` times `content` (one character) off each token's
// beginning, and at most `stop` times off its end.
struct StripDecoder {
  std::string content = " ";
  size_t start = 0;
  size_t stop = 0;
  friend bool operator==(const StripDecoder&, const StripDecoder&) = default;
};

// WordPiece: a blank before each token but the first, unless it begins with
// `prefix`, which goes; `cleanup` mends English punctuation in each.
struct WordPieceDecoder {
  std::string prefix = "##";
  bool cleanup = true;
  friend bool operator==(const WordPieceDecoder&, const WordPieceDecoder&) = default;
};

using Decoder = std::variant<MetaspaceDecoder, SentencePieceDecoder, ReplaceDecoder, ByteFallbackDecoder, FuseDecoder,
                             StripDecoder, WordPieceDecoder>;

// --- what a file wishes for each call ---

// tokenizers' truncation strategies. kLongestFirst shares the room between the
// two texts of a pair as the reference does.
enum class Truncate : uint8_t { kNever, kLongestFirst, kOnlyFirst, kOnlySecond };
// The side that loses tokens, or gets padding.
enum class Side : uint8_t { kRight, kLeft };

// The section "truncation": EncodeOptions' fields of the same names.
struct Truncation {
  Truncate strategy = Truncate::kLongestFirst;
  Side side = Side::kRight;
  size_t max_length = 0;
  size_t stride = 0;
  friend bool operator==(const Truncation&, const Truncation&) = default;
};

// The section "padding", and how trellis/padding.h pads.
struct Padding {
  std::optional<size_t> length = std::nullopt;  // none: that of the longest row
  size_t multiple_of = 0;        // the length is rounded up to a multiple; 0 and 1: as it is
  Side side = Side::kRight;
  TokenId id = 0;
  uint8_t type_id = 0;
  std::string token = {};  // the pad's name in the file
  friend bool operator==(const Padding&, const Padding&) = default;
};

struct TokenizerSpec {
  Dialect dialect = Dialect::kHuggingFace;
  std::vector<AddedToken> added_tokens;
  std::vector<Normalizer> normalizers;         // in order
  std::vector<PreTokenizer> pre_tokenizers;    // in order
  UnigramModel model;
  PostProcessorTemplate post_processor;
  std::vector<Decoder> decoders;               // in order; none: tokens joined by blanks
  // Encode heeds neither unless it is asked to (WithFileTruncation, Pad).
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  friend bool operator==(const TokenizerSpec&, const TokenizerSpec&) = default;
};

// What tokenizers' add_tokens and add_special_tokens do, and its loading of a
// file: ids come from the model or are counted on from the end, whatever `tokens`
// say; empty and repeated ones are left out, and of a content that comes again
// the last flags count. The same as before from a Tokenizer's spec:
//
//   TokenizerSpec spec = tokenizer.spec();
//   AddTokens({{.content = "<tool>", .special = true}}, spec);
//   auto more = Tokenizer::Create(std::move(spec));
void AddTokens(const std::vector<AddedToken>& tokens, TokenizerSpec& spec);

// OK when a Tokenizer can be made of `spec`; else InvalidArgument (broken) or
// Unimplemented (known, not supported yet) with the field's path and the value,
// e.g. `model.pieces[17].score: nan, expected a finite number`.
absl::Status ValidateSpec(const TokenizerSpec& spec);

}  // namespace trellis

#endif  // TRELLIS_SPEC_H_
