// SentencePiece's lattice: one for the whole normalized text.
//
// Whose truth: sentencepiece 0.2.3, unigram_model.cc, EncodeOptimized (what
// every Encode of the library and the wheel calls). Sums are float from the
// text's start, so rounding, and with it every exact tie, depends on all that
// came before: no word may be cut out or cached here. Of equal paths the one
// found first from the left stays. Far from zero the sums are shifted back.
//
// Invariant: pieces cover the text without gap or overlap, in order, whatever
// the bytes. Time O(bytes x longest piece), one SentencePieceNode a byte.
#ifndef TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_UNIGRAM_H_
#define TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_UNIGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

// One position between bytes: the best way to get there; after the run, on the
// best path, where the piece that starts here ends.
struct SentencePieceNode {
  static constexpr uint32_t kUnreached = 0xFFFFFFFF;
  float score;
  uint32_t link;  // the last piece's begin; after the run the next piece's end
  TokenId id;     // of the piece that ends here
};

// The lattice's model. The trie holds normal and user-defined pieces only.
struct SentencePieceScores {
  std::span<const float> scores;  // by id; user-defined ones from UserDefinedScore
  float unk_score = 0.0F;         // from UnknownScore
  TokenId unk_id = kNoPiece;      // kNoPiece: none, only with byte_ids
  // The 256 byte pieces that spell an unknown character, or empty.
  std::span<const TokenId> byte_ids = {};
};

// A bonus that always wins against log probabilities, and by which one long
// piece wins against several short ones. In this arithmetic: double, then float.
inline float UserDefinedScore(size_t piece_bytes) {
  return static_cast<float>(0.1 * (static_cast<int>(piece_bytes) - 1));
}

// `lowest_normal` is the lowest score of a normal piece; FLT_MAX without any.
inline float UnknownScore(float lowest_normal) {
  constexpr float kPenalty = 10.0F;
  return lowest_normal - kPenalty;
}

// Length of a character by its first byte alone, as SentencePiece steps. A
// normalized text may still hold malformed bytes out of user-defined pieces.
inline uint32_t SentencePieceCharacter(char first) {
  constexpr uint8_t kByHighBits[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return kByHighBits[static_cast<uint8_t>(first) >> 4];
}

// Finds the best path through `text`. `nodes` needs text.size() + 1 elements.
// `allowed(id)` is false for pieces that must not come out of text.
template <ByteTrie Trie, typename Allowed>
void RunSentencePieceUnigram(const Trie& trie, const SentencePieceScores& model, std::string_view text,
                             std::span<SentencePieceNode> nodes, Allowed allowed) {
  constexpr uint32_t kUnreached = SentencePieceNode::kUnreached;
  const auto size = static_cast<uint32_t>(text.size());
  for (uint32_t i = 0; i <= size; ++i) nodes[i] = {0.0F, kUnreached, kNoPiece};
  if (size == 0) return;

  const auto relax = [&](uint32_t begin, uint32_t end, TokenId id, float score) {
    SentencePieceNode& node = nodes[end];
    if (node.link == kUnreached || score > node.score) node = {score, begin, id};
  };
  uint32_t frontier = 0;  // the farthest end reached
  for (uint32_t begin = 0; begin < size;) {
    float so_far = nodes[begin].score;
    constexpr float kShiftBeyond = 100000.0F;
    if (so_far < -kShiftBeyond || so_far > kShiftBeyond) {
      for (uint32_t i = begin; i <= frontier; ++i) nodes[i].score -= so_far;
      so_far = 0.0F;
    }
    const uint32_t character = std::min(SentencePieceCharacter(text[begin]), size - begin);
    bool has_single = false;
    auto node = trie.root();
    for (uint32_t end = begin; end < size && trie.Step(node, static_cast<uint8_t>(text[end]));) {
      ++end;
      const TokenId id = trie.Id(node);
      if (id == kNoPiece || !allowed(id)) continue;
      frontier = std::max(frontier, end);
      relax(begin, end, id, model.scores[static_cast<size_t>(id)] + so_far);
      has_single |= end - begin == character;
    }
    if (!has_single) {
      frontier = std::max(frontier, begin + character);
      relax(begin, begin + character, model.unk_id, model.unk_score + so_far);
    }
    begin += character;
  }

  // Turns the links of the best path round.
  uint32_t end = size;
  for (uint32_t begin = nodes[size].link;;) {
    const uint32_t before = nodes[begin].link;
    nodes[begin].link = end;
    if (begin == 0) break;
    end = begin;
    begin = before;
  }
}

template <ByteTrie Trie>
void RunSentencePieceUnigram(const Trie& trie, const SentencePieceScores& model, std::string_view text,
                             std::span<SentencePieceNode> nodes) {
  RunSentencePieceUnigram(trie, model, text, nodes, [](TokenId) { return true; });
}

// Calls f(id, begin, end) for each token of the path that the run left in
// `nodes`; begin and end are bytes of the caller's text. Runs of unknown
// characters are one token; with byte pieces each of their bytes is one, of
// which only a character's last carries its range (sentencepiece_processor.cc,
// PopulateSentencePieceText). Without `alignment` the ranges are those of the
// normalized text.
template <typename F>
void ForEachSentencePieceToken(const SentencePieceScores& model, std::string_view text,
                               std::span<const SentencePieceNode> nodes, std::span<const uint32_t> alignment, F&& f) {
  const auto source = [&](uint32_t at) { return alignment.empty() ? at : alignment[at]; };
  const auto size = static_cast<uint32_t>(text.size());
  for (uint32_t at = 0; at < size;) {
    const uint32_t begin = at;
    at = nodes[begin].link;
    const TokenId id = nodes[at].id;
    if (id != model.unk_id) {
      f(id, source(begin), source(at));
      continue;
    }
    if (model.byte_ids.empty()) {
      while (at < size && nodes[nodes[at].link].id == id) at = nodes[at].link;
      f(id, source(begin), source(at));
      continue;
    }
    for (uint32_t i = begin; i < at; ++i) {
      f(model.byte_ids[static_cast<uint8_t>(text[i])], source(begin), i + 1 == at ? source(at) : source(begin));
    }
  }
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_UNIGRAM_H_
