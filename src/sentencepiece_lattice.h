// SentencePieceLattice: every way through one normalized text, for n-best and
// sampling. Encode does not need it (sentencepiece_unigram.h keeps one way only).
//
// Whose truth: sentencepiece 0.2.3, unigram_model.cc, Lattice: its order of nodes,
// its float sums and its heap decide ties; and 0.2.1 for what a seed draws. Where
// 0.2.3 gives up (its limits of time and size) this goes on as 0.2.1 does.
#ifndef TRELLIS_SRC_SENTENCEPIECE_LATTICE_H_
#define TRELLIS_SRC_SENTENCEPIECE_LATTICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "trellis/encoding.h"

namespace trellis::internal {

struct LatticePiece {
  uint32_t begin;  // bytes of the normalized text
  uint32_t end;
  TokenId id;
  float score;
  float best = 0.0F;  // of a way from the start to this node's end
};

// Nodes from left to right.
struct LatticePath {
  std::vector<const LatticePiece*> nodes;
  float score = 0.0F;
};

class SentencePieceLattice {
 public:
  explicit SentencePieceLattice(uint32_t text_bytes);

  // Pieces come by their beginning, and those of one beginning by their length.
  void Insert(uint32_t begin, uint32_t end, TokenId id, float score) { nodes_.push_back({begin, end, id, score}); }
  // After the last one; before any of what follows.
  void Finish();

  // The best ways, best first; fewer when there are no more. nullopt: the search
  // has grown beyond kMostHypotheses.
  std::optional<std::vector<LatticePath>> FindBest(size_t count);

  // Draws a way with a probability in proportion to exp(alpha x its score); its
  // score becomes the logarithm of that probability.
  LatticePath Sample(float alpha, std::mt19937& random) const;

  static constexpr size_t kMostHypotheses = size_t{1} << 24;

 private:
  static constexpr uint32_t kStart = 0, kEnd = 1;  // nodes of their own, without text

  std::span<const uint32_t> NodesThatEnd(uint32_t at) const {
    return std::span(by_end_).subspan(first_by_end_[at], first_by_end_[at + 1] - first_by_end_[at]);
  }
  void FindBestScores();
  std::vector<float> ForwardSums(float alpha) const;

  uint32_t size_;
  std::vector<LatticePiece> nodes_;
  std::vector<uint32_t> by_end_;  // nodes, by where they end
  std::vector<uint32_t> first_by_end_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_SENTENCEPIECE_LATTICE_H_
