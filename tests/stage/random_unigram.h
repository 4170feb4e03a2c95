// Small random Unigram models and texts: few letters so that paths compete, with
// ties, unknown letters and pieces of several scripts.
#ifndef TRELLIS_TESTS_STAGE_RANDOM_UNIGRAM_H_
#define TRELLIS_TESTS_STAGE_RANDOM_UNIGRAM_H_

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/reference/unigram.h"

namespace trellis {

namespace reference {
inline void PrintTo(const UnigramToken& token, std::ostream* out) {
  *out << token.id << " at " << token.begin << "-" << token.end;
}
}  // namespace reference

class RandomUnigram {
 public:
  // kHigh: unknown characters beat pieces, and fused runs are looked up.
  enum class Scores { kNegative, kTies, kPositive, kHigh };

  explicit RandomUnigram(uint32_t seed) : random_(seed) {}

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // Unknown to every model: the last letter.
  static const std::vector<std::string>& letters() {
    static const std::vector<std::string> letters = {"a", "b", "c", "\u00e9", "\u6771", "\U0001F600", "x"};
    return letters;
  }

  std::string Text(uint32_t most, uint32_t some_letters) {
    std::string text;
    for (uint32_t n = 1 + Below(most); n > 0; --n) text += letters()[Below(some_letters)];
    return text;
  }

  // `unk` becomes the id of a piece that is not in texts, anywhere in the list.
  std::vector<reference::UnigramPiece> Pieces(Scores scores, TokenId& unk) {
    std::vector<reference::UnigramPiece> pieces(3 + Below(40));
    for (auto& piece : pieces) piece = {Text(5, 6), Score(scores)};
    unk = static_cast<TokenId>(Below(static_cast<uint32_t>(pieces.size())));
    pieces[static_cast<size_t>(unk)].text = "<unk>";
    return pieces;
  }

 private:
  double Score(Scores scores) {
    if (scores == Scores::kTies) return -1.0 - Below(3);
    const double score = -12.0 * static_cast<double>(random_()) / 4294967296.0;
    if (scores == Scores::kPositive && Below(3) == 0) return Below(2) == 0 ? -score : 15.0;
    return scores == Scores::kHigh ? score + 40.0 : score;
  }

  std::mt19937 random_;
};

}  // namespace trellis

#endif  // TRELLIS_TESTS_STAGE_RANDOM_UNIGRAM_H_
