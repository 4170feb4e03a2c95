// One model from both of its formats: the specs are the same field by field but
// for the differences listed here.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "trellis/load.h"

namespace trellis {
namespace {

std::filesystem::path DemoModel() {
  const char* from_environment = std::getenv("TRELLIS_MODEL");
  const std::filesystem::path path =
      from_environment != nullptr ? from_environment : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
  return std::filesystem::is_directory(path) ? path : path.parent_path();
}

// Neighbouring doubles are 1 apart.
int64_t UlpsBetween(double a, double b) {
  return std::llabs(std::bit_cast<int64_t>(a) - std::bit_cast<int64_t>(b));
}

TEST(SameModel, SpecsDifferOnlyWhereListed) {
  const absl::StatusOr<TokenizerSpec> json = LoadSpec((DemoModel() / "tokenizer.json").string());
  ASSERT_TRUE(json.ok()) << json.status() << "\ntools/fetch_model --tokenizer-only puts the model into models/";
  const absl::StatusOr<TokenizerSpec> proto =
      LoadSpec((DemoModel() / "sentencepiece.bpe.model").string(), {.sentencepiece = {.fairseq = true}});
  ASSERT_TRUE(proto.ok()) << proto.status();

  // 1. The dialect.
  EXPECT_EQ(json->dialect, Dialect::kHuggingFace);
  EXPECT_EQ(proto->dialect, Dialect::kSentencePiece);

  // 2. Pieces: same ids and texts. A tokenizer.json has no types; its scores are
  // the float's decimal digits, read as the reference reads them: at most one
  // unit beside the float.
  ASSERT_EQ(json->model.pieces.size(), proto->model.pieces.size());
  size_t beside = 0;
  size_t controls = 0;
  for (size_t id = 0; id < json->model.pieces.size(); ++id) {
    const Piece& a = json->model.pieces[id];
    const Piece& b = proto->model.pieces[id];
    ASSERT_EQ(a.text, b.text) << id;
    ASSERT_LE(UlpsBetween(a.score, b.score), 1) << id << " " << a.score << " " << b.score;
    ASSERT_EQ(static_cast<float>(a.score), static_cast<float>(b.score)) << id;
    beside += a.score != b.score;
    EXPECT_EQ(a.type, PieceType::kNormal) << id;
    if (b.type == PieceType::kNormal) continue;
    EXPECT_EQ(b.type, b.text == "<unk>" ? PieceType::kUnknown : PieceType::kControl) << id;
    ++controls;
  }
  EXPECT_GT(beside, 0u) << "the reading of scores that decides ties is gone";
  EXPECT_EQ(controls, 5u);  // <s> <pad> </s> <unk> <mask>

  // 3. The rest of the model; only SentencePiece has a surface for <unk>.
  EXPECT_EQ(json->model.unk_id, proto->model.unk_id);
  EXPECT_EQ(json->model.byte_fallback, proto->model.byte_fallback);
  EXPECT_EQ(json->model.unk_surface, "");
  EXPECT_EQ(proto->model.unk_surface, " \u2047 ");

  // 4. Normalization: the same charsmap. What its flags say stands in a
  // tokenizer.json as pre-tokenizers.
  const auto* precompiled = std::get_if<PrecompiledNormalizer>(&json->normalizers.at(0));
  const auto* own = std::get_if<SentencePieceNormalizer>(&proto->normalizers.at(0));
  ASSERT_TRUE(precompiled != nullptr && own != nullptr);
  EXPECT_EQ(precompiled->charsmap, own->charsmap);
  EXPECT_TRUE(own->add_dummy_prefix && own->remove_extra_whitespaces && own->escape_whitespaces);
  EXPECT_FALSE(own->treat_whitespace_as_suffix);
  EXPECT_FALSE(json->pre_tokenizers.empty());
  EXPECT_TRUE(proto->pre_tokenizers.empty());

  // 5. Specials: matched in text as added tokens there, control pieces here.
  EXPECT_EQ(json->added_tokens.size(), 5u);
  EXPECT_TRUE(proto->added_tokens.empty());
  for (const AddedToken& token : json->added_tokens) {
    EXPECT_EQ(proto->model.pieces.at(static_cast<size_t>(token.id)).text, token.content);
  }

  // 6. The template: the same.
  EXPECT_EQ(json->post_processor, proto->post_processor);

  // 7. Decoders: each dialect's own.
  ASSERT_EQ(json->decoders.size(), 1u);
  ASSERT_EQ(proto->decoders.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<MetaspaceDecoder>(json->decoders[0]));
  EXPECT_EQ(std::get<SentencePieceDecoder>(proto->decoders[0]), SentencePieceDecoder{});
}

}  // namespace
}  // namespace trellis
