// The post-processor's template, and the truncation and padding sections.
#include <map>
#include <string>
#include <utility>

#include "src/format/tokenizer_json_parts.h"

namespace trellis::internal {
namespace {

constexpr uint64_t kMaxU32 = UINT32_MAX;
constexpr uint64_t kMaxUsize = UINT64_MAX;

absl::Status ReadTypeId(JsonValue& value, const JsonPlace& place, uint8_t& out) {
  uint64_t type_id = 0;
  TRELLIS_TRY(ReadUnsigned(value, place, kMaxU32, "a type id", type_id));
  if (type_id > UINT8_MAX) return place.NotSupported(std::to_string(type_id), "a type id below 256");
  out = static_cast<uint8_t>(type_id);
  return absl::OkStatus();
}

// {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": name, ...}}.
absl::Status ReadTemplatePiece(JsonValue& value, const JsonPlace& place, TemplatePiece& out) {
  size_t keys = 0;
  TRELLIS_TRY(ForEachField(value, place, [&](std::string_view kind, JsonValue& body, const JsonPlace& at) {
    if (++keys > 1 || (kind != "Sequence" && kind != "SpecialToken")) {
      return place.Error("key " + Quoted(kind) + ", expected either \"Sequence\" or \"SpecialToken\"");
    }
    std::string id;
    uint8_t type_id = 0;
    TRELLIS_TRY(ReadStruct(body, at, {"id", "type_id"}, {},
                           [&](std::string_view key, JsonValue& field, const JsonPlace& field_at) {
                             return key == "id" ? ReadString(field, field_at, id)
                                                : ReadTypeId(field, field_at, type_id);
                           }));
    if (kind == "SpecialToken") {
      out = TemplateSpecial{{}, std::move(id), type_id};
    } else if (id == "A" || id == "B") {
      out = TemplateSequence{id == "A" ? Sequence::kA : Sequence::kB, type_id};
    } else {
      return at.Field("id").Error(Quoted(id) + ", expected \"A\" or \"B\"");
    }
    return absl::OkStatus();
  }));
  if (keys == 0) return place.Error("an empty object, expected \"Sequence\" or \"SpecialToken\" in it");
  return absl::OkStatus();
}

absl::Status ReadTemplate(JsonValue& value, const JsonPlace& place, std::vector<TemplatePiece>& out) {
  return ForEachElement(value, place, [&](JsonValue& element, const JsonPlace& at) {
    return ReadTemplatePiece(element, at, out.emplace_back());
  });
}

using SpecialIds = std::map<std::string, std::vector<TokenId>, std::less<>>;

// {name: {"id": name, "ids": [...], "tokens": [...]}}: the outer names count, a
// name that comes again replaces the one before.
absl::Status ReadSpecialTokens(JsonValue& value, const JsonPlace& place, SpecialIds& out) {
  return ForEachField(value, place, [&](std::string_view name, JsonValue& special, const JsonPlace& at) {
    std::vector<TokenId>& ids = out[std::string(name)];
    ids.clear();
    const auto read_id = [&](JsonValue& element, const JsonPlace& id_at) {
      uint64_t id = 0;
      TRELLIS_TRY(ReadUnsigned(element, id_at, INT32_MAX, "a token id", id));
      ids.push_back(static_cast<TokenId>(id));
      return absl::OkStatus();
    };
    const auto read_text = [](JsonValue& element, const JsonPlace& text_at) {
      std::string ignored;
      return ReadString(element, text_at, ignored);
    };
    return ReadStruct(special, at, {"id", "ids", "tokens"}, {},
                      [&](std::string_view key, JsonValue& field, const JsonPlace& field_at) {
                        if (key == "ids") return ForEachElement(field, field_at, read_id);
                        if (key == "tokens") return ForEachElement(field, field_at, read_text);
                        return read_text(field, field_at);
                      });
  });
}

// tokenizers looks the names up while it encodes, and panics when one is missing.
absl::Status FillSpecials(const SpecialIds& specials, const JsonPlace& place,
                          std::vector<TemplatePiece>& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    auto* special = std::get_if<TemplateSpecial>(&pieces[i]);
    if (special == nullptr) continue;
    const auto found = specials.find(special->content);
    if (found == specials.end()) {
      const JsonPlace element = place.Element(i);
      const JsonPlace kind = element.Field("SpecialToken");
      return kind.Field("id").Error(Quoted(special->content) + ", expected a name out of special_tokens");
    }
    special->ids = found->second;
  }
  return absl::OkStatus();
}

absl::Status ReadOneOf(JsonValue& value, const JsonPlace& place,
                       std::initializer_list<std::string_view> choices) {
  std::string text;
  const bool is_string = JsonToken(value).substr(0, 1) == "\"";
  if (is_string) TRELLIS_TRY(ReadString(value, place, text));
  std::string expected;
  for (const std::string_view choice : choices) {
    if (is_string && text == choice) return absl::OkStatus();
    expected += expected.empty() ? "" : " or ";
    expected += Quoted(choice);
  }
  return place.Expected(value, expected);
}

absl::Status CheckPaddingStrategy(JsonValue& value, const JsonPlace& place) {
  const std::string_view token = JsonToken(value);
  if (token.empty() || token[0] != '{') return ReadOneOf(value, place, {"BatchLongest"});
  uint64_t length = 0;
  return ReadStruct(value, place, {"Fixed"}, {},
                    [&](std::string_view, JsonValue& field, const JsonPlace& at) {
                      return ReadUnsigned(field, at, kMaxUsize, "a length", length);
                    });
}

}  // namespace

absl::Status ReadPostProcessor(JsonValue& value, const JsonPlace& place, PostProcessorTemplate& out) {
  out.single.clear();
  out.pair.clear();
  SpecialIds specials;
  TRELLIS_TRY(ReadStruct(value, place, {"single", "pair", "special_tokens"}, {"type", "sep", "cls"},
                         [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                           if (key == "single") return ReadTemplate(field, at, out.single);
                           if (key == "pair") return ReadTemplate(field, at, out.pair);
                           if (key == "special_tokens") return ReadSpecialTokens(field, at, specials);
                           // tokenizers takes anything with `sep` and `cls` for Bert or
                           // RobertaProcessing, whatever the type says.
                           if (key != "type") return at.NotSupported("BertProcessing", "TemplateProcessing");
                           std::string type;
                           TRELLIS_TRY(ReadString(field, at, type));
                           if (type == "TemplateProcessing") return absl::OkStatus();
                           return at.NotSupported(Quoted(type), "TemplateProcessing");
                         }));
  TRELLIS_TRY(FillSpecials(specials, place.Field("single"), out.single));
  return FillSpecials(specials, place.Field("pair"), out.pair);
}

absl::Status CheckTruncation(JsonValue& value, const JsonPlace& place) {
  uint64_t max_length = 0;
  uint64_t stride = 0;
  TRELLIS_TRY(ReadStruct(value, place, {"max_length", "strategy", "stride"}, {"direction"},
                         [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                           if (key == "max_length")
                             return ReadUnsigned(field, at, kMaxUsize, "a length", max_length);
                           if (key == "stride") return ReadUnsigned(field, at, kMaxUsize, "a length", stride);
                           if (key == "direction") return ReadOneOf(field, at, {"Left", "Right"});
                           return ReadOneOf(field, at, {"LongestFirst", "OnlyFirst", "OnlySecond"});
                         }));
  // tokenizers loads such a file and panics at the first text that is too long.
  if (max_length > 0 && stride >= max_length) {
    return place.Field("stride").Error(std::to_string(stride) + ", expected less than max_length (" +
                                       std::to_string(max_length) + ")");
  }
  return absl::OkStatus();
}

absl::Status CheckPadding(JsonValue& value, const JsonPlace& place) {
  return ReadStruct(value, place, {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"},
                    {"pad_to_multiple_of"}, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                      uint64_t number = 0;
                      std::string text;
                      if (key == "strategy") return CheckPaddingStrategy(field, at);
                      if (key == "direction") return ReadOneOf(field, at, {"Left", "Right"});
                      if (key == "pad_token") return ReadString(field, at, text);
                      if (key == "pad_id") return ReadUnsigned(field, at, kMaxU32, "a token id", number);
                      if (key == "pad_type_id") return ReadUnsigned(field, at, kMaxU32, "a type id", number);
                      return IsNull(field) ? absl::OkStatus()
                                           : ReadUnsigned(field, at, kMaxUsize, "a length or null", number);
                    });
}

}  // namespace trellis::internal
