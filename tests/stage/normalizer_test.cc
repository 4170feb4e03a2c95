#include "trellis/internal/stage/normalizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/reference/model_charsmap.h"
#include "tests/reference/utf8_replacement.h"
#include "tests/stage/hf_stage_rows.h"
#include "trellis/encoding.h"

namespace trellis::internal {
namespace {

using hf_stage::Json;
using hf_stage::String;

const PrecompiledStep& ModelStep() {
  static const PrecompiledStep step(reference::ModelCharsmap());
  return step;
}

// A normalized text that owns its memory.
struct Normalized {
  std::string bytes;
  std::vector<uint32_t> source;
  AlignedView view() const { return {bytes, source.data(), 0}; }
};

template <typename F>
Normalized Collect(size_t room, F&& run) {
  Normalized out{std::string(room, '\0'), std::vector<uint32_t>(room)};
  const size_t size = run(AlignedBuffer{out.bytes.data(), out.source.data()});
  EXPECT_LE(size, room);
  out.bytes.resize(size);
  out.source.resize(size);
  return out;
}

Normalized Repair(const AlignedView& in) {
  return Collect(in.bytes.size() * 3, [&](AlignedBuffer out) { return RunRepair(in, out); });
}

Normalized Precompiled(const AlignedView& in, TextStart start = TextStart::kStart) {
  return Collect(ModelStep().MaxBytes(in.bytes.size()),
                 [&](AlignedBuffer out) { return ModelStep().Run(in, start, out); });
}

Normalized Replace(const ReplaceStep& step, const AlignedView& in) {
  return Collect(step.MaxBytes(in.bytes.size()), [&](AlignedBuffer out) { return step.Run(in, out); });
}

ReplaceStep StepOf(std::string_view name) {
  using Pattern = ReplaceStep::Pattern;
  if (name == "replace:  ") return {Pattern::kString, "  ", "\u00e9x"};
  if (name == "replace:ab") return {Pattern::kString, "ab", "\u2581"};
  if (name == "replace:\u00e9") return {Pattern::kString, "\u00e9", ""};
  if (name == "blanks: ") return {Pattern::kTwoOrMoreBlanks, "", " "};
  if (name == "blanks:\u2581") return {Pattern::kTwoOrMoreBlanks, "", "\u2581"};
  throw std::runtime_error(std::string(name) + " is no step of this test");
}

Normalized RunSteps(std::string_view steps, const std::string& text) {
  const AlignedView raw{text, nullptr, 0};
  if (steps == "precompiled") return Precompiled(raw);
  if (steps == "precompiled|blanks: ") return Replace(StepOf("blanks: "), Precompiled(raw).view());
  return Replace(StepOf(steps), raw);
}

// The source range of each normalized character, as the reference counts it.
std::vector<Offset> Offsets(const Normalized& normalized, std::string_view text) {
  std::vector<Offset> offsets;
  for (size_t at = 0; at < normalized.bytes.size();) {
    const Decoded d = DecodeUtf8(std::string_view(normalized.bytes).substr(at));
    EXPECT_TRUE(d.well_formed);
    for (size_t i = 0; i < d.length; ++i) EXPECT_EQ(normalized.source[at + i], normalized.source[at]);
    const uint32_t source = normalized.source[at];
    offsets.push_back({source, source + DecodeUtf8(text.substr(source)).length});
    at += d.length;
  }
  return offsets;
}

TEST(Normalizer, MatchesReference) {
  const size_t rows = hf_stage::ForEachRow("normalizer", [](Json row) {
    const std::string text = String(row["text"]);
    const std::string steps = String(row["steps"]);
    SCOPED_TRACE(steps + " of " + testing::PrintToString(text));
    const Normalized got = RunSteps(steps, text);
    EXPECT_EQ(got.bytes, String(row["normalized"]));
    std::vector<Offset> want;
    for (const Json pair : simdjson::dom::array(row["offsets"])) {
      want.push_back({static_cast<uint32_t>(uint64_t(pair.at(0))), static_cast<uint32_t>(uint64_t(pair.at(1)))});
    }
    const std::vector<Offset> offsets = Offsets(got, text);
    ASSERT_EQ(offsets.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(offsets[i].begin, want[i].begin) << "character " << i;
      EXPECT_EQ(offsets[i].end, want[i].end) << "character " << i;
    }
  });
  EXPECT_GT(rows, 700u);
}

// The reference takes no malformed text; with U+FFFD in its place it must be the
// same text at the original's positions.
TEST(Normalizer, MalformedBytesAreReplacementCharacters) {
  std::mt19937 random(3);
  const std::vector<std::string> parts = {"a", "\xff", "\xc3", "\xe2\x96", "\xf0\x9f\x98", "\xed\xa0\x80", "\u2026", "\x01", " ", "\u0301", "\u00e9"};
  for (int n = 0; n < 3000; ++n) {
    std::string text;
    for (size_t i = random() % 8; i > 0; --i) text += parts[random() % parts.size()];
    SCOPED_TRACE(testing::PrintToString(text));
    const reference::Replaced replaced = reference::ReplaceMalformed(text);
    const AlignedView raw{text, nullptr, 0};
    const AlignedView clean{replaced.text, nullptr, 0};
    for (const bool repair : {true, false}) {
      const Normalized got = repair ? Repair(raw) : Precompiled(raw);
      const Normalized want = repair ? Repair(clean) : Precompiled(clean);
      ASSERT_EQ(got.bytes, want.bytes);
      if (repair) {
        ASSERT_EQ(got.bytes, replaced.text);
      }
      for (size_t i = 0; i < want.source.size(); ++i) ASSERT_EQ(got.source[i], replaced.original[want.source[i]]);
    }
  }
}

// A segment that begins inside the caller's text: positions count from there.
TEST(Normalizer, OriginShiftsEverything) {
  const std::string text = "\x01" "e\u0301\u2026\x01z \xff";
  for (const TextStart start : {TextStart::kStart, TextStart::kInside}) {
    const Normalized here = Precompiled({text, nullptr, 0}, start);
    const Normalized there = Precompiled({text, nullptr, 1000}, start);
    EXPECT_EQ(here.bytes, there.bytes);
    for (size_t i = 0; i < here.source.size(); ++i) EXPECT_EQ(here.source[i] + 1000, there.source[i]);
  }
}

// Inside a text deletions are counted: the same characters behind another one
// have the same sources as behind nothing.
TEST(Normalizer, InsideATextNothingIsLost) {
  for (const std::string tail : {"\x01\x02" "ab", "\x01\u2026b", "\x01", "ab", "\x01" "e\u0301x"}) {
    const Normalized inside = Precompiled({tail, nullptr, 1}, TextStart::kInside);
    const std::string whole_text = "a" + tail;
    const Normalized whole = Precompiled({whole_text, nullptr, 0});
    EXPECT_EQ("a" + inside.bytes, whole.bytes);
    ASSERT_EQ(inside.source.size() + 1, whole.source.size());
    for (size_t i = 0; i < inside.source.size(); ++i) EXPECT_EQ(inside.source[i], whole.source[i + 1]) << i;
  }
}

TEST(Normalizer, LostCharactersAreThoseDeletedAtTheStart) {
  const auto lost = [](std::string_view text) { return ModelStep().LostCharacters(text); };
  EXPECT_EQ(lost(""), 0u);
  EXPECT_EQ(lost("a\x01"), 0u);
  EXPECT_EQ(lost("\x01"), 1u);
  EXPECT_EQ(lost("\x01\x02" "a\x01"), 2u);
  EXPECT_EQ(lost("\x01\u2026"), 1u);
  EXPECT_EQ(lost(" \x01"), 0u);
}

// The bounds of each step hold, and one text reaches the charsmap's.
TEST(Normalizer, OutputStaysWithinMaxBytes) {
  size_t most = 0;
  ModelStep().map().ForEach([&](std::string_view key, std::string_view) {
    std::string text;
    for (int i = 0; i < 3; ++i) text += key;
    std::string guarded(ModelStep().MaxBytes(text.size()), '\0');
    std::vector<uint32_t> source(guarded.size());
    const size_t size = ModelStep().Run({text, nullptr, 0}, TextStart::kStart, {guarded.data(), source.data()});
    ASSERT_LE(size, guarded.size()) << testing::PrintToString(text);
    size_t characters = 0;
    for (size_t i = 0; i < size; ++i) characters += !IsContinuation(static_cast<uint8_t>(guarded[i]));
    ASSERT_LE(characters, ModelStep().MaxCharacters(text.size(), text.size())) << testing::PrintToString(text);
    most = std::max(most, (size + text.size() - 1) / text.size());
  });
  EXPECT_EQ(most, ModelStep().MaxBytes(1));
}

}  // namespace
}  // namespace trellis::internal
