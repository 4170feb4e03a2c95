// TokenizerSpec: what a tokenizer file says, as plain data.
//
// The narrow waist between file formats (src/format) and the pipeline
// (src/tokenizer.cc). A value: it can be printed, compared field by field, and
// built by hand in a test. It owns all its strings. ValidateSpec says whether a
// Tokenizer can be made of it; every rejection names the field and the value.
#ifndef TRELLIS_SPEC_H_
#define TRELLIS_SPEC_H_

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

// tokenizers' Replace. `pattern` is a plain string, or the one regular
// expression that Unigram files need so far: " {2,}".
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

using Normalizer = std::variant<PrecompiledNormalizer, ReplaceNormalizer, SentencePieceNormalizer>;

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

using PreTokenizer = std::variant<WhitespaceSplitPreTokenizer, MetaspacePreTokenizer>;

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

// tokenizers' TemplateProcessing. A file without post-processor is
// {[A:0], [A:0 B:1]}: tokenizers numbers the sequences then.
struct PostProcessorTemplate {
  std::vector<TemplatePiece> single = {TemplateSequence{Sequence::kA, 0}};
  std::vector<TemplatePiece> pair = {TemplateSequence{Sequence::kA, 0}, TemplateSequence{Sequence::kB, 1}};
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

using Decoder = std::variant<MetaspaceDecoder, SentencePieceDecoder>;

struct TokenizerSpec {
  Dialect dialect = Dialect::kHuggingFace;
  std::vector<AddedToken> added_tokens;
  std::vector<Normalizer> normalizers;         // in order
  std::vector<PreTokenizer> pre_tokenizers;    // in order
  UnigramModel model;
  PostProcessorTemplate post_processor;
  std::vector<Decoder> decoders;               // in order; none: tokens joined by blanks
  friend bool operator==(const TokenizerSpec&, const TokenizerSpec&) = default;
};

// OK when a Tokenizer can be made of `spec`; else InvalidArgument (broken) or
// Unimplemented (known, not supported yet) with the field's path and the value,
// e.g. `model.pieces[17].score: nan, expected a finite number`.
absl::Status ValidateSpec(const TokenizerSpec& spec);

}  // namespace trellis

#endif  // TRELLIS_SPEC_H_
