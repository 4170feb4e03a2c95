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

#include "trellis/encoding.h"
#include "trellis/internal/text/utf8.h"
#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

// One position between bytes: the best way to get there; after the run, on the
// best path, where the piece that starts here ends.
struct LatticeNode {
  double score;
  uint32_t link;  // where the last piece of that way begins; after the run the next piece's end
  TokenId id;     // of the piece that ends here
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

enum class UnigramResult : uint8_t {
  kOk,
  kNoUnk,  // an unknown character is on a best way, and the model has no unk
};

// Finds the best path through `text` (well formed, not empty) and leaves it in
// `nodes`, which needs text.size() + 1 elements: ForEachUnigramPiece.
// `allowed(id)` is false for pieces that must not come out of text.
template <ByteTrie Trie, typename Allowed = AllPieces>
UnigramResult RunUnigram(const Trie& trie, const UnigramScores& model, std::string_view text,
                         std::span<LatticeNode> nodes, Allowed allowed = {}) {
  constexpr uint32_t kUnreached = 0xFFFFFFFF;
  const auto size = static_cast<uint32_t>(text.size());
  for (uint32_t i = 0; i <= size; ++i) nodes[i] = {0.0, kUnreached, kNoPiece};

  const auto relax = [&](uint32_t begin, uint32_t end, TokenId id, double score) {
    LatticeNode& node = nodes[end];
    if (node.link == kUnreached || score > node.score) node = {score, begin, id};
  };
  for (uint32_t begin = 0; begin < size;) {
    const double so_far = nodes[begin].score;
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
      const LatticeNode& reached = nodes[begin + character];
      if (reached.link == begin && reached.id == kNoPiece) return UnigramResult::kNoUnk;
    }
    begin += character;
  }

  // Turns the links of the best path round; runs of the unknown id are fused on
  // the way.
  uint32_t end = size;
  for (uint32_t begin = nodes[size].link;;) {
    if (nodes[end].id == model.unk_id) {
      while (begin > 0 && nodes[begin].id == model.unk_id) begin = nodes[begin].link;
      // The reference looks a fused run up by its string: where it happens to be a
      // piece (which only scores above zero can bring about), that piece it is.
      auto node = trie.root();
      uint32_t at = begin;
      while (at < end && trie.Step(node, static_cast<uint8_t>(text[at]))) ++at;
      if (at == end && trie.Id(node) != kNoPiece && allowed(trie.Id(node))) nodes[end].id = trie.Id(node);
    }
    const uint32_t before = nodes[begin].link;
    nodes[begin].link = end;
    if (begin == 0) return UnigramResult::kOk;
    end = begin;
    begin = before;
  }
}

// Calls f(begin, end, id) for each piece of the path that the run left in `nodes`.
template <typename F>
void ForEachUnigramPiece(std::span<const LatticeNode> nodes, uint32_t size, F&& f) {
  for (uint32_t begin = 0; begin < size;) {
    const uint32_t end = nodes[begin].link;
    f(begin, end, nodes[end].id);
    begin = end;
  }
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_UNIGRAM_H_
