// The post-processor: a template, or one of those that are templates under
// another name.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "src/format/tokenizer_json_parts.h"

namespace trellis::internal {

absl::Status ReadTypeId(JsonValue& value, const JsonPlace& place, uint8_t& out) {
  uint64_t type_id = 0;
  TRELLIS_TRY(ReadUnsigned(value, place, UINT32_MAX, "a type id", type_id));
  if (type_id > UINT8_MAX) return place.NotSupported(std::to_string(type_id), "a type id below 256");
  out = static_cast<uint8_t>(type_id);
  return absl::OkStatus();
}

namespace {

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

// ["</s>", 2].
absl::Status ReadNamedId(JsonValue& value, const JsonPlace& place, TemplateSpecial& out) {
  size_t parts = 0;
  TRELLIS_TRY(ForEachElement(value, place, [&](JsonValue& part, const JsonPlace& at) {
    if (parts++ == 0) return ReadString(part, at, out.content);
    if (parts > 2) return at.Expected(part, "a pair of string and token id, no more");
    uint64_t id = 0;
    TRELLIS_TRY(ReadUnsigned(part, at, INT32_MAX, "a token id", id));
    out.ids = {static_cast<TokenId>(id)};
    return absl::OkStatus();
  }));
  return parts == 2 ? absl::OkStatus()
                    : place.Error("an array of " + std::to_string(parts) + ", expected a pair of string and token id");
}

// Everything that a post-processor can have. tokenizers tells them apart by their
// fields; only those without fields of their own by the type.
struct PostProcessorFields {
  std::string type;
  std::optional<TemplateSpecial> sep, cls;
  std::optional<bool> trim_offsets, add_prefix_space;
  std::optional<std::vector<TemplatePiece>> single, pair;
  std::optional<SpecialIds> specials;
  bool has_processors = false;
};

// What a Sequence has been made of so far.
struct Steps {
  bool adds_tokens = false;
  bool behind_words = false;  // of Bert or RobertaProcessing: specials are in the text then
};

TrimOffsets TrimOf(const PostProcessorFields& fields) {
  if (!*fields.trim_offsets) return TrimOffsets::kNo;
  return *fields.add_prefix_space ? TrimOffsets::kKeepPrefixSpace : TrimOffsets::kYes;
}

absl::Status ReadProcessor(JsonValue& value, const JsonPlace& place, Steps& steps, PostProcessorTemplate& out);

absl::Status ReadProcessorFields(JsonValue& value, const JsonPlace& place, Steps& steps, PostProcessorTemplate& out,
                                 PostProcessorFields& fields) {
  return ReadStruct(value, place, {},
                    {"type", "sep", "cls", "trim_offsets", "add_prefix_space", "single", "pair", "special_tokens",
                     "processors"},
                    [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
                      if (key == "type") return ReadString(field, at, fields.type);
                      if (key == "sep") return ReadNamedId(field, at, fields.sep.emplace());
                      if (key == "cls") return ReadNamedId(field, at, fields.cls.emplace());
                      if (key == "trim_offsets") return ReadBool(field, at, fields.trim_offsets.emplace());
                      if (key == "add_prefix_space") return ReadBool(field, at, fields.add_prefix_space.emplace());
                      if (key == "single") return ReadTemplate(field, at, fields.single.emplace());
                      if (key == "pair") return ReadTemplate(field, at, fields.pair.emplace());
                      if (key == "special_tokens") return ReadSpecialTokens(field, at, fields.specials.emplace());
                      fields.has_processors = true;
                      return ForEachElement(field, at, [&](JsonValue& element, const JsonPlace& element_at) {
                        return ReadProcessor(element, element_at, steps, out);
                      });
                    });
}

absl::Status SetTrim(const PostProcessorFields& fields, const JsonPlace& place, const Steps& steps,
                     PostProcessorTemplate& out) {
  const TrimOffsets trim = TrimOf(fields);
  if (trim == TrimOffsets::kNo) return absl::OkStatus();
  if (out.trim_offsets != TrimOffsets::kNo || steps.behind_words) {
    return place.Field("trim_offsets").NotSupported("true", "one that trims, before those that add tokens");
  }
  out.trim_offsets = trim;
  return absl::OkStatus();
}

// <s> A </s> and, of a pair, B </s> or </s> B </s>: BertProcessing numbers the
// texts, RobertaProcessing gives all the type 0.
void SetBertTemplate(const PostProcessorFields& fields, PostProcessorTemplate& out) {
  const TemplateSpecial &cls = *fields.cls, &sep = *fields.sep;
  const TemplateSequence a{Sequence::kA, 0};
  out.single = {cls, a, sep};
  if (fields.trim_offsets && fields.add_prefix_space) {
    out.pair = {cls, a, sep, sep, TemplateSequence{Sequence::kB, 0}, sep};
  } else {
    out.pair = {cls, a, sep, TemplateSequence{Sequence::kB, 1}, TemplateSpecial{sep.ids, sep.content, 1}};
  }
}

absl::Status ReadProcessor(JsonValue& value, const JsonPlace& place, Steps& steps, PostProcessorTemplate& out) {
  PostProcessorFields fields;
  TRELLIS_TRY(ReadProcessorFields(value, place, steps, out, fields));
  const bool is_bert = fields.sep && fields.cls;
  const bool is_template = !is_bert && fields.type != "ByteLevel" && fields.single && fields.pair && fields.specials;
  if (is_bert || is_template) {
    if (steps.adds_tokens) return place.NotSupported("a second one that adds tokens", "one such in a Sequence");
    steps.adds_tokens = true;
  }
  if (is_bert) {
    const bool is_roberta = fields.trim_offsets && fields.add_prefix_space;
    if (is_roberta) TRELLIS_TRY(SetTrim(fields, place, steps, out));
    SetBertTemplate(fields, out);
    steps.behind_words = true;
    return absl::OkStatus();
  }
  if (is_template) {
    out.single = *std::move(fields.single);
    out.pair = *std::move(fields.pair);
    TRELLIS_TRY(FillSpecials(*fields.specials, place.Field("single"), out.single));
    return FillSpecials(*fields.specials, place.Field("pair"), out.pair);
  }
  if (fields.type == "ByteLevel" && fields.trim_offsets && fields.add_prefix_space) {
    return SetTrim(fields, place, steps, out);
  }
  if (fields.type == "Sequence" && fields.has_processors) return absl::OkStatus();
  const std::pair<std::string_view, std::pair<std::string_view, bool>> needed[] = {
      {"TemplateProcessing", {"single", fields.single.has_value()}},
      {"TemplateProcessing", {"pair", fields.pair.has_value()}},
      {"TemplateProcessing", {"special_tokens", fields.specials.has_value()}},
      {"BertProcessing", {"sep", fields.sep.has_value()}},
      {"BertProcessing", {"cls", fields.cls.has_value()}},
      {"RobertaProcessing", {"sep", fields.sep.has_value()}},
      {"RobertaProcessing", {"cls", fields.cls.has_value()}},
      {"ByteLevel", {"trim_offsets", fields.trim_offsets.has_value()}},
      {"ByteLevel", {"add_prefix_space", fields.add_prefix_space.has_value()}},
      {"Sequence", {"processors", false}}};
  for (const auto& [type, field] : needed) {
    if (fields.type == type && !field.second) return place.Field(field.first).Error("missing, expected a value");
  }
  constexpr std::string_view kTypes = "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or Sequence";
  if (fields.type.empty()) return place.Field("type").Error("missing, expected " + std::string(kTypes));
  return place.Field("type").NotSupported(Quoted(fields.type), kTypes);
}

}  // namespace

absl::Status ReadPostProcessor(JsonValue& value, const JsonPlace& place, PostProcessorTemplate& out) {
  out = PostProcessorTemplate{};
  Steps steps;
  return ReadProcessor(value, place, steps, out);
}

}  // namespace trellis::internal
