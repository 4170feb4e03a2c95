// One line of the SentencePiece dialect's goldens (tools/make_sp_golden).
#ifndef TRELLIS_TESTS_GOLDEN_SP_CASE_H_
#define TRELLIS_TESTS_GOLDEN_SP_CASE_H_

#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "trellis/encoding.h"

namespace trellis::golden {

struct SpCase {
  std::string model;  // of sp_small.jsonl
  std::string name;
  std::string text;
  bool has_encoding = false;
  std::vector<TokenId> ids;  // without encoding: what is to be decoded
  std::vector<Offset> offsets;
  std::string decoded;
};

// `key`, or the bytes of `key`_base64.
inline std::string BytesOf(simdjson::dom::element row, const std::string& key) {
  std::string_view value;
  if (row[key].get(value) == simdjson::SUCCESS) return std::string(value);
  std::string bytes;
  const std::string_view encoded = row[key + "_base64"];
  if (!absl::Base64Unescape(absl::string_view(encoded.data(), encoded.size()), &bytes)) {
    throw std::runtime_error(key + "_base64 is not base64");
  }
  return bytes;
}

inline std::vector<TokenId> IdsOf(simdjson::dom::array array) {
  std::vector<TokenId> ids;
  for (const simdjson::dom::element id : array) ids.push_back(static_cast<TokenId>(int64_t(id)));
  return ids;
}

inline SpCase ReadSpCase(simdjson::dom::element row) {
  SpCase out;
  std::string_view value;
  if (row["model"].get(value) == simdjson::SUCCESS) out.model = std::string(value);
  out.name = std::string(std::string_view(row["name"]));
  out.decoded = BytesOf(row, "decoded");
  simdjson::dom::array ids;
  if (row["decode_ids"].get(ids) == simdjson::SUCCESS) {
    out.ids = IdsOf(ids);
    return out;
  }
  out.has_encoding = true;
  out.text = BytesOf(row, "text");
  out.ids = IdsOf(row["ids"]);
  for (const simdjson::dom::array range : row["byte_offsets"]) {
    const std::vector<TokenId> ends = IdsOf(range);
    out.offsets.push_back({static_cast<uint32_t>(ends.at(0)), static_cast<uint32_t>(ends.at(1))});
  }
  return out;
}

// All rows of a file; its first line says where it comes from.
inline std::vector<SpCase> ReadSpCases(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  std::vector<SpCase> out;
  simdjson::dom::parser parser;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) out.push_back(ReadSpCase(parser.parse(line)));
  return out;
}

}  // namespace trellis::golden

#endif  // TRELLIS_TESTS_GOLDEN_SP_CASE_H_
