// Rules of whole grapheme clusters that make many characters of few bytes: there
// is room for them on the path with shortcuts, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

// One rule, as darts-clone has it: e and U+0301 become `replacement`.
std::string ClusterRule(const std::string& replacement) {
  std::vector<uint32_t> units(256, 0);
  const auto step = [&](uint32_t node, uint8_t label, uint32_t next, uint32_t has_leaf) {
    const uint32_t at = node ^ label;
    units[at] = label | has_leaf << 8 | (at ^ next) << 10;
  };
  units[0] = 1u << 10;  // the root's node is 1
  step(1, 'e', 2, 0);
  step(2, 0xCC, 3, 0);
  step(3, 0x81, 140, 1);
  units[140] = 1u << 31;  // the replacement at byte 0
  std::string blob;
  const auto put = [&](uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) blob.push_back(static_cast<char>(value >> shift));
  };
  put(static_cast<uint32_t>(units.size() * sizeof(uint32_t)));
  for (const uint32_t unit : units) put(unit);
  return blob + replacement;
}

TEST(ClusterRules, HaveRoomForAllTheirCharacters) {
  TokenizerSpec spec = SmallSpec();
  spec.normalizers = {PrecompiledNormalizer{ClusterRule("acbacbacbacb")}};
  const absl::StatusOr<Tokenizer> fast = Tokenizer::Create(spec),
                                  plain = Tokenizer::Create(spec, {.shortcuts = false});
  ASSERT_TRUE(fast.ok() && plain.ok()) << fast.status() << plain.status();
  ASSERT_TRUE(fast->Facts().front().value.starts_with("words")) << fast->Facts().front().value;
  for (const size_t clusters : {1, 2, 32, 341, 2000}) {
    std::string text;
    for (size_t i = 0; i < clusters; ++i) text += "e\u0301";
    const absl::StatusOr<EncodedText> got = fast->Encode(text), want = plain->Encode(text);
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    EXPECT_EQ(got->ids, want->ids) << clusters;
    EXPECT_EQ(got->offsets, want->offsets) << clusters;
    EXPECT_GE(want->ids.size(), 8 * clusters);
  }
}

// A special token that is a punctuation mark does not come out of a text behind a
// word that the table knows.
TEST(Shield, HoldsForPunctuationBehindWords) {
  TokenizerSpec spec = SmallSpec();
  spec.added_tokens.push_back({.content = ".", .id = 12, .special = true});
  const Tokenizer fast = Tokenizer::Create(spec).value(),
                  plain = Tokenizer::Create(spec, {.shortcuts = false}).value();
  const EncodeOptions shielded{.add_special_tokens = false, .match_special_tokens = false};
  const EncodedText got = fast.Encode({.text = "ab. a."}, shielded).value();
  EXPECT_EQ(got.ids, plain.Encode({.text = "ab. a."}, shielded)->ids);
  EXPECT_EQ(std::count(got.ids.begin(), got.ids.end(), 12), 0);
}

}  // namespace
}  // namespace trellis
