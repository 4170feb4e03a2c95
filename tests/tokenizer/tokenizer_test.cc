// The contract of tokenizer.h and scratch.h beyond which ids come out (that is
// tests/golden): batches, errors, copies, Scratch.
#include "trellis/tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"

namespace trellis {
namespace {

using absl::StatusCode;

Tokenizer Small(TokenizerOptions options = {}) { return Tokenizer::Create(SmallSpec(), options).value(); }

// All columns, large enough for `tokens`.
struct Columns {
  explicit Columns(size_t tokens, size_t rows = 0)
      : ids(tokens), offsets(tokens), type_ids(tokens), mask(tokens), cu_seqlens(rows == 0 ? 0 : rows + 1) {}
  EncodingBuffer buffer() { return {ids, offsets, type_ids, mask, cu_seqlens}; }
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;
  std::vector<uint8_t> type_ids, mask;
  std::vector<int32_t> cu_seqlens;
};

template <typename T>
std::vector<T> Copy(std::span<const T> span) {
  return {span.begin(), span.end()};
}

const std::vector<Input>& Rows() {
  static const std::vector<Input> rows = {{"ab abc."}, {""}, {"a", "b \u6771"}, {"<mask> abc <s>"}, {"\xff zzz"}, {"", ""}, {"ab abc."}};
  return rows;
}

TEST(EncodeBatch, IsRowByRow) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  Columns columns(200, Rows().size());
  for (const Truncate truncate : {Truncate::kNever, Truncate::kLongestFirst}) {
    const EncodeOptions options{.truncate = truncate, .max_length = 6};
    const auto batch = tokenizer.EncodeBatch(Rows(), options, scratch, columns.buffer());
    ASSERT_TRUE(batch.ok()) << batch.status();
    ASSERT_EQ(batch->cu_seqlens.size(), Rows().size() + 1);
    EXPECT_EQ(batch->cu_seqlens[0], 0);
    size_t truncated = 0;
    for (size_t row = 0; row < Rows().size(); ++row) {
      const auto begin = static_cast<size_t>(batch->cu_seqlens[row]);
      const auto size = static_cast<size_t>(batch->cu_seqlens[row + 1]) - begin;
      const auto alone = tokenizer.Encode(Rows()[row], options);
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ(Copy(batch->ids.subspan(begin, size)), alone->ids) << row;
      EXPECT_EQ(Copy(batch->offsets.subspan(begin, size)), alone->offsets) << row;
      EXPECT_EQ(Copy(batch->type_ids.subspan(begin, size)), alone->type_ids) << row;
      EXPECT_EQ(Copy(batch->special_tokens_mask.subspan(begin, size)), alone->special_tokens_mask) << row;
      truncated += alone->num_truncated;
    }
    EXPECT_EQ(batch->ids.size(), static_cast<size_t>(batch->cu_seqlens.back()));
    EXPECT_EQ(batch->num_truncated, truncated);
    EXPECT_EQ(truncated > 0, truncate != Truncate::kNever);
  }
}

TEST(EncodeBatch, OfNothingIsEmpty) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  std::vector<int32_t> cu_seqlens(1, 77);
  const auto batch = tokenizer.EncodeBatch({}, {}, scratch, {.cu_seqlens = cu_seqlens});
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_TRUE(batch->ids.empty());
  EXPECT_EQ(cu_seqlens[0], 0);
}

TEST(EncodeBatch, NeedsRowsPlusOneRunningLengths) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  for (const size_t size : {size_t{0}, Rows().size()}) {
    Columns columns(200);
    columns.cu_seqlens.resize(size);
    EXPECT_EQ(tokenizer.EncodeBatch(Rows(), {}, scratch, columns.buffer()).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(EncodeBatch, AFailingRowFailsTheCall) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  Columns columns(200, 3);
  const std::vector<Input> rows = {{"a"}, {"a b c a b c"}, {"a"}};
  // The second row is too long and has no second text to cut.
  const EncodeOptions options{.truncate = Truncate::kOnlySecond, .max_length = 4};
  EXPECT_EQ(tokenizer.EncodeBatch(rows, options, scratch, columns.buffer()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(tokenizer.EncodeBatch(std::span(rows).first(1), options, scratch, columns.buffer()).ok());
}

// Room for all rows but the last token: code only, no message.
TEST(EncodeBatch, TooSmallABufferIsResourceExhausted) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  Columns large(200, Rows().size());
  const size_t exact = tokenizer.EncodeBatch(Rows(), {}, scratch, large.buffer())->ids.size();
  Columns fits(exact, Rows().size()), small(exact - 1, Rows().size());
  EXPECT_TRUE(tokenizer.EncodeBatch(Rows(), {}, scratch, fits.buffer()).ok());
  const auto failed = tokenizer.EncodeBatch(Rows(), {}, scratch, small.buffer());
  EXPECT_EQ(failed.status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(failed.status().message().empty());
}

TEST(Encode, MaxLengthBelowTheSpecialsIsInvalid) {
  const Tokenizer tokenizer = Small();
  for (size_t max_length = 0; max_length < 6; ++max_length) {
    const EncodeOptions options{.truncate = Truncate::kLongestFirst, .max_length = max_length};
    const auto single = tokenizer.Encode(Input{"a b c a b"}, options);
    const auto pair = tokenizer.Encode(Input{"a b c", "a b"}, options);
    EXPECT_EQ(single.ok(), max_length >= 2) << max_length;
    EXPECT_EQ(pair.ok(), max_length >= 4) << max_length;
    if (!single.ok()) {
      EXPECT_EQ(single.status().code(), StatusCode::kInvalidArgument);
    }
    if (single.ok()) {
      EXPECT_EQ(single->ids.size(), max_length);
    }
    if (pair.ok()) {
      EXPECT_EQ(pair->ids.size(), max_length);
    }
    // Without specials every length can be met.
    EncodeOptions bare = options;
    bare.add_special_tokens = false;
    const auto text = tokenizer.Encode(Input{"a b c a b"}, bare);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->ids.size(), max_length);
  }
}

TEST(Encode, StrategiesThatCannotBeMetAreInvalid) {
  const Tokenizer tokenizer = Small();
  const auto code = [&](const Input& input, Truncate truncate) {
    return tokenizer.Encode(input, EncodeOptions{.truncate = truncate, .max_length = 6}).status().code();
  };
  const std::string_view text = "a b a b a b";
  EXPECT_EQ(code({text}, Truncate::kOnlySecond), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({text}, Truncate::kOnlyFirst), StatusCode::kOk);
  EXPECT_EQ(code({"a", text}, Truncate::kOnlySecond), StatusCode::kOk);
  EXPECT_EQ(code({"a", text}, Truncate::kOnlyFirst), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({text, "a"}, Truncate::kOnlySecond), StatusCode::kInvalidArgument);
  // What fits needs no strategy.
  EXPECT_EQ(code({"a"}, Truncate::kOnlySecond), StatusCode::kOk);
}

TEST(Encode, TheSideLosesItsTokens) {
  const Tokenizer tokenizer = Small();
  const auto whole = tokenizer.Encode(Input{"ab a b c"}, {.add_special_tokens = false}).value();
  ASSERT_GT(whole.ids.size(), 3u);
  for (const Side side : {Side::kRight, Side::kLeft}) {
    const auto cut = tokenizer.Encode(Input{"ab a b c"}, {.add_special_tokens = false, .truncate = Truncate::kLongestFirst,
                                                          .truncation_side = side, .max_length = 3}).value();
    const size_t from = side == Side::kRight ? 0 : whole.ids.size() - 3;
    EXPECT_EQ(cut.ids, Copy(std::span<const TokenId>(whole.ids).subspan(from, 3)));
    EXPECT_EQ(cut.offsets, Copy(std::span<const Offset>(whole.offsets).subspan(from, 3)));
    EXPECT_EQ(cut.num_truncated, whole.ids.size() - 3);
  }
}

TEST(Encode, ColumnsShorterThanIdsAreInvalid) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  const auto code = [&](auto&& change) {
    Columns columns(20);
    change(columns);
    return tokenizer.Encode(Input{"ab"}, {}, scratch, columns.buffer()).status().code();
  };
  EXPECT_EQ(code([](Columns&) {}), StatusCode::kOk);
  EXPECT_EQ(code([](Columns& c) { c.offsets.resize(19); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Columns& c) { c.type_ids.resize(1); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Columns& c) { c.mask.resize(19); }), StatusCode::kInvalidArgument);
  EXPECT_EQ(code([](Columns& c) { c.mask.resize(25); }), StatusCode::kOk);
  EXPECT_EQ(code([](Columns& c) { c.offsets.clear(), c.mask.clear(), c.type_ids.clear(); }), StatusCode::kOk);
}

// A column that is not asked for is not there; nothing behind the capacity is
// touched, however little of it is left.
TEST(Encode, WritesInsideTheBuffer) {
  const Tokenizer tokenizer = Small();
  const std::string text = "ab abc zz . abcabc ab abcabc";
  const size_t exact = tokenizer.Encode(text)->ids.size();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(100));
  for (size_t capacity = 0; capacity < exact + 12; ++capacity) {
    std::vector<TokenId> ids(capacity + 32, -7);
    std::vector<Offset> offsets(capacity + 32, Offset{7, 7});
    const bool with_offsets = capacity % 2 == 0;
    EncodingBuffer buffer{.ids = std::span(ids).first(capacity)};
    if (with_offsets) buffer.offsets = std::span(offsets).first(capacity);
    const auto encoding = tokenizer.Encode(Input{text}, {}, scratch, buffer);
    ASSERT_EQ(encoding.ok(), capacity >= exact) << capacity;
    for (size_t i = capacity; i < ids.size(); ++i) {
      ASSERT_EQ(ids[i], -7) << capacity << ", " << i;
      ASSERT_EQ(offsets[i], (Offset{7, 7})) << capacity << ", " << i;
    }
    if (!encoding.ok()) continue;
    EXPECT_EQ(encoding->ids.data(), ids.data());
    EXPECT_EQ(encoding->offsets.size(), with_offsets ? exact : 0);
    EXPECT_TRUE(encoding->type_ids.empty() && encoding->special_tokens_mask.empty());
  }
}

TEST(Encode, AnUnknownCharacterWithoutUnkIsInvalid) {
  TokenizerSpec spec = SmallSpec();
  spec.model.unk_id.reset();
  const Tokenizer tokenizer = Tokenizer::Create(spec).value();
  EXPECT_TRUE(tokenizer.Encode("ab").ok());
  EXPECT_EQ(tokenizer.Encode("zz").status().code(), StatusCode::kInvalidArgument);
}

std::string PathOf(const Tokenizer& tokenizer) {
  for (const TableFact& fact : tokenizer.Facts()) {
    if (fact.name == "path") return fact.value;
  }
  return "";
}

// The reference adds doubles: two such scores are minus infinity, and of equal ways the one found first from the
// left stays, which is that through the marker alone.
TEST(Encode, ScoresWhoseSumsHaveNoNumberTakeThePlainPath) {
  TokenizerSpec spec = SmallSpec();
  for (size_t id = 4; id < spec.model.pieces.size(); ++id) spec.model.pieces[id].score = -1e308;
  const Tokenizer tokenizer = Tokenizer::Create(spec).value();
  EXPECT_EQ(PathOf(tokenizer), "plain: a score so low that sums have no number");
  EXPECT_EQ(tokenizer.Encode("ab abc")->ids, (std::vector<TokenId>{kBos, 9, 4, 16, kEos}));
}

// As low as shortcuts go: each score alone decides, whatever its size.
TEST(Encode, VeryLowScoresKeepTheShortcuts) {
  TokenizerSpec spec = SmallSpec();
  for (size_t id = 4; id < spec.model.pieces.size(); ++id) spec.model.pieces[id].score *= 1e302;
  const Tokenizer fast = Tokenizer::Create(spec).value();
  const Tokenizer plain = Tokenizer::Create(spec, {.shortcuts = false}).value();
  EXPECT_TRUE(PathOf(fast).starts_with("words")) << PathOf(fast);
  for (const std::string& text : {std::string("ab abc \u6771."), std::string(3000, 'b'), std::string("zz\xFF" "abcabcabc")}) {
    EXPECT_EQ(fast.Encode(text)->ids, plain.Encode(text)->ids) << text;
  }
}

TEST(OneLine, IsTheScratchApi) {
  const Tokenizer tokenizer = Small();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(2000));
  Columns columns(tokenizer.MaxTokens(2000));
  // Far more tokens than the first guess of room, so that it must grow.
  std::string many;
  for (int i = 0; i < 200; ++i) many += "<s>.";
  for (const std::string& text : {std::string(""), std::string("ab \u6771."), std::string(500, '.'), many}) {
    const auto owned = tokenizer.Encode(text);
    const auto viewed = tokenizer.Encode(Input{text}, {}, scratch, columns.buffer());
    ASSERT_TRUE(owned.ok() && viewed.ok());
    EXPECT_EQ(owned->ids, Copy(viewed->ids));
    EXPECT_EQ(owned->offsets, Copy(viewed->offsets));
    EXPECT_EQ(owned->type_ids, Copy(viewed->type_ids));
    EXPECT_EQ(owned->special_tokens_mask, Copy(viewed->special_tokens_mask));
  }
}

TEST(Copies, ShareOneSetOfTables) {
  std::optional<Tokenizer> original = Small();
  const Tokenizer copy = *original;
  EXPECT_EQ(&copy.impl(), &original->impl());
  EXPECT_EQ(&copy.spec(), &original->spec());
  const auto before = original->Encode("ab abc.").value();
  original.reset();
  EXPECT_EQ(copy.Encode("ab abc.")->ids, before.ids);  // tables live as long as a copy does
}

TEST(Decode, LeavesOutIdsWithoutAString) {
  const Tokenizer tokenizer = Small();
  const TokenId gap = 19;  // between the pieces and <mask>
  ASSERT_TRUE(tokenizer.vocab().Text(gap).empty());
  const std::vector<TokenId> odd = {-1, 9, gap, 5, 1000000, -2147483647 - 1, 2147483647};
  EXPECT_EQ(tokenizer.Decode(odd), tokenizer.Decode(std::vector<TokenId>{9, 5}));
  EXPECT_EQ(tokenizer.Decode(odd), "aba");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{gap, -5}), "");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{kBos, 9, kMask, kEos}, {.skip_special_tokens = false}), "<s> ab<mask></s>");
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{kBos, 9, kMask, kEos}), "ab");
}

TEST(Decode, TooSmallAnOutputIsResourceExhausted) {
  const Tokenizer tokenizer = Small();
  const std::vector<TokenId> ids = {9, 5, 17, 12};
  const std::string text = tokenizer.Decode(ids);
  ASSERT_LE(text.size(), tokenizer.DecodedBytes(ids));
  std::string out(text.size(), '#');
  EXPECT_EQ(tokenizer.Decode(ids, {}, out).value(), text);
  EXPECT_EQ(tokenizer.Decode(ids, {}, std::span<char>(out).first(text.size() - 1)).status().code(), StatusCode::kResourceExhausted);
}

TEST(VocabOf, KnowsPiecesAndAddedTokens) {
  const Tokenizer tokenizer = Small();
  const Vocab& vocab = tokenizer.vocab();
  EXPECT_EQ(vocab.size(), kMask + 1);
  EXPECT_EQ(vocab.Text(kMask), "<mask>");
  EXPECT_EQ(vocab.Text(-1), "");
  EXPECT_EQ(vocab.Text(vocab.size()), "");
  EXPECT_EQ(vocab.Score(9), -5.0);
  EXPECT_EQ(vocab.Score(kMask), 0.0);
  EXPECT_EQ(vocab.Score(-1), 0.0);
  EXPECT_EQ(vocab.Find("\u2581ab"), 9);
  EXPECT_EQ(vocab.Find("<mask>"), kMask);
  EXPECT_EQ(vocab.Find("nothing"), std::nullopt);
  EXPECT_TRUE(vocab.IsSpecial(kMask) && vocab.IsSpecial(kBos));
  EXPECT_FALSE(vocab.IsSpecial(9) || vocab.IsSpecial(-1) || vocab.IsSpecial(99));
  EXPECT_EQ(vocab.unk_id(), kUnk);
}

TEST(VocabOf, KnowsAddedTokensOfAnyIds) {
  TokenizerSpec spec = SmallSpec();
  const TokenId first = 18, far = (1 << 24) - 1;  // the first that is no piece, the highest
  spec.added_tokens.push_back({.content = "<far>", .id = far, .special = true});
  spec.added_tokens.push_back({.content = "<first>", .id = first});
  const Tokenizer tokenizer = Tokenizer::Create(spec).value();
  const Vocab& vocab = tokenizer.vocab();
  EXPECT_EQ(vocab.size(), far + 1);
  EXPECT_EQ(vocab.Text(far), "<far>");
  EXPECT_EQ(vocab.Text(first), "<first>");
  EXPECT_EQ(vocab.Text(kMask), "<mask>");
  for (const TokenId none : {first + 1, kMask + 1, far - 1, far + 1}) EXPECT_EQ(vocab.Text(none), "") << none;
  EXPECT_TRUE(vocab.IsSpecial(far) && vocab.IsSpecial(kMask));
  EXPECT_FALSE(vocab.IsSpecial(first) || vocab.IsSpecial(far - 1));
  EXPECT_EQ(vocab.Find("<far>"), far);
  EXPECT_EQ(tokenizer.Encode("<far>a<first>")->ids, (std::vector<TokenId>{kBos, far, 8, first, kEos}));
  EXPECT_EQ(tokenizer.Decode(std::vector<TokenId>{far, 8, far - 1, first}), "a<first>");
}

}  // namespace
}  // namespace trellis
