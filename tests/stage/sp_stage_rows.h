// Rows of tests/golden/sp_stages.jsonl (tools/make_sp_golden): what sentencepiece
// 0.2.3 does, stage by stage.
#ifndef TRELLIS_TESTS_STAGE_SP_STAGE_ROWS_H_
#define TRELLIS_TESTS_STAGE_SP_STAGE_ROWS_H_

#include <simdjson.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "trellis/encoding.h"
#include "trellis/spec.h"

namespace trellis::sp_stage {

using Json = simdjson::dom::element;

inline std::string Bytes(Json value) {
  const std::string_view encoded = value;
  std::string bytes;
  if (!absl::Base64Unescape(absl::string_view(encoded.data(), encoded.size()), &bytes)) {
    throw std::runtime_error(std::string(encoded) + " is not base64");
  }
  return bytes;
}

template <typename T>
std::vector<T> Numbers(Json value) {
  std::vector<T> numbers;
  for (const Json number : simdjson::dom::array(value)) numbers.push_back(static_cast<T>(int64_t(number)));
  return numbers;
}

// [text, score, the file format's type]
inline std::vector<Piece> Pieces(Json value) {
  constexpr PieceType kTypes[] = {PieceType::kNormal,      PieceType::kNormal, PieceType::kUnknown, PieceType::kControl,
                                  PieceType::kUserDefined, PieceType::kUnused, PieceType::kByte};
  std::vector<Piece> pieces;
  for (const Json piece : simdjson::dom::array(value)) {
    pieces.push_back({Bytes(piece.at(0)), double(piece.at(1)), kTypes[int64_t(piece.at(2))]});
  }
  return pieces;
}

// Calls f(row) for each row of a kind; returns how many there were.
template <typename F>
size_t ForEachRow(std::string_view kind, F&& f) {
  const std::string path = TRELLIS_SOURCE_DIR "/tests/golden/sp_stages.jsonl";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  size_t count = 0;
  simdjson::dom::parser parser;
  std::string line;
  while (std::getline(file, line)) {
    const Json row = parser.parse(line);
    std::string_view found;
    if (row["kind"].get(found) != simdjson::SUCCESS || found != kind) continue;
    f(row);
    ++count;
  }
  return count;
}

}  // namespace trellis::sp_stage

#endif  // TRELLIS_TESTS_STAGE_SP_STAGE_ROWS_H_
