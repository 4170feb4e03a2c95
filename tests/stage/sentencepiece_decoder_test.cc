#include "trellis/internal/stage/sentencepiece_decoder.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/stage/sp_stage_rows.h"

namespace trellis::internal {
namespace {

using sp_stage::Bytes;
using sp_stage::Json;

SentencePieceShown Shown(const std::vector<Piece>& pieces, TokenId id) {
  using As = SentencePieceShown::As;
  const Piece& piece = pieces.at(static_cast<size_t>(id));
  switch (piece.type) {
    case PieceType::kControl: return {As::kNothing, piece.text};
    case PieceType::kUnknown: return {As::kUnknown, piece.text};
    case PieceType::kByte: return {As::kByte, piece.text, static_cast<uint8_t>(std::stoul(piece.text.substr(3, 2), nullptr, 16))};
    default: return {As::kText, piece.text};
  }
}

// Blanks at the start, byte pieces of every kind of broken UTF-8, control
// pieces between, an empty unknown surface.
TEST(SentencePieceDecoder, MatchesReference) {
  size_t cases = 0;
  const size_t rows = sp_stage::ForEachRow("decoder", [&](Json row) {
    const std::vector<Piece> pieces = sp_stage::Pieces(row["pieces"]);
    const std::string unk_surface = Bytes(row["unk_surface"]);
    const SentencePieceJoin join{bool(row["add_dummy_prefix"]), bool(row["remove_extra_whitespaces"]), unk_surface};
    const auto shown_of = [&](TokenId id) { return Shown(pieces, id); };
    for (const Json golden : simdjson::dom::array(row["cases"])) {
      const std::vector<TokenId> ids = sp_stage::Numbers<TokenId>(golden.at(0));
      const std::string want = Bytes(golden.at(1));
      size_t most = 0;
      for (const TokenId id : ids) most += ShownBytes(join, shown_of(id));
      std::vector<char> out(most);
      const std::optional<size_t> size = JoinSentencePieces(join, ids, shown_of, out);
      ASSERT_TRUE(size.has_value());
      EXPECT_EQ(std::string(out.data(), *size), want) << ::testing::PrintToString(ids);
      if (*size > 0) {
        EXPECT_EQ(JoinSentencePieces(join, ids, shown_of, std::span(out).first(*size - 1)), std::nullopt);
      }
      ++cases;
    }
  });
  EXPECT_EQ(rows, 8u);
  EXPECT_EQ(cases, 960u);
}

}  // namespace
}  // namespace trellis::internal
