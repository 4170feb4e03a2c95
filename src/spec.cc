// What a Tokenizer can be made of. Every rejection reads
// `field: value, expected what`.
#include "trellis/spec.h"

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "src/piece_list.h"
#include "src/sentencepiece_spec.h"
#include "src/spec_errors.h"
#include "src/stages_spec.h"

namespace trellis {
namespace {

using internal::CheckCharacter;
using internal::CheckCharsmap;
using internal::CheckMatchedText;
using internal::Index;
using internal::Invalid;
using internal::NotSupported;
using internal::PieceList;
using internal::PieceView;
using internal::Quoted;

// Tables have an entry for each piece; the largest published vocabularies have a
// million. Added tokens may have ids as high.
constexpr size_t kMaxIds = size_t{1} << 24;

absl::Status CheckModel(const TokenizerSpec& spec, const PieceList& pieces) {
  const UnigramModel& model = spec.model;
  if (pieces.empty()) return Invalid("model.pieces", "empty", "at least one piece");
  if (pieces.size() > kMaxIds) {
    return Invalid("model.pieces", std::to_string(pieces.size()) + " pieces",
                   "at most " + std::to_string(kMaxIds));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const PieceView piece = pieces[i];
    if (!std::isfinite(piece.score)) {
      char shown[32];
      std::snprintf(shown, sizeof(shown), "%g", piece.score);
      return Invalid(Index("model.pieces", i) + ".score", shown, "a finite number");
    }
    if (piece.type != PieceType::kNormal && spec.dialect == Dialect::kHuggingFace) {
      return Invalid(Index("model.pieces", i) + ".type", std::to_string(static_cast<int>(piece.type)),
                     "kNormal (0) in the Hugging Face dialect");
    }
  }
  if (model.unk_id && (*model.unk_id < 0 || static_cast<size_t>(*model.unk_id) >= pieces.size())) {
    return Invalid("model.unk_id", std::to_string(*model.unk_id),
                   "an id below " + std::to_string(pieces.size()));
  }
  if (spec.dialect == Dialect::kSentencePiece) return internal::CheckSentencePieceModel(model, pieces);
  return absl::OkStatus();
}

absl::Status CheckAddedTokens(const TokenizerSpec& spec, const PieceList& pieces) {
  absl::flat_hash_map<std::string, size_t> first;  // by content
  absl::flat_hash_set<TokenId> taken;
  for (size_t i = 0; i < spec.added_tokens.size(); ++i) {
    const AddedToken& token = spec.added_tokens[i];
    const std::string field = Index("added_tokens", i);
    if (token.content.empty()) return Invalid(field + ".content", "empty", "a string to match");
    if (absl::Status status = CheckMatchedText(field + ".content", token.content); !status.ok())
      return status;
    if (token.id < 0 || static_cast<size_t>(token.id) >= kMaxIds) {
      return Invalid(field + ".id", std::to_string(token.id), "an id below " + std::to_string(kMaxIds));
    }
    const auto id = static_cast<size_t>(token.id);
    if (id < pieces.size() && pieces.text(id) != token.content) {
      return Invalid(field + ".id", std::to_string(token.id) + " (" + Quoted(token.content) + ")",
                     "another id: this is the piece " + Quoted(pieces.text(id)));
    }
    // One content may come twice: as it stands, and normalized.
    const size_t none = spec.added_tokens.size();
    if (const auto [known, is_new] = first.emplace(token.content, i); !is_new) {
      const size_t earlier = std::exchange(known->second, none);
      if (earlier == none || spec.added_tokens[earlier].normalized == token.normalized ||
          spec.added_tokens[earlier].id != token.id) {
        return Invalid(field + ".content", Quoted(token.content), "each content once");
      }
      continue;
    }
    if (!taken.insert(token.id).second)
      return Invalid(field + ".id", std::to_string(token.id), "each id once");
  }
  return absl::OkStatus();
}

// One more than the largest id of a piece or added token.
size_t IdLimit(const TokenizerSpec& spec, const PieceList& pieces) {
  size_t limit = pieces.size();
  for (const AddedToken& token : spec.added_tokens) {
    if (static_cast<size_t>(token.id) >= limit) limit = static_cast<size_t>(token.id) + 1;
  }
  return limit;
}

absl::Status CheckTemplate(const std::string& name, const std::vector<TemplatePiece>& pieces,
                           size_t id_limit) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto* special = std::get_if<TemplateSpecial>(&pieces[i]);
    if (special == nullptr) continue;
    for (size_t k = 0; k < special->ids.size(); ++k) {
      const TokenId id = special->ids[k];
      if (id >= 0 && static_cast<size_t>(id) < id_limit) continue;
      return Invalid(Index(Index(name, i) + ".ids", k),
                     std::to_string(id) + " (" + Quoted(special->content) + ")",
                     "an id below " + std::to_string(id_limit));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPostProcessor(const TokenizerSpec& spec, const PieceList& pieces) {
  const PostProcessorTemplate& post_processor = spec.post_processor;
  for (size_t i = 0; i < post_processor.single.size(); ++i) {
    const auto* sequence = std::get_if<TemplateSequence>(&post_processor.single[i]);
    if (sequence != nullptr && sequence->sequence == Sequence::kB) {
      return Invalid(Index("post_processor.single", i), "sequence B", "sequence A: a single text has no B");
    }
  }
  const size_t limit = IdLimit(spec, pieces);
  if (absl::Status status = CheckTemplate("post_processor.single", post_processor.single, limit);
      !status.ok()) {
    return status;
  }
  return CheckTemplate("post_processor.pair", post_processor.pair, limit);
}

absl::Status CheckReplaceDecoder(const std::string& field, const ReplaceDecoder& replace) {
  if (replace.is_regex) {
    if (absl::Status status = internal::CheckRegex(field + ".pattern", replace.pattern); !status.ok()) return status;
  } else if (replace.pattern.empty()) {
    return NotSupported(field + ".pattern", "\"\"", "a string to replace");
  }
  for (const auto& [name, text] : {std::pair{".pattern", &replace.pattern}, std::pair{".content", &replace.content}}) {
    if (!internal::IsWellFormedUtf8(*text)) return Invalid(field + name, "malformed UTF-8", "well-formed UTF-8");
  }
  return absl::OkStatus();
}

absl::Status CheckDecoder(const std::string& field, Dialect dialect, const Decoder& decoder) {
  if (const auto* metaspace = std::get_if<MetaspaceDecoder>(&decoder)) {
    return CheckCharacter(field + ".replacement", metaspace->replacement);
  }
  const auto* own = std::get_if<SentencePieceDecoder>(&decoder);
  if ((own != nullptr) != (dialect == Dialect::kSentencePiece)) {
    return own != nullptr
               ? Invalid(field, "SentencePieceDecoder", "none of SentencePiece's in the Hugging Face dialect")
               : Invalid(field, "a Hugging Face decoder", "SentencePieceDecoder in the SentencePiece dialect");
  }
  if (own != nullptr && !own->denormalizer_charsmap.empty()) {
    return CheckCharsmap(field + ".denormalizer_charsmap", own->denormalizer_charsmap);
  }
  if (const auto* replace = std::get_if<ReplaceDecoder>(&decoder)) return CheckReplaceDecoder(field, *replace);
  if (const auto* strip = std::get_if<StripDecoder>(&decoder)) {
    return CheckCharacter(field + ".content", strip->content);
  }
  return absl::OkStatus();
}

absl::Status CheckDecoders(const TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.decoders.size(); ++i) {
    absl::Status status = CheckDecoder(Index("decoders", i), spec.dialect, spec.decoders[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

namespace internal {

absl::Status CheckSpec(const TokenizerSpec& spec, const PieceList& pieces) {
  absl::Status status = CheckModel(spec, pieces);
  if (status.ok()) status = CheckAddedTokens(spec, pieces);
  if (status.ok()) status = CheckNormalizers(spec);
  if (status.ok()) status = CheckNormalizedTokens(spec);
  if (status.ok()) status = CheckPreTokenizers(spec);
  if (status.ok()) status = CheckPostProcessor(spec, pieces);
  if (status.ok()) status = CheckDecoders(spec);
  return status;
}

}  // namespace internal

absl::Status ValidateSpec(const TokenizerSpec& spec) {
  return internal::CheckSpec(spec, PieceList(spec.model.pieces));
}

}  // namespace trellis
