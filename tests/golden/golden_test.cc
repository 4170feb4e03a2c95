// The committed goldens (tests/golden/xlmr.jsonl, made by tools/make_golden from
// tokenizers 0.22.2) through the library: ids, byte offsets, type ids, special
// tokens mask, decoding, errors; with every variant of the tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/golden/golden_check.h"

namespace trellis::golden {
namespace {

const std::vector<GoldenCase>& Goldens() {
  static const std::vector<GoldenCase> cases = ReadCases(TRELLIS_SOURCE_DIR "/tests/golden/xlmr.jsonl");
  return cases;
}

class GoldenVariant : public testing::TestWithParam<const Variant*> {};

TEST_P(GoldenVariant, MatchesReference) {
  EXPECT_EQ(CheckAll(*GetParam(), Goldens()), Goldens().size());
  EXPECT_GT(Goldens().size(), 2000u) << "the golden file has lost cases";
}

// The convenience on top gives what the scratch API gives.
TEST(Golden, OwnedEncodingMatchesReference) {
  const Tokenizer& tokenizer = Model(kVariants[0]);
  for (const GoldenCase& golden : Goldens()) {
    if (!golden.has_encoding) continue;
    const absl::StatusOr<EncodedText> got = tokenizer.Encode(golden.input(), golden.options);
    ASSERT_TRUE(got.ok()) << golden.name << ": " << got.status();
    EXPECT_EQ(got->ids, golden.ids) << golden.name;
    EXPECT_EQ(got->offsets, golden.offsets) << golden.name;
    EXPECT_EQ(got->type_ids, golden.type_ids) << golden.name;
    EXPECT_EQ(got->special_tokens_mask, golden.special_tokens_mask) << golden.name;
  }
}

bool SpellsSpecial(const Tokenizer& tokenizer, std::string_view text) {
  return std::ranges::any_of(tokenizer.spec().added_tokens, [&](const AddedToken& token) {
    return text.find(token.content) != std::string_view::npos;
  });
}

// match_special_tokens = false: no special id comes out of text by any spelling,
// and text that spells none is encoded as ever. No reference has this; the
// first half is a statement about ids, the second compares with the goldens.
TEST_P(GoldenVariant, ShieldGivesNoSpecialId) {
  const Tokenizer& tokenizer = Model(*GetParam());
  const Vocab& vocab = tokenizer.vocab();
  ColumnEncoder encoder(tokenizer);
  size_t with_special = 0;
  size_t without_special = 0;
  for (const GoldenCase& golden : Goldens()) {
    if (!golden.has_encoding || golden.options.add_special_tokens) continue;
    EncodeOptions options = golden.options;
    options.match_special_tokens = false;
    const absl::StatusOr<Encoding> got = encoder.Encode(golden, options, ColumnEncoder::Columns::kAll);
    ASSERT_TRUE(got.ok()) << golden.name << ": " << got.status();
    const bool all_known = golden.name.starts_with("hard/special");
    for (const TokenId id : got->ids) {
      // <unk> for an unknown character is what it is for, not an injection.
      if (id == vocab.unk_id() && !all_known) continue;
      EXPECT_FALSE(vocab.IsSpecial(id)) << golden.name << " gives the special id " << id;
    }
    const bool special_expected = std::ranges::any_of(
        golden.ids, [&](TokenId id) { return vocab.IsSpecial(id) && (id != vocab.unk_id() || all_known); });
    const bool spelled =
        SpellsSpecial(tokenizer, golden.text) || (golden.pair && SpellsSpecial(tokenizer, *golden.pair));
    if (special_expected || spelled) {
      ++with_special;
      continue;
    }
    ++without_special;
    EXPECT_EQ(Difference("ids", got->ids, golden.ids), "") << golden.name;
    EXPECT_EQ(Difference("offsets", got->offsets, golden.offsets), "") << golden.name;
  }
  EXPECT_GT(with_special, 30u);
  EXPECT_GT(without_special, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Tables, GoldenVariant,
                         testing::Values(&kVariants[0], &kVariants[1], &kVariants[2], &kVariants[3],
                                         &kVariants[4], &kVariants[5]),
                         [](const auto& variant) {
                           std::string name = variant.param->name;
                           std::erase_if(name, [](char c) { return c == ' ' || c == ','; });
                           return name;
                         });

}  // namespace
}  // namespace trellis::golden
