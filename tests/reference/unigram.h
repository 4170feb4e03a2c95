// Unigram segmentation straight from its definition, for tests: a table of the
// best sum to every character boundary, filled by trying every substring in the
// list of pieces. Slow. Strings and lists only: no trie, no ids inside.
//
// What the reference (tokenizers 0.22.2, models/unigram) adds to the definition:
// sums are doubles added from the left; a way found later must be strictly
// better, and ways to a boundary are found in order of where their last piece
// begins; a character that is no piece itself may be unknown, at ten below the
// lowest score; unknown neighbours become one, which is looked up as a string.
#ifndef TRELLIS_TESTS_REFERENCE_UNIGRAM_H_
#define TRELLIS_TESTS_REFERENCE_UNIGRAM_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/encoding.h"

namespace trellis::reference {

struct UnigramPiece {
  std::string text;
  double score;
};

struct UnigramToken {
  TokenId id;
  size_t begin;  // bytes
  size_t end;
  friend bool operator==(const UnigramToken&, const UnigramToken&) = default;
};

struct UnigramResult {
  std::vector<UnigramToken> tokens;
  bool needs_unk = false;  // an unknown character, and there is no unk
  // The smallest difference between two ways compared at any boundary; 0: a tie.
  double closest = std::numeric_limits<double>::infinity();
};

// Where characters of well-formed text begin, and its end.
inline std::vector<size_t> CharacterBoundaries(std::string_view text) {
  std::vector<size_t> boundaries;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) boundaries.push_back(i);
  }
  boundaries.push_back(text.size());
  return boundaries;
}

inline UnigramResult SegmentUnigram(const std::vector<UnigramPiece>& pieces, std::optional<TokenId> unk,
                                    std::string_view text, const std::function<bool(TokenId)>& allowed) {
  std::map<std::string, TokenId, std::less<>> ids;
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < pieces.size(); ++i) {
    ids[pieces[i].text] = static_cast<TokenId>(i);  // the last of equal ones
    lowest = std::min(lowest, pieces[i].score);
  }
  const auto find = [&](std::string_view piece) -> std::optional<TokenId> {
    const auto it = ids.find(piece);
    if (it == ids.end() || !allowed(it->second)) return std::nullopt;
    return it->second;
  };

  struct Best {
    bool reached = false;
    double sum = 0.0;
    size_t from = 0;  // boundary
    TokenId id = 0;
  };
  UnigramResult result;
  const std::vector<size_t> at = CharacterBoundaries(text);
  std::vector<Best> best(at.size());
  best[0].reached = true;
  for (size_t to = 1; to < at.size(); ++to) {
    for (size_t from = 0; from < to; ++from) {
      std::optional<TokenId> id = find(text.substr(at[from], at[to] - at[from]));
      double score = 0.0;
      if (id) {
        score = pieces[static_cast<size_t>(*id)].score;
      } else if (to == from + 1) {
        if (!unk) {
          result.needs_unk = true;
          return result;
        }
        id = unk;
        score = lowest - 10.0;
      } else {
        continue;
      }
      const double sum = score + best[from].sum;
      if (best[to].reached) result.closest = std::min(result.closest, std::max(sum - best[to].sum, best[to].sum - sum));
      if (!best[to].reached || sum > best[to].sum) best[to] = {true, sum, from, *id};
    }
  }
  for (size_t to = at.size() - 1; to > 0; to = best[to].from) {
    const UnigramToken token{best[to].id, at[best[to].from], at[to]};
    if (unk && token.id == *unk && !result.tokens.empty() && result.tokens.back().id == *unk) {
      result.tokens.back().begin = token.begin;
    } else {
      result.tokens.push_back(token);
    }
  }
  std::reverse(result.tokens.begin(), result.tokens.end());
  for (UnigramToken& token : result.tokens) {
    if (!unk || token.id != *unk) continue;
    if (const auto id = find(text.substr(token.begin, token.end - token.begin))) token.id = *id;
  }
  return result;
}

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_UNIGRAM_H_
