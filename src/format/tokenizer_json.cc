// tokenizer.json, top level. Keys may come in any order and again; the last one
// counts, and each must be sound.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/format/tokenizer_json_parts.h"
#include "trellis/load.h"

namespace trellis {
namespace internal {
namespace {

// Bytes of the file per piece of the vocabulary, about; a guess that is off
// costs a second allocation.
constexpr size_t kBytesPerPiece = 36;

template <typename T, typename Read>
absl::Status ReadOptionalList(JsonValue& value, const JsonPlace& place, Read read, std::vector<T>& out) {
  out.clear();
  return IsNull(value) ? absl::OkStatus() : read(value, place, out);
}

template <typename T, typename Read>
absl::Status ReadOptional(JsonValue& value, const JsonPlace& place, Read read, std::optional<T>& out) {
  out.reset();
  return IsNull(value) ? absl::OkStatus() : read(value, place, out.emplace());
}

absl::Status ReadVersion(JsonValue& value, const JsonPlace& place) {
  std::string version;
  TRELLIS_TRY(ReadString(value, place, version));
  return version == "1.0" ? absl::OkStatus() : place.Expected(value, "\"1.0\"");
}

absl::Status ReadFile(JsonObject& file, size_t file_bytes, TokenizerSpec& spec) {
  const JsonPlace root;
  std::vector<AddedToken> added_tokens;
  bool has_model = false;
  TRELLIS_TRY(ForEachField(file, root, [&](std::string_view key, JsonValue& value, const JsonPlace& place) {
    if (key == "version") return ReadVersion(value, place);
    if (key == "truncation") return ReadOptional(value, place, ReadTruncation, spec.truncation);
    if (key == "padding") return ReadOptional(value, place, ReadPadding, spec.padding);
    if (key == "added_tokens") return ReadAddedTokens(value, place, added_tokens);
    if (key == "normalizer") return ReadOptionalList(value, place, ReadNormalizer, spec.normalizers);
    if (key == "pre_tokenizer") return ReadOptionalList(value, place, ReadPreTokenizer, spec.pre_tokenizers);
    if (key == "decoder") return ReadOptionalList(value, place, ReadDecoder, spec.decoders);
    if (key == "post_processor") {
      spec.post_processor = PostProcessorTemplate{};
      return IsNull(value) ? absl::OkStatus() : ReadPostProcessor(value, place, spec.post_processor);
    }
    if (key == "model") {
      has_model = true;
      return ReadUnigramModel(value, place, file_bytes / kBytesPerPiece, spec.model);
    }
    return place.Error(
        "unknown field, expected one of version, truncation, padding, added_tokens, normalizer, "
        "pre_tokenizer, post_processor, decoder, model");
  }));
  if (!has_model) return root.Field("model").Error("missing, expected an object");
  AddTokens(added_tokens, spec);
  return absl::OkStatus();
}

absl::Status ReadDocument(std::string_view json, TokenizerSpec& spec) {
  const JsonPlace root;
  const size_t first = json.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return root.Error("empty, expected a JSON object");
  if (json.substr(0, 3) == "\xEF\xBB\xBF") return root.Error("starts with a byte order mark, expected \"{\"");
  if (json[first] != '{')
    return root.Error("starts with " + Quoted(json.substr(first), 12) + ", expected \"{\"");
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(json);
  simdjson::ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) return BrokenJson(root, error);
  JsonObject file;
  if (const auto error = document.get_object().get(file)) return BrokenJson(root, error);
  TRELLIS_TRY(ReadFile(file, json.size(), spec));
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return root.Error("more after the JSON object, expected the end of the file");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace internal

absl::StatusOr<TokenizerSpec> ParseTokenizerJson(std::string_view json) {
  TokenizerSpec spec;
  spec.dialect = Dialect::kHuggingFace;
  TRELLIS_TRY(internal::ReadDocument(json, spec));
  TRELLIS_TRY(ValidateSpec(spec));
  return spec;
}

}  // namespace trellis
