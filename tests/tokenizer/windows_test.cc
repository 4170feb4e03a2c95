// What the goldens do not ask of windows: room, and what stays the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tokenizer/small_specs.h"
#include "trellis/internal/stage/truncation.h"
#include "trellis/tokenizer.h"

namespace trellis {
namespace {

EncodeOptions Cut(size_t max_length, size_t stride = 0) {
  return {.truncate = Truncate::kLongestFirst, .max_length = max_length, .stride = stride};
}

TEST(Windows, TheFirstIsEncodesAndNoneWithoutTruncation) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  const Input input{.text = "ab ab. abc a b"};
  const EncodedText whole = tokenizer.Encode(input).value();
  const auto alone = tokenizer.EncodeWindows(input, {}).value();
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(alone[0].ids, whole.ids);
  const auto windows = tokenizer.EncodeWindows(input, Cut(5)).value();
  EXPECT_EQ(windows[0].ids, tokenizer.Encode(input, Cut(5)).value().ids);
  // Without stride the windows' texts, one after the other, are the whole.
  std::vector<TokenId> joined = {kBos};
  for (const EncodedText& window : windows) {
    EXPECT_LE(window.ids.size(), 5u);
    joined.insert(joined.end(), window.ids.begin() + 1, window.ids.end() - 1);
  }
  joined.push_back(kEos);
  EXPECT_EQ(joined, whole.ids);
}

TEST(Windows, SayHowMuchRoomTheyNeed) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  const Input input{.text = "ab ab. abc a b", .pair = "ab ab ab"};
  const auto windows = tokenizer.EncodeWindows(input, Cut(9, 1)).value();
  size_t tokens = 0;
  for (const EncodedText& window : windows) tokens += window.ids.size();
  Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(input.text.size() + input.pair->size()));
  std::vector<TokenId> ids(tokens);
  std::vector<int32_t> ends(windows.size() + 1);
  WindowRoom needed;
  const auto encode = [&](size_t token_room, size_t rows) {
    needed = {};
    EncodingBuffer buffer{.ids = std::span(ids).first(token_room)};
    buffer.cu_seqlens = std::span(ends).first(rows);
    return tokenizer.EncodeWindows(input, Cut(9, 1), scratch, buffer, &needed).status().code();
  };
  EXPECT_EQ(encode(tokens, windows.size() + 1), absl::StatusCode::kOk);
  EXPECT_EQ(ends.back(), static_cast<int32_t>(tokens));
  for (const auto& [token_room, rows] : {std::pair{tokens - 1, windows.size() + 1}, std::pair{tokens, windows.size()},
                                        std::pair{size_t{0}, size_t{0}}}) {
    EXPECT_EQ(encode(token_room, rows), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(needed.rows, windows.size());
    EXPECT_EQ(needed.tokens, tokens);
  }
}

// Quadratically many windows are counted, not tried.
TEST(Windows, MoreThanAnybodyCanHold) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "c ";
  EXPECT_EQ(tokenizer.EncodeWindows({.text = text, .pair = text}, Cut(9)).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Windows, OptionsThatCannotBeMet) {
  const Tokenizer tokenizer = Tokenizer::Create(SmallSpec()).value();
  const Input input{.text = "ab ab. abc a b"};
  EXPECT_EQ(tokenizer.EncodeWindows(input, Cut(1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tokenizer.EncodeWindows(input, Cut(4, 2)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(tokenizer.Encode(input, Cut(4, 2)).status().code(), absl::StatusCode::kInvalidArgument);
  // A text that is not cut does not mind.
  EXPECT_TRUE(tokenizer.Encode({.text = "a"}, Cut(4, 2)).ok());
  EncodeOptions wraps = Cut(1);
  wraps.no_room = EncodeOptions::NoRoom::kCutNothing;
  EXPECT_EQ(tokenizer.Encode(input, wraps).value().ids, tokenizer.Encode(input).value().ids);
}

// By hand: 7 tokens in windows of 3, one of them shared.
TEST(Windows, GoFromTheSideThatStays) {
  using internal::TextWindows;
  using internal::TokenWindow;
  const TextWindows right(7, 3, 1, Side::kRight), left(7, 3, 1, Side::kLeft);
  ASSERT_EQ(right.count(), 3u);
  EXPECT_EQ(right[2], (TokenWindow{4, 7}));
  ASSERT_EQ(left.count(), 3u);
  EXPECT_EQ(left[0], (TokenWindow{4, 7}));
  EXPECT_EQ(left[2], (TokenWindow{0, 3}));
  EXPECT_EQ(TextWindows(8, 3, 1, Side::kLeft)[3], (TokenWindow{0, 2}));
  EXPECT_EQ(TextWindows(7, 7, 9, Side::kRight).count(), 1u);
  EXPECT_TRUE(TextWindows(7, 7, 9, Side::kRight).CanAdvance());
  EXPECT_FALSE(TextWindows(7, 3, 3, Side::kRight).CanAdvance());
  EXPECT_EQ(TextWindows(7, 0, 3, Side::kRight)[1], (TokenWindow{0, 7}));
  EXPECT_EQ(TextWindows(0, 0, 3, Side::kRight).count(), 1u);
}

}  // namespace
}  // namespace trellis
