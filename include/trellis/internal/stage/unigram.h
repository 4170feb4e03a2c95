// Unigram: the plain lattice. One pre-token in, its best pieces out.
//
// Viterbi exactly as tokenizers 0.22.2 does it (models/unigram/model.rs,
// encode_optimized): scores summed in double from the left, every piece that
// starts at a position relaxed in order of length, a strictly better sum
// replaces, so of equal paths the one found first stays. Where no piece is as
// long as the character, the unknown piece (lowest score - 10) covers it; runs
// of unknown are fused. Time O(bytes x longest piece), memory one LatticeNode
// a byte of text.
//
// Invariant: pieces cover the text without gap or overlap, in order.
#ifndef TRELLIS_INTERNAL_STAGE_UNIGRAM_H_
#define TRELLIS_INTERNAL_STAGE_UNIGRAM_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "trellis/encoding.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

struct PieceSpan {
  uint32_t begin;  // bytes of the pre-token
  uint32_t end;
  TokenId id;
};

// One position between bytes: the best way to get there.
struct LatticeNode {
  double score;
  uint32_t begin;  // where the last piece of that way starts
  TokenId id;
};

// What the lattice needs of the model beside the trie.
struct UnigramScores {
  std::span<const double> scores;  // by id
  double unk_score = 0.0;
  TokenId unk_id = kNoPiece;  // kNoPiece: none
};

// Nothing is left out of the lattice.
struct AllPieces {
  bool operator()(TokenId) const { return true; }
};

inline constexpr size_t kUnknownWithoutId = static_cast<size_t>(-1);

// Writes the pieces of `text` (well formed, not empty) to `out`, which needs
// one element a character, and returns their number; kUnknownWithoutId when an
// unknown character is on a best way and the model has no unk. `lattice` needs text.size() + 1
// elements. `allowed(id)` is false for pieces that must not come out of text.
template <ByteTrie Trie, typename Allowed = AllPieces>
size_t RunUnigram(const Trie& trie, const UnigramScores& model, std::string_view text,
                  std::span<LatticeNode> lattice, std::span<PieceSpan> out, Allowed allowed = {}) {
  constexpr uint32_t kUnreached = 0xFFFFFFFF;
  const auto size = static_cast<uint32_t>(text.size());
  for (uint32_t i = 0; i <= size; ++i) lattice[i] = {0.0, kUnreached, kNoPiece};

  const auto relax = [&](uint32_t begin, uint32_t end, TokenId id, double score) {
    LatticeNode& node = lattice[end];
    if (node.begin == kUnreached || score > node.score) node = {score, begin, id};
  };
  for (uint32_t begin = 0; begin < size;) {
    const double so_far = lattice[begin].score;
    const uint32_t character = Utf8LengthFromLead(static_cast<uint8_t>(text[begin]));
    bool has_single = false;
    auto node = trie.root();
    for (uint32_t end = begin; end < size && trie.Step(node, static_cast<uint8_t>(text[end]));) {
      ++end;
      const TokenId id = trie.Id(node);
      if (id == kNoPiece || !allowed(id)) continue;
      // In this order: the reference adds the sum so far to the score.
      relax(begin, end, id, model.scores[static_cast<size_t>(id)] + so_far);
      has_single |= end - begin == character;
    }
    if (!has_single) {
      // Without an unknown id that fails only where it would be the best way.
      relax(begin, begin + character, model.unk_id, model.unk_score + so_far);
      const LatticeNode& reached = lattice[begin + character];
      if (reached.begin == begin && reached.id == kNoPiece) return kUnknownWithoutId;
    }
    begin += character;
  }

  // Back from the end; runs of the unknown id are fused on the way.
  size_t count = 0;
  for (uint32_t end = size; end > 0;) {
    const LatticeNode& node = lattice[end];
    if (count > 0 && node.id == model.unk_id && out[count - 1].id == model.unk_id) {
      out[count - 1].begin = node.begin;
    } else {
      out[count++] = {node.begin, end, node.id};
    }
    end = node.begin;
  }
  for (size_t i = 0, j = count; i + 1 < j; ++i) std::swap(out[i], out[--j]);

  // The reference looks a fused run up by its string: where it happens to be a
  // piece (which only scores above zero can bring about), that piece it is.
  for (size_t i = 0; i < count; ++i) {
    if (out[i].id != model.unk_id) continue;
    auto node = trie.root();
    uint32_t at = out[i].begin;
    while (at < out[i].end && trie.Step(node, static_cast<uint8_t>(text[at]))) ++at;
    if (at == out[i].end && trie.Id(node) != kNoPiece && allowed(trie.Id(node))) out[i].id = trie.Id(node);
  }
  return count;
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_UNIGRAM_H_
