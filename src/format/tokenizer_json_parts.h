// The parts of a tokenizer.json, one reader each. All follow tokenizers 0.22.2
// in what they take; what changes results and is not supported is refused by
// name. src/format/tokenizer_json.cc puts them together.
#ifndef TRELLIS_SRC_FORMAT_TOKENIZER_JSON_PARTS_H_
#define TRELLIS_SRC_FORMAT_TOKENIZER_JSON_PARTS_H_

#include <vector>

#include "absl/status/status.h"
#include "src/format/json_reader.h"
#include "trellis/spec.h"

namespace trellis::internal {

// Each appends to its vector; nested Sequences come out flat.
absl::Status ReadNormalizer(JsonValue& value, const JsonPlace& place, std::vector<Normalizer>& out);
absl::Status ReadPreTokenizer(JsonValue& value, const JsonPlace& place, std::vector<PreTokenizer>& out);
absl::Status ReadDecoder(JsonValue& value, const JsonPlace& place, std::vector<Decoder>& out);

absl::Status ReadPostProcessor(JsonValue& value, const JsonPlace& place, PostProcessorTemplate& out);

// A template's or padding's type id.
absl::Status ReadTypeId(JsonValue& value, const JsonPlace& place, uint8_t& out);

absl::Status ReadTruncation(JsonValue& value, const JsonPlace& place, Truncation& out);
absl::Status ReadPadding(JsonValue& value, const JsonPlace& place, Padding& out);

absl::Status ReadUnigramModel(JsonValue& value, const JsonPlace& place, size_t expected_pieces,
                              UnigramModel& out);

// The file's added tokens in its order; their ids are AddTokens' to give, whatever
// the file says.
absl::Status ReadAddedTokens(JsonValue& value, const JsonPlace& place, std::vector<AddedToken>& out);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_FORMAT_TOKENIZER_JSON_PARTS_H_
