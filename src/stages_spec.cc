#include "src/stages_spec.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "src/normalizer_chain.h"
#include "src/spec_errors.h"
#include "trellis/internal/stage/pattern.h"
#include "trellis/internal/text/charsmap.h"

namespace trellis::internal {
namespace {

absl::Status CheckPattern(const std::string& field, const std::string& pattern, bool is_regex) {
  if (is_regex) return CheckRegex(field, pattern);
  if (pattern.empty()) return NotSupported(field, "\"\"", "a string to look for");
  return CheckMatchedText(field, pattern);
}

absl::Status CheckReplace(const std::string& field, const ReplaceNormalizer& replace) {
  if (absl::Status status = CheckPattern(field + ".pattern", replace.pattern, replace.is_regex); !status.ok()) {
    return status;
  }
  return IsWellFormedUtf8(replace.content) ? absl::OkStatus()
                                           : Invalid(field + ".content", "malformed UTF-8", "well-formed UTF-8");
}

absl::Status CheckPrepend(const std::string& field, const PrependNormalizer& prepend) {
  // tokenizers takes it and gives the first character a place of no bytes.
  if (prepend.prepend.empty()) return NotSupported(field + ".prepend", "\"\"", "a string to put in front");
  return IsWellFormedUtf8(prepend.prepend) ? absl::OkStatus()
                                           : Invalid(field + ".prepend", "malformed UTF-8", "well-formed UTF-8");
}

absl::Status CheckNormalizer(const std::string& field, const Normalizer& normalizer) {
  if (const auto* own = std::get_if<SentencePieceNormalizer>(&normalizer)) {
    return own->charsmap.empty() ? absl::OkStatus() : CheckCharsmap(field + ".charsmap", own->charsmap);
  }
  if (const auto* precompiled = std::get_if<PrecompiledNormalizer>(&normalizer)) {
    return CheckCharsmap(field + ".charsmap", precompiled->charsmap);
  }
  if (const auto* replace = std::get_if<ReplaceNormalizer>(&normalizer)) return CheckReplace(field, *replace);
  if (const auto* prepend = std::get_if<PrependNormalizer>(&normalizer)) return CheckPrepend(field, *prepend);
  return absl::OkStatus();
}

absl::Status CheckPreTokenizer(const std::string& field, const PreTokenizer& pre_tokenizer) {
  if (const auto* metaspace = std::get_if<MetaspacePreTokenizer>(&pre_tokenizer)) {
    return CheckCharacter(field + ".replacement", metaspace->replacement);
  }
  if (const auto* delimiter = std::get_if<CharDelimiterPreTokenizer>(&pre_tokenizer)) {
    return CheckCharacter(field + ".delimiter", delimiter->delimiter);
  }
  if (const auto* split = std::get_if<SplitPreTokenizer>(&pre_tokenizer)) {
    return CheckPattern(field + ".pattern", split->pattern, split->is_regex);
  }
  if (const auto* fixed = std::get_if<FixedLengthPreTokenizer>(&pre_tokenizer); fixed != nullptr && fixed->length == 0) {
    return Invalid(field + ".length", "0", "a number of characters");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCharsmap(const std::string& field, const std::string& charsmap) {
  if (const std::optional<std::string> problem = CharsMap::Check(charsmap)) {
    return absl::InvalidArgumentError(field + ": " + *problem);
  }
  return absl::OkStatus();
}

absl::Status CheckRegex(const std::string& field, const std::string& pattern) {
  if (const auto problem = Pattern::Check(Pattern::Kind::kRegex, pattern)) {
    return absl::UnimplementedError(field + ": " + Quoted(pattern) + ": " + *problem);
  }
  return absl::OkStatus();
}

absl::Status CheckNormalizers(const TokenizerSpec& spec) {
  const bool sentencepiece = spec.dialect == Dialect::kSentencePiece;
  if (sentencepiece && spec.normalizers.size() != 1) {
    return Invalid("normalizers", std::to_string(spec.normalizers.size()) + " of them",
                   "one SentencePieceNormalizer in the SentencePiece dialect");
  }
  for (size_t i = 0; i < spec.normalizers.size(); ++i) {
    const std::string field = Index("normalizers", i);
    const bool own = std::holds_alternative<SentencePieceNormalizer>(spec.normalizers[i]);
    if (sentencepiece != own) {
      return Invalid(field, own ? "SentencePieceNormalizer" : "a Hugging Face normalizer",
                     sentencepiece ? "SentencePieceNormalizer in the SentencePiece dialect"
                                   : "none of SentencePiece's in the Hugging Face dialect");
    }
    if (absl::Status status = CheckNormalizer(field, spec.normalizers[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckNormalizedTokens(const TokenizerSpec& spec) {
  const auto is_normalized = [](const AddedToken& token) { return token.normalized; };
  if (spec.dialect == Dialect::kSentencePiece || std::ranges::none_of(spec.added_tokens, is_normalized)) {
    return absl::OkStatus();
  }
  const NormalizerChain chain(spec.normalizers);
  for (size_t i = 0; i < spec.added_tokens.size(); ++i) {
    const AddedToken& token = spec.added_tokens[i];
    if (!token.normalized) continue;
    Scratch scratch;
    scratch.Reserve(chain.MaxRoom(token.content.size()).scratch);
    ScratchCarver carver(scratch);
    // tokenizers would cut every text to bytes then, and panics inside characters.
    if (chain.Run({token.content}, carver)->bytes.empty()) {
      return Invalid(Index("added_tokens", i) + ".content", Quoted(token.content),
                     "something that the normalizers do not take away, since it is matched normalized");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPreTokenizers(const TokenizerSpec& spec) {
  if (spec.dialect == Dialect::kSentencePiece && !spec.pre_tokenizers.empty()) {
    return Invalid("pre_tokenizers", std::to_string(spec.pre_tokenizers.size()) + " of them",
                   "none in the SentencePiece dialect");
  }
  for (size_t i = 0; i < spec.pre_tokenizers.size(); ++i) {
    if (absl::Status status = CheckPreTokenizer(Index("pre_tokenizers", i), spec.pre_tokenizers[i]); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace trellis::internal
