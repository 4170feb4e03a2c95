// One line of a golden or case file (JSON; tools/make_golden says which fields).
#ifndef TRELLIS_TESTS_GOLDEN_GOLDEN_CASE_H_
#define TRELLIS_TESTS_GOLDEN_GOLDEN_CASE_H_

#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "tests/reference/utf8_replacement.h"
#include "trellis/tokenizer.h"

namespace trellis::golden {

// One step of decoding a stream: text, nothing yet, or an error.
struct GoldenStep {
  std::optional<std::string> text;
  bool is_error = false;
};

// What is compared of one row of tokens.
struct GoldenRow {
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;
  std::vector<Offset> char_offsets;  // empty where the reference could not be asked
  std::vector<uint8_t> type_ids;             // absent in the file: all 0
  std::vector<uint8_t> special_tokens_mask;  // absent in the file: all 0
  std::vector<uint8_t> attention_mask;       // absent in the file: all 1
};

struct GoldenCase : GoldenRow {
  std::string name;
  std::string text;
  std::optional<std::string> pair;
  EncodeOptions options = {.add_special_tokens = false};
  // Why this library cannot be asked for it; empty: it can.
  std::string unsupported;
  std::string expect_error;  // the reference's words; empty: no error
  bool has_encoding = false;
  std::vector<AddedToken> added_tokens;  // at run time
  std::vector<std::string> tokens;       // texts; empty: not asked
  std::optional<Padding> padding;
  std::vector<GoldenRow> overflow;
  bool knows_overflow = true;
  std::vector<GoldenStep> stream;  // of `ids`, specials kept; empty: not asked
  std::string decoded;                       // of `ids`, also where there is nothing to encode
  std::optional<std::string> decoded_skip_special;
  bool has_decoding = false;
  bool decode_error = false;  // the reference panics

  Input input() const {
    return pair ? Input{.text = text, .pair = std::string_view(*pair)} : Input{.text = text};
  }
};

namespace internal {

using simdjson::dom::array;
using simdjson::dom::element;

inline std::string String(element value) { return std::string(std::string_view(value)); }

template <typename T>
std::vector<T> Numbers(element value) {
  std::vector<T> out;
  for (const element number : array(value)) out.push_back(static_cast<T>(int64_t(number)));
  return out;
}

inline std::vector<Offset> Offsets(element value) {
  std::vector<Offset> out;
  for (const element pair : array(value)) {
    const std::vector<uint32_t> ends = Numbers<uint32_t>(pair);
    out.push_back({ends.at(0), ends.at(1)});
  }
  return out;
}

inline void ReadTruncation(element truncation, GoldenCase& out) {
  const std::string_view strategy = truncation["strategy"];
  const std::string_view direction = truncation["direction"];
  if (strategy == "LongestFirst") out.options.truncate = Truncate::kLongestFirst;
  if (strategy == "OnlyFirst") out.options.truncate = Truncate::kOnlyFirst;
  if (strategy == "OnlySecond") out.options.truncate = Truncate::kOnlySecond;
  out.options.truncation_side = direction == "Left" ? Side::kLeft : Side::kRight;
  out.options.max_length = uint64_t(truncation["max_length"]);
  out.options.stride = uint64_t(truncation["stride"]);
}

inline Padding ReadPadding(element from) {
  Padding padding;
  element value;
  if (from["strategy"]["Fixed"].get(value) == simdjson::SUCCESS) padding.length = uint64_t(value);
  if (!from["pad_to_multiple_of"].is_null()) padding.multiple_of = uint64_t(from["pad_to_multiple_of"]);
  padding.side = std::string_view(from["direction"]) == "Left" ? Side::kLeft : Side::kRight;
  padding.id = static_cast<TokenId>(int64_t(from["pad_id"]));
  padding.type_id = static_cast<uint8_t>(uint64_t(from["pad_type_id"]));
  return padding;
}

// As the wheel's AddedToken takes what is left out.
inline AddedToken ReadAddedToken(element from) {
  AddedToken token;
  token.content = String(from["content"]);
  const auto flag = [&](const char* name, bool usual) {
    bool value = usual;
    return from[name].get(value) == simdjson::SUCCESS ? value : usual;
  };
  token.special = flag("special", false);
  token.normalized = flag("normalized", !token.special);
  token.single_word = flag("single_word", false);
  token.lstrip = flag("lstrip", false);
  token.rstrip = flag("rstrip", false);
  return token;
}

inline void ReadOptions(element options, GoldenCase& out) {
  for (const auto& [key, value] : simdjson::dom::object(options)) {
    if (key == "add_special_tokens") {
      out.options.add_special_tokens = bool(value);
    } else if (key == "truncation") {
      ReadTruncation(value, out);
    } else if (key == "padding") {
      out.padding = ReadPadding(value);
    } else if (key == "added_tokens") {
      for (const element token : array(value)) out.added_tokens.push_back(ReadAddedToken(token));
    } else if (key == "encode_special_tokens") {
      out.options.encode_special_tokens = bool(value);
    } else {
      out.unsupported = std::string(key);
    }
  }
}

inline void ReadRow(element row, GoldenRow& out) {
  out.ids = Numbers<TokenId>(row["ids"]);
  out.offsets = Offsets(row["byte_offsets"]);
  out.type_ids.assign(out.ids.size(), 0);
  out.special_tokens_mask.assign(out.ids.size(), 0);
  out.attention_mask.assign(out.ids.size(), 1);
  element column;
  if (row["char_offsets"].get(column) == simdjson::SUCCESS) out.char_offsets = Offsets(column);
  if (row["type_ids"].get(column) == simdjson::SUCCESS) out.type_ids = Numbers<uint8_t>(column);
  if (row["attention_mask"].get(column) == simdjson::SUCCESS) out.attention_mask = Numbers<uint8_t>(column);
  if (row["special_tokens_mask"].get(column) == simdjson::SUCCESS)
    out.special_tokens_mask = Numbers<uint8_t>(column);
}

inline void ReadEncoding(element row, GoldenCase& out) {
  ReadRow(row, out);
  element tokens;
  if (row["tokens"].get(tokens) == simdjson::SUCCESS) {
    for (const element token : array(tokens)) out.tokens.push_back(String(token));
  }
  element overflow;
  if (row["overflowing"].get(overflow) == simdjson::SUCCESS) {
    for (const element one : array(overflow)) ReadRow(one, out.overflow.emplace_back());
  } else {
    // Files of rows that are cut by options of their own may leave it out.
    out.knows_overflow = out.options.truncate == Truncate::kNever;
  }
  out.has_encoding = true;
}

inline std::vector<GoldenStep> ReadSteps(element steps) {
  std::vector<GoldenStep> out;
  for (const element step : array(steps)) {
    GoldenStep& one = out.emplace_back();
    if (step.is_string()) one.text = String(step);
    one.is_error = step.is_object();
  }
  return out;
}

// Rows whose reference refused the bytes and was asked again with U+FFFD in
// place: its offsets are those of the replaced text.
inline void ReadReplaced(element row, GoldenCase& out) {
  out.expect_error.clear();
  out.ids = Numbers<TokenId>(row["ids_if_replaced"]);
  const reference::Replaced replaced = reference::ReplaceMalformed(out.text);
  for (const Offset& offset : Offsets(row["byte_offsets_if_replaced_in_replaced_text"])) {
    out.offsets.push_back({replaced.original.at(offset.begin), replaced.original.at(offset.end)});
  }
  out.type_ids.assign(out.ids.size(), 0);
  out.special_tokens_mask.assign(out.ids.size(), 0);
  out.attention_mask.assign(out.ids.size(), 1);
  out.has_encoding = true;
}

inline GoldenCase ReadCase(element row) {
  GoldenCase out;
  out.name = String(row["name"]);
  element value;
  if (row["text"].get(value) == simdjson::SUCCESS) out.text = String(value);
  if (row["text_base64"].get(value) == simdjson::SUCCESS && !absl::Base64Unescape(String(value), &out.text)) {
    throw std::runtime_error(out.name + ": text_base64 is not base64");
  }
  if (row["pair"].get(value) == simdjson::SUCCESS) out.pair = String(value);
  if (row["expect_error"].get(value) == simdjson::SUCCESS) out.expect_error = String(value);
  if (row["options"].get(value) == simdjson::SUCCESS) ReadOptions(value, out);
  if (row["ids"].get(value) == simdjson::SUCCESS) ReadEncoding(row, out);
  if (row["ids_if_replaced"].get(value) == simdjson::SUCCESS) ReadReplaced(row, out);
  if (row["decode_ids"].get(value) == simdjson::SUCCESS) out.ids = Numbers<TokenId>(value);
  out.decode_error = row["decode_error"].error() == simdjson::SUCCESS;
  if (row["stream_steps"].get(value) == simdjson::SUCCESS) out.stream = ReadSteps(value);
  if (row["decoded"].get(value) == simdjson::SUCCESS) {
    out.decoded = String(value);
    out.has_decoding = true;
  }
  if (row["decoded_skip_special"].get(value) == simdjson::SUCCESS) out.decoded_skip_special = String(value);
  return out;
}

}  // namespace internal

// All rows of a file, in order; a first line that has no name says where the
// file comes from and is left out. Throws when the file cannot be read.
inline std::vector<GoldenCase> ReadCases(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  std::vector<GoldenCase> out;
  simdjson::dom::parser parser;
  std::string line;
  while (std::getline(file, line)) {
    const simdjson::dom::element row = parser.parse(line);
    simdjson::dom::element name;
    if (row["name"].get(name) == simdjson::SUCCESS) out.push_back(internal::ReadCase(row));
  }
  return out;
}

// A tokenizer.json and its cases.
struct GoldenPipeline {
  std::string name;
  std::string tokenizer_json;
  std::vector<GoldenCase> cases;
};

// A row with a "tokenizer" begins a pipeline; the rows after it are its cases.
inline std::vector<GoldenPipeline> ReadPipelines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  std::vector<GoldenPipeline> out;
  simdjson::dom::parser parser;
  std::string line;
  while (std::getline(file, line)) {
    const simdjson::dom::element row = parser.parse(line);
    simdjson::dom::element value;
    if (row["pipeline"].get(value) == simdjson::SUCCESS) {
      out.push_back({internal::String(value), simdjson::minify(row["tokenizer"]), {}});
    } else if (row["name"].get(value) == simdjson::SUCCESS) {
      out.back().cases.push_back(internal::ReadCase(row));
    }
  }
  return out;
}

}  // namespace trellis::golden

#endif  // TRELLIS_TESTS_GOLDEN_GOLDEN_CASE_H_
