// The model and the added tokens of a tokenizer.json.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// The flags that two AddedTokens of one content can differ in.
uint32_t FlagBits(const AddedToken& token) {
  return static_cast<uint32_t>(token.single_word) | static_cast<uint32_t>(token.lstrip) << 1 |
         static_cast<uint32_t>(token.rstrip) << 2 | static_cast<uint32_t>(token.normalized) << 3 |
         static_cast<uint32_t>(token.special) << 4;
}

// All tokens of one content.
struct AddedContent {
  std::optional<TokenId> id;               // nothing: not in the model, none given yet
  std::optional<bool> special_normalized;  // of the first special one
  uint32_t seen_flags = 0;                 // bit FlagBits(token)
  std::vector<size_t> resolved;            // where in the result; two when only `normalized` differs
};

using AddedContents = absl::flat_hash_map<std::string, AddedContent>;

// The ids of those contents that are pieces; of equal pieces the last counts.
void FindInModel(const UnigramModel& model, AddedContents& contents) {
  std::array<bool, 256> first_bytes = {};  // keeps most pieces away from the hash map
  for (const auto& [content, unused] : contents) first_bytes[static_cast<uint8_t>(content[0])] = true;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const std::string& text = model.pieces[i].text;
    if (text.empty() || !first_bytes[static_cast<uint8_t>(text[0])]) continue;
    const auto found = contents.find(text);
    if (found != contents.end()) found->second.id = static_cast<TokenId>(i);
  }
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
                        uint64_t ignored = 0;  // see ResolveAddedTokens
                        return ReadUnsigned(field, field_at, UINT32_MAX, "a token id", ignored);
                      });
  });
}

std::vector<AddedToken> ResolveAddedTokens(const std::vector<AddedToken>& from_file,
                                           const UnigramModel& model) {
  AddedContents contents;
  for (const AddedToken& token : from_file) {
    if (token.content.empty()) continue;
    AddedContent& content = contents[token.content];
    if (token.special && !content.special_normalized) content.special_normalized = token.normalized;
  }
  FindInModel(model, contents);

  std::vector<AddedToken> resolved;
  auto next_id = static_cast<TokenId>(model.pieces.size());
  for (const AddedToken& token : from_file) {
    if (token.content.empty()) continue;
    AddedContent& content = contents[token.content];
    const uint32_t flags = uint32_t{1} << FlagBits(token);
    if ((content.seen_flags & flags) != 0) continue;
    content.seen_flags |= flags;
    if (!content.id) content.id = next_id++;

    // Special for good once special, and then matched as the first special one
    // says; the strip flags are those of the last.
    AddedToken merged = token;
    merged.id = *content.id;
    merged.special = content.special_normalized.has_value();
    merged.normalized = content.special_normalized.value_or(token.normalized);
    bool is_new = true;
    for (const size_t at : content.resolved) {
      AddedToken& earlier = resolved[at];
      earlier.single_word = merged.single_word;
      earlier.lstrip = merged.lstrip;
      earlier.rstrip = merged.rstrip;
      is_new = is_new && earlier.normalized != merged.normalized;
    }
    if (!is_new) continue;
    content.resolved.push_back(resolved.size());
    resolved.push_back(std::move(merged));
  }
  return resolved;
}

}  // namespace trellis::internal
