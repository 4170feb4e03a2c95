// Normalizers, pre-tokenizers and decoders: objects with a "type", in Sequences.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "src/format/tokenizer_json_fields.h"
#include "src/format/tokenizer_json_parts.h"

namespace trellis::internal {
namespace {

// Opens a tagged object and finds its "type", wherever it stands; the last one
// counts, as in tokenizers. The object is then at its start again.
absl::Status OpenTagged(JsonValue& value, const JsonPlace& place, JsonObject& object, std::string& type) {
  TRELLIS_TRY(OpenObject(value, place, object));
  bool found = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key != "type") return absl::OkStatus();
    found = true;
    return ReadString(field, at, type);
  }));
  if (!found) return place.Field("type").Error("missing, expected a string");
  if (const auto error = object.reset().error()) return BrokenJson(place, error);
  return absl::OkStatus();
}

// The one field of a Sequence: `read` is called for each element. A list that
// comes again replaces the one before.
template <typename T, typename Read>
absl::Status ReadSequence(JsonObject& object, const JsonPlace& place, std::string_view list_key, Read read,
                          std::vector<T>& out) {
  const size_t before = out.size();
  bool found = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key != list_key) return CheckAny(field, at);
    found = true;
    out.resize(before);
    return ForEachElement(field, at, [&](JsonValue& element, const JsonPlace& element_at) {
      return read(element, element_at, out);
    });
  }));
  if (!found) return place.Field(list_key).Error("missing, expected an array");
  return absl::OkStatus();
}

absl::Status CheckFields(JsonObject& object, const JsonPlace& place) {
  return ForEachField(object, place, [](std::string_view, JsonValue& field, const JsonPlace& at) {
    return CheckAny(field, at);
  });
}

// Strict base64 with or without padding, as the crate reads it: abseil alone
// would pass blanks and stray bits.
bool DecodeBase64(const std::string& text, std::string& out) {
  if (!absl::Base64Unescape(text, &out)) return false;
  std::string again = absl::Base64Escape(out);
  if (again == text) return true;
  while (!again.empty() && again.back() == '=') again.pop_back();
  return again == text;
}

absl::Status ReadPrecompiled(JsonObject& object, const JsonPlace& place, PrecompiledNormalizer& out) {
  bool found = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key != "precompiled_charsmap") return CheckAny(field, at);
    found = true;
    std::string text;
    TRELLIS_TRY(ReadString(field, at, text));
    if (!DecodeBase64(text, out.charsmap)) return at.Error(Quoted(text) + ", expected base64");
    return absl::OkStatus();
  }));
  if (!found) return place.Field("precompiled_charsmap").Error("missing, expected a base64 string");
  return absl::OkStatus();
}

absl::Status ReadReplace(JsonObject& object, const JsonPlace& place, ReplaceNormalizer& out) {
  bool has_pattern = false;
  bool has_content = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key == "pattern") {
      has_pattern = true;
      return ReadPattern(field, at, out.pattern, out.is_regex);
    }
    if (key == "content") {
      has_content = true;
      return ReadString(field, at, out.content);
    }
    return CheckAny(field, at);
  }));
  if (!has_pattern) return place.Field("pattern").Error("missing, expected an object");
  if (!has_content) return place.Field("content").Error("missing, expected a string");
  return absl::OkStatus();
}

absl::Status ReadPrependScheme(JsonValue& value, const JsonPlace& place, PrependScheme& out) {
  std::string text;
  if (JsonToken(value).substr(0, 1) == "\"") TRELLIS_TRY(ReadString(value, place, text));
  if (text == "always") {
    out = PrependScheme::kAlways;
  } else if (text == "first") {
    out = PrependScheme::kFirst;
  } else if (text == "never") {
    out = PrependScheme::kNever;
  } else {
    return place.Expected(value, "\"first\", \"never\" or \"always\"");
  }
  return absl::OkStatus();
}

// Both spellings: `add_prefix_space` until 0.14, `prepend_scheme` since. A false
// add_prefix_space is only taken beside "never"; a true one says nothing.
absl::Status ReadMetaspace(JsonObject& object, const JsonPlace& place, MetaspacePreTokenizer& out) {
  bool has_replacement = false;
  bool add_prefix_space = true;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key == "replacement") {
      has_replacement = true;
      return ReadString(field, at, out.replacement);
    }
    if (key == "prepend_scheme") return ReadPrependScheme(field, at, out.prepend_scheme);
    if (key == "add_prefix_space") {
      add_prefix_space = true;
      return IsNull(field) ? absl::OkStatus() : ReadBool(field, at, add_prefix_space);
    }
    if (key == "split") {
      out.split = true;
      return IsNull(field) ? absl::OkStatus() : ReadBool(field, at, out.split);
    }
    if (key == "str_rep" && !IsNull(field)) {
      std::string ignored;
      return ReadString(field, at, ignored);
    }
    return CheckAny(field, at);
  }));
  if (!has_replacement)
    return place.Field("replacement").Error("missing, expected a string of one character");
  if (!add_prefix_space && out.prepend_scheme != PrependScheme::kNever) {
    return place.Field("add_prefix_space").Error("false, expected it beside prepend_scheme \"never\" only");
  }
  return absl::OkStatus();
}

absl::Status ReadStripDecoder(JsonObject& object, const JsonPlace& place, std::vector<Decoder>& out) {
  StripDecoder strip;
  bool has_content = false, has_start = false, has_stop = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    if (key == "content") {
      has_content = true;
      return ReadString(field, at, strip.content);
    }
    if (key != "start" && key != "stop") return CheckAny(field, at);
    uint64_t count = 0;
    TRELLIS_TRY(ReadUnsigned(field, at, UINT64_MAX, "a count", count));
    (key == "start" ? has_start : has_stop) = true;
    (key == "start" ? strip.start : strip.stop) = count;
    return absl::OkStatus();
  }));
  if (!has_content) return place.Field("content").Error("missing, expected a string of one character");
  if (!has_start) return place.Field("start").Error("missing, expected a count");
  if (!has_stop) return place.Field("stop").Error("missing, expected a count");
  out.emplace_back(std::move(strip));
  return absl::OkStatus();
}

absl::Status ReadWordPieceDecoder(JsonObject& object, const JsonPlace& place, std::vector<Decoder>& out) {
  WordPieceDecoder words;
  bool has_prefix = false, has_cleanup = false;
  TRELLIS_TRY(ForEachField(object, place, [&](std::string_view key, JsonValue& field, const JsonPlace& at) {
    has_prefix |= key == "prefix";
    has_cleanup |= key == "cleanup";
    if (key == "prefix") return ReadString(field, at, words.prefix);
    return key == "cleanup" ? ReadBool(field, at, words.cleanup) : CheckAny(field, at);
  }));
  if (!has_prefix) return place.Field("prefix").Error("missing, expected a string");
  if (!has_cleanup) return place.Field("cleanup").Error("missing, expected true or false");
  out.emplace_back(std::move(words));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadNormalizer(JsonValue& value, const JsonPlace& place, std::vector<Normalizer>& out) {
  JsonObject object;
  std::string type;
  TRELLIS_TRY(OpenTagged(value, place, object, type));
  if (type == "Sequence") return ReadSequence(object, place, "normalizers", ReadNormalizer, out);
  if (type == "Precompiled") {
    PrecompiledNormalizer precompiled;
    TRELLIS_TRY(ReadPrecompiled(object, place, precompiled));
    out.emplace_back(std::move(precompiled));
    return absl::OkStatus();
  }
  if (type == "Replace") {
    ReplaceNormalizer replace;
    TRELLIS_TRY(ReadReplace(object, place, replace));
    out.emplace_back(std::move(replace));
    return absl::OkStatus();
  }
  return ReadNormalizerFields(type, object, place, out);
}

absl::Status ReadPreTokenizer(JsonValue& value, const JsonPlace& place, std::vector<PreTokenizer>& out) {
  JsonObject object;
  std::string type;
  TRELLIS_TRY(OpenTagged(value, place, object, type));
  if (type == "Sequence") return ReadSequence(object, place, "pretokenizers", ReadPreTokenizer, out);
  if (type == "WhitespaceSplit") {
    out.emplace_back(WhitespaceSplitPreTokenizer{});
    return CheckFields(object, place);
  }
  if (type == "Metaspace") {
    MetaspacePreTokenizer metaspace;
    TRELLIS_TRY(ReadMetaspace(object, place, metaspace));
    out.emplace_back(std::move(metaspace));
    return absl::OkStatus();
  }
  return ReadPreTokenizerFields(type, object, place, out);
}

absl::Status ReadDecoder(JsonValue& value, const JsonPlace& place, std::vector<Decoder>& out) {
  JsonObject object;
  std::string type;
  TRELLIS_TRY(OpenTagged(value, place, object, type));
  if (type == "Sequence") {
    const size_t before = out.size();
    TRELLIS_TRY(ReadSequence(object, place, "decoders", ReadDecoder, out));
    // An empty one joins the tokens without blanks, other than no decoder at all.
    if (out.size() == before) out.emplace_back(FuseDecoder{});
    return absl::OkStatus();
  }
  if (type == "Metaspace") {
    MetaspacePreTokenizer metaspace;
    TRELLIS_TRY(ReadMetaspace(object, place, metaspace));
    out.emplace_back(MetaspaceDecoder{std::move(metaspace.replacement), metaspace.prepend_scheme});
    return absl::OkStatus();
  }
  if (type == "Replace") {
    ReplaceNormalizer replace;
    TRELLIS_TRY(ReadReplace(object, place, replace));
    out.emplace_back(ReplaceDecoder{std::move(replace.pattern), replace.is_regex, std::move(replace.content)});
    return absl::OkStatus();
  }
  if (type == "ByteFallback" || type == "Fuse") {
    type == "Fuse" ? out.emplace_back(FuseDecoder{}) : out.emplace_back(ByteFallbackDecoder{});
    return CheckFields(object, place);
  }
  if (type == "Strip") return ReadStripDecoder(object, place, out);
  if (type == "WordPiece") return ReadWordPieceDecoder(object, place, out);
  return place.Field("type").NotSupported(
      Quoted(type), "Metaspace, ByteFallback, Fuse, Strip, Replace, WordPiece or Sequence");
}

}  // namespace trellis::internal
