// The model and the added tokens of a tokenizer.json.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/format/tokenizer_json_parts.h"

namespace trellis::internal {
namespace {

absl::Status ReadVocab(JsonValue& value, const JsonPlace& place, size_t expected_pieces,
                       std::vector<Piece>& pieces) {
  pieces.clear();
  pieces.reserve(expected_pieces);
  return ForEachElement(value, place, [&](JsonValue& entry, const JsonPlace& at) {
    Piece& piece = pieces.emplace_back();
    size_t parts = 0;
    TRELLIS_TRY(ForEachElement(entry, at, [&](JsonValue& part, const JsonPlace& part_at) {
      switch (parts++) {
        case 0:
          return ReadString(part, part_at, piece.text);
        case 1:
          return ReadDouble(part, part_at, piece.score);
        default:
          return part_at.Expected(part, "a pair of string and number, no more");
      }
    }));
    return parts == 2
               ? absl::OkStatus()
               : at.Error("an array of " + std::to_string(parts) + ", expected a pair of string and number");
  });
}

absl::Status ReadUnkId(JsonValue& value, const JsonPlace& place, std::optional<TokenId>& out) {
  out.reset();
  if (IsNull(value)) return absl::OkStatus();
  uint64_t id = 0;
  TRELLIS_TRY(ReadUnsigned(value, place, INT32_MAX, "a token id or null", id));
  out = static_cast<TokenId>(id);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadUnigramModel(JsonValue& value, const JsonPlace& place, size_t expected_pieces,
                              UnigramModel& out) {
  out = UnigramModel{};
  bool has_type = false;
  bool has_vocab = false;
  TRELLIS_TRY(ForEachField(value, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key == "type") {
      if (has_type) return at.Error("comes twice, expected it once");
      has_type = true;
      std::string type;
      TRELLIS_TRY(ReadString(field, at, type));
      if (type == "Unigram") return absl::OkStatus();
      if (type == "BPE" || type == "WordPiece" || type == "WordLevel") {
        return at.NotSupported(Quoted(type), "\"Unigram\"");
      }
      return at.Expected(field, "\"Unigram\"");
    }
    if (key == "vocab") {
      has_vocab = true;
      return ReadVocab(field, at, expected_pieces, out.pieces);
    }
    if (key == "unk_id") return ReadUnkId(field, at, out.unk_id);
    if (key == "byte_fallback") return ReadBool(field, at, out.byte_fallback);
    return CheckAny(field, at);
  }));
  if (!has_vocab) return place.Field("vocab").Error("missing, expected an array");
  return absl::OkStatus();
}

absl::Status ReadAddedTokens(JsonValue& value, const JsonPlace& place, std::vector<AddedToken>& out) {
  out.clear();
  return ForEachElement(value, place, [&](JsonValue& element, const JsonPlace& at) {
    AddedToken& token = out.emplace_back();
    return ReadStruct(element, at,
                      {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}, {},
                      [&](std::string_view key, JsonValue& field, const JsonPlace& field_at) {
                        if (key == "content") return ReadString(field, field_at, token.content);
                        if (key == "single_word") return ReadBool(field, field_at, token.single_word);
                        if (key == "lstrip") return ReadBool(field, field_at, token.lstrip);
                        if (key == "rstrip") return ReadBool(field, field_at, token.rstrip);
                        if (key == "normalized") return ReadBool(field, field_at, token.normalized);
                        if (key == "special") return ReadBool(field, field_at, token.special);
                        uint64_t ignored = 0;  // AddTokens gives them
                        return ReadUnsigned(field, field_at, UINT32_MAX, "a token id", ignored);
                      });
  });
}

}  // namespace trellis::internal
