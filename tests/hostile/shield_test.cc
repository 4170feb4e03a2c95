// The shield: with match_special_tokens = false no special or control id comes out of text, however it is
// spelled. For each pipeline, every string over the code points that it makes letters of specials of: all
// short ones, and each special with each of its letters spelled in every way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hostile/every_pipeline.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/trellis.h"

namespace trellis {
namespace {

std::string Utf8(uint32_t code_point) {
  char bytes[internal::kMaxUtf8Bytes];
  return {bytes, internal::EncodeUtf8(code_point, bytes)};
}

// Where letters, digits and signs have their other forms: up to the CJK compatibility forms, mathematical
// letters, tags.
std::vector<uint32_t> CodePointsWithForms() {
  std::vector<uint32_t> out;
  const auto range = [&](uint32_t first, uint32_t last) {
    for (uint32_t c = first; c <= last; ++c) out.push_back(c);
  };
  range(1, 0x33FF);
  range(0xA640, 0xABFF);
  range(0xFB00, 0xFFFF);
  range(0x1D400, 0x1D7FF);
  range(0x1F100, 0x1F2FF);
  range(0xE0000, 0xE01EF);
  return out;
}

// One tokenizer, and every spelling it has been given.
class ShieldedPipeline {
 public:
  ShieldedPipeline(const NamedSpec& named, const TokenizerOptions& options)
      : name_(named.name), tokenizer_(Tokenizer::Create(named.spec, options).value()) {
    scratch_.Reserve(tokenizer_.ScratchBytes(kMostBytes));
    ids_.resize(tokenizer_.MaxTokens(kMostBytes));
    special_.resize(static_cast<size_t>(tokenizer_.vocab().size()));
    for (TokenId id = 0; id < tokenizer_.vocab().size(); ++id) {
      special_[static_cast<size_t>(id)] =
          tokenizer_.vocab().IsSpecial(id) && id != tokenizer_.vocab().unk_id();
    }
  }

  std::span<const TokenId> Encode(std::string_view text) {
    EXPECT_LE(text.size(), kMostBytes);
    const auto encoding =
        tokenizer_.Encode({.text = text}, {.add_special_tokens = false, .match_special_tokens = false},
                          scratch_, {.ids = ids_});
    return encoding.ok() ? encoding->ids : std::span<const TokenId>();
  }

  void Check(std::string_view text) {
    ++checked_;
    for (const TokenId id : Encode(text)) {
      if (!special_[static_cast<size_t>(id)]) continue;
      ADD_FAILURE() << name_ << ": id " << id << " (" << tokenizer_.vocab().Text(id) << ") out of "
                    << testing::PrintToString(std::string(text));
      return;
    }
  }

  size_t checked() const { return checked_; }

 private:
  static constexpr size_t kMostBytes = 80;
  std::string name_;
  Tokenizer tokenizer_;
  Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<bool> special_;
  size_t checked_ = 0;
};

constexpr std::string_view kLetters = "<s>/mak";

// For each letter of specials the code points that the pipeline makes it of, itself first. The pipeline is
// asked with a vocabulary of these letters alone: whose piece comes out is in the normalized text.
std::map<char, std::vector<std::string>> Spellings(const NamedSpec& named) {
  NamedSpec letters = named;
  for (Piece& piece : letters.spec.model.pieces) {
    const bool is_letter = piece.text.size() == 1 && kLetters.find(piece.text[0]) != std::string_view::npos;
    if (!is_letter && piece.type == PieceType::kNormal && piece.text != "<unk>")
      piece.text = "\u4e00" + piece.text;
  }
  letters.spec.model.pieces.push_back({"a", -1.0, PieceType::kNormal});
  letters.spec.added_tokens.clear();
  letters.spec.post_processor = {};
  std::map<char, std::vector<std::string>> out;
  for (const char letter : kLetters) out[letter] = {std::string(1, letter)};
  const auto tokenizer = Tokenizer::Create(letters.spec, {.shortcuts = false});
  EXPECT_TRUE(tokenizer.ok()) << named.name << ": " << tokenizer.status();
  if (!tokenizer.ok()) return out;
  Scratch scratch;
  scratch.Reserve(tokenizer->ScratchBytes(4));
  std::vector<TokenId> ids(tokenizer->MaxTokens(4));
  for (const uint32_t c : CodePointsWithForms()) {
    const std::string text = Utf8(c);
    const auto encoding =
        tokenizer->Encode({.text = text}, {.add_special_tokens = false}, scratch, {.ids = ids});
    if (!encoding.ok()) continue;
    for (const TokenId id : encoding->ids) {
      const std::string_view piece = tokenizer->vocab().Text(id);
      if (piece.size() == 1 && out.contains(piece[0]) && piece != text) out[piece[0]].push_back(text);
    }
  }
  return out;
}

// What may stand between letters and vanish: in some pipeline each does.
const std::vector<std::string> kVanishing = {"",       " ",    "\u0301", "\u200b", "\u200d", "\u00ad",
                                             "\x01",   "\x7f", "\ufeff", "\u2581", "\u0338", "\ufe0f",
                                             "\u3000", "k",    "\xFF",   "9"};

void CheckSpelled(ShieldedPipeline& pipeline, std::map<char, std::vector<std::string>>& spellings,
                  std::string_view special) {
  // Each letter in every way, and each pair of letters.
  for (size_t i = 0; i < special.size(); ++i) {
    for (size_t j = i; j < special.size(); ++j) {
      for (const std::string& first : spellings[special[i]]) {
        for (const std::string& second : spellings[special[j]]) {
          std::string text;
          for (size_t k = 0; k < special.size(); ++k)
            text += k == i ? first : k == j ? second : std::string(1, special[k]);
          pipeline.Check(text);
          if (i == j) break;
        }
      }
    }
  }
  // And something between the letters, before and behind.
  for (size_t at = 0; at <= special.size(); ++at) {
    for (const std::string& between : kVanishing) {
      for (const std::string& around : kVanishing) {
        pipeline.Check(around + std::string(special.substr(0, at)) + between +
                       std::string(special.substr(at)) + around);
      }
    }
  }
}

// All strings of up to three of the alphabet.
void CheckShort(ShieldedPipeline& pipeline, std::map<char, std::vector<std::string>>& spellings) {
  std::vector<std::string> alphabet;
  for (const char letter : std::string_view("<s>/")) {
    const auto& ways = spellings[letter];
    alphabet.insert(alphabet.end(), ways.begin(),
                    ways.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(ways.size(), 5)));
  }
  for (const char* more : {"a", "m", " ", "\u2581", "\u0301", "\u0338", "\u200b"}) alphabet.push_back(more);
  for (const std::string& a : alphabet) {
    for (const std::string& b : alphabet) {
      for (const std::string& c : alphabet) pipeline.Check(a + b + c);
    }
  }
}

TEST(Shield, NoSpellingGivesASpecial) {
  size_t checked = 0, ways = 0;
  for (const NamedSpec& named : EveryPipeline()) {
    auto spellings = Spellings(named);
    for (const auto& [letter, all] : spellings) ways += all.size();
    for (const bool shortcuts : {true, false}) {
      ShieldedPipeline pipeline(named, {.shortcuts = shortcuts});
      for (const char* special : {"<s>", "</s>", "<mask>"}) CheckSpelled(pipeline, spellings, special);
      CheckShort(pipeline, spellings);
      checked += pipeline.checked();
      if (HasFailure()) return;
    }
  }
  std::printf("%zu texts, %zu spellings of letters\n", checked, ways);
  EXPECT_GT(checked, 100000u);
  EXPECT_GT(ways,
            1000u);  // the search is worth something: pipelines that make letters of others are among them
}

// A special that somebody has added is left out of the lattice whatever type of piece it is: tokens are those
// of a model in which that piece is unused, which SentencePiece never chooses.
TEST(Shield, LeavesAddedPiecesOutOfSentencePieceTexts) {
  for (const PieceType type : {PieceType::kNormal, PieceType::kUserDefined}) {
    TokenizerSpec unused = SentencePiecePipelines()[1].spec;
    ASSERT_TRUE(unused.added_tokens.empty());
    TokenizerSpec added = unused;
    for (TokenizerSpec* spec : {&unused, &added}) {
      for (Piece& piece : spec->model.pieces) {
        if (piece.text == "<mask>") piece.type = spec == &added ? type : PieceType::kUnused;
      }
    }
    AddTokens({{.content = "<mask>", .special = true}}, added);
    for (const bool shortcuts : {true, false}) {
      const Tokenizer tokenizer = Tokenizer::Create(added, {.shortcuts = shortcuts}).value();
      const Tokenizer without = Tokenizer::Create(unused, {.shortcuts = shortcuts}).value();
      for (const std::string text :
           {"<mask>", "aa <mask><mask> s", "x<mask", "\uff1cmask>", " <mask>\u2581k"}) {
        const EncodeOptions shield{.add_special_tokens = false, .match_special_tokens = false};
        const EncodedText got = tokenizer.Encode(Input{text}, shield).value(),
                          want = without.Encode(Input{text}, shield).value();
        EXPECT_EQ(got.ids, want.ids) << text;
        // The normalizer still takes a user-defined piece as one; its parts then share its range.
        if (type == PieceType::kNormal) EXPECT_EQ(got.offsets, want.offsets) << text;
      }
    }
  }
}

// The other way round: without the shield each of them spells it.
TEST(Shield, WithoutItSpecialsAreFound) {
  for (const NamedSpec& named : HuggingFacePipelines()) {
    const Tokenizer tokenizer = Tokenizer::Create(named.spec).value();
    const auto encoded = tokenizer.Encode(Input{" <mask> "}, {.add_special_tokens = false}).value();
    bool found = false;
    for (const TokenId id : encoded.ids) found |= id == 3;
    EXPECT_TRUE(found) << named.name;
  }
}

}  // namespace
}  // namespace trellis
