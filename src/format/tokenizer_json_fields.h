// Fields of normalizers and pre-tokenizers; src/format/tokenizer_json_stages.cc
// has opened the object and knows its type.
#ifndef TRELLIS_SRC_FORMAT_TOKENIZER_JSON_FIELDS_H_
#define TRELLIS_SRC_FORMAT_TOKENIZER_JSON_FIELDS_H_

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "src/format/json_reader.h"
#include "trellis/spec.h"

namespace trellis::internal {

// One field of an object: how it is read, and what a file without it should have had
// ("": it may be missing).
struct JsonField {
  std::string_view name;
  std::string_view expected;
  std::function<absl::Status(JsonValue&, const JsonPlace&)> read;
};
// Other fields are walked through; of one that comes again the last counts.
absl::Status ReadFields(JsonObject& object, const JsonPlace& place, std::initializer_list<JsonField> fields);

// {"String": text} or {"Regex": expression}.
absl::Status ReadPattern(JsonValue& value, const JsonPlace& place, std::string& pattern, bool& is_regex);

// Both append. Errors: `type` is none of them, too.
absl::Status ReadNormalizerFields(const std::string& type, JsonObject& object, const JsonPlace& place,
                                  std::vector<Normalizer>& out);
absl::Status ReadPreTokenizerFields(const std::string& type, JsonObject& object, const JsonPlace& place,
                                    std::vector<PreTokenizer>& out);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_FORMAT_TOKENIZER_JSON_FIELDS_H_
