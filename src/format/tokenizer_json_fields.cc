#include "src/format/tokenizer_json_fields.h"

#include <optional>
#include <utility>

namespace trellis::internal {
namespace {

auto Into(std::string& out) {
  return [&out](JsonValue& value, const JsonPlace& place) { return ReadString(value, place, out); };
}
auto Into(bool& out) {
  return [&out](JsonValue& value, const JsonPlace& place) { return ReadBool(value, place, out); };
}
auto Into(std::optional<bool>& out) {
  return [&out](JsonValue& value, const JsonPlace& place) {
    out.reset();
    return IsNull(value) ? absl::OkStatus() : ReadBool(value, place, out.emplace());
  };
}

auto Into(SplitBehavior& out) {
  return [&out](JsonValue& value, const JsonPlace& place) {
    std::string name;
    if (JsonToken(value).substr(0, 1) == "\"") TRELLIS_TRY(ReadString(value, place, name));
    if (name == "Removed") {
      out = SplitBehavior::kRemoved;
    } else if (name == "Isolated") {
      out = SplitBehavior::kIsolated;
    } else if (name == "MergedWithPrevious") {
      out = SplitBehavior::kMergedWithPrevious;
    } else if (name == "MergedWithNext") {
      out = SplitBehavior::kMergedWithNext;
    } else if (name == "Contiguous") {
      out = SplitBehavior::kContiguous;
    } else {
      return place.Expected(value, "\"Removed\", \"Isolated\", \"MergedWithPrevious\", \"MergedWithNext\" or \"Contiguous\"");
    }
    return absl::OkStatus();
  };
}

constexpr std::string_view kBool = "true or false";

// The spec's value, put at the end of the list and read in place.
template <typename T, typename List>
T& Append(List& out) {
  return std::get<T>(out.emplace_back(T{}));
}

}  // namespace

absl::Status ReadFields(JsonObject& object, const JsonPlace& place, std::initializer_list<JsonField> fields) {
  uint32_t seen = 0;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& value, const JsonPlace& at) {
    uint32_t bit = 1;
    for (const JsonField& field : fields) {
      if (field.name == key) {
        seen |= bit;
        return field.read(value, at);
      }
      bit <<= 1;
    }
    return CheckAny(value, at);
  }));
  for (const JsonField& field : fields) {
    if ((seen & 1) == 0 && !field.expected.empty()) {
      return place.Field(field.name).Error("missing, expected " + std::string(field.expected));
    }
    seen >>= 1;
  }
  return absl::OkStatus();
}

absl::Status ReadPattern(JsonValue& value, const JsonPlace& place, std::string& pattern, bool& is_regex) {
  std::string kind;
  TRELLIS_TRY(ForEachField(value, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if ((key != "String" && key != "Regex") || (!kind.empty() && kind != key)) {
      return place.Error("key " + Quoted(key) + ", expected either \"String\" or \"Regex\"");
    }
    kind = key;
    is_regex = key == "Regex";
    return ReadString(field, at, pattern);
  }));
  if (kind.empty()) return place.Error("an empty object, expected \"String\" or \"Regex\" in it");
  return absl::OkStatus();
}

absl::Status ReadNormalizerFields(const std::string& type, JsonObject& object, const JsonPlace& place,
                                  std::vector<Normalizer>& out) {
  constexpr std::pair<std::string_view, UnicodeForm> kForms[] = {
      {"NFC", UnicodeForm::kNfc}, {"NFD", UnicodeForm::kNfd}, {"NFKC", UnicodeForm::kNfkc}, {"NFKD", UnicodeForm::kNfkd}};
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    out.emplace_back(UnicodeNormalizer{form});
    return ReadFields(object, place, {});
  }
  if (type == "Nmt" || type == "Lowercase" || type == "StripAccents") {
    if (type == "Nmt") out.emplace_back(NmtNormalizer{});
    if (type == "Lowercase") out.emplace_back(LowercaseNormalizer{});
    if (type == "StripAccents") out.emplace_back(StripAccentsNormalizer{});
    return ReadFields(object, place, {});
  }
  if (type == "Strip") {
    auto& strip = Append<StripNormalizer>(out);
    return ReadFields(object, place,
                      {{"strip_left", kBool, Into(strip.strip_left)}, {"strip_right", kBool, Into(strip.strip_right)}});
  }
  if (type == "Prepend") {
    return ReadFields(object, place, {{"prepend", "a string", Into(Append<PrependNormalizer>(out).prepend)}});
  }
  if (type == "BertNormalizer") {
    auto& bert = Append<BertNormalizer>(out);
    return ReadFields(object, place,
                      {{"clean_text", kBool, Into(bert.clean_text)},
                       {"handle_chinese_chars", kBool, Into(bert.handle_chinese_chars)},
                       {"strip_accents", "", Into(bert.strip_accents)},
                       {"lowercase", kBool, Into(bert.lowercase)}});
  }
  return place.Field("type").NotSupported(
      Quoted(type),
      "Precompiled, NFC, NFD, NFKC, NFKD, Nmt, Lowercase, Strip, StripAccents, Prepend, Replace, BertNormalizer or "
      "Sequence");
}

absl::Status ReadPreTokenizerFields(const std::string& type, JsonObject& object, const JsonPlace& place,
                                    std::vector<PreTokenizer>& out) {
  if (type == "Whitespace" || type == "UnicodeScripts" || type == "BertPreTokenizer") {
    if (type == "Whitespace") out.emplace_back(WhitespacePreTokenizer{});
    if (type == "UnicodeScripts") out.emplace_back(UnicodeScriptsPreTokenizer{});
    if (type == "BertPreTokenizer") out.emplace_back(BertPreTokenizer{});
    return ReadFields(object, place, {});
  }
  if (type == "Punctuation") {
    return ReadFields(object, place, {{"behavior", "", Into(Append<PunctuationPreTokenizer>(out).behavior)}});
  }
  if (type == "Digits") {
    auto& digits = Append<DigitsPreTokenizer>(out);
    return ReadFields(object, place, {{"individual_digits", kBool, Into(digits.individual_digits)}});
  }
  if (type == "Split") {
    auto& split = Append<SplitPreTokenizer>(out);
    const auto pattern = [&split](JsonValue& value, const JsonPlace& at) {
      return ReadPattern(value, at, split.pattern, split.is_regex);
    };
    return ReadFields(object, place, {{"pattern", "an object", pattern},
                                      {"behavior", "a string", Into(split.behavior)},
                                      {"invert", kBool, Into(split.invert)}});
  }
  if (type == "CharDelimiterSplit") {
    auto& cut = Append<CharDelimiterPreTokenizer>(out);
    return ReadFields(object, place, {{"delimiter", "a string of one character", Into(cut.delimiter)}});
  }
  if (type == "FixedLength") {
    auto& fixed = Append<FixedLengthPreTokenizer>(out);
    const auto length = [&fixed](JsonValue& value, const JsonPlace& at) {
      uint64_t number = 0;
      TRELLIS_TRY(ReadUnsigned(value, at, UINT32_MAX, "a number of characters", number));
      fixed.length = static_cast<uint32_t>(number);
      return absl::OkStatus();
    };
    return ReadFields(object, place, {{"length", "", length}});
  }
  return place.Field("type").NotSupported(
      Quoted(type),
      "WhitespaceSplit, Whitespace, Metaspace, Punctuation, Digits, UnicodeScripts, Split, BertPreTokenizer, "
      "CharDelimiterSplit, FixedLength or Sequence");
}

}  // namespace trellis::internal
