#include "src/sentencepiece_lattice.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "trellis/internal/draw_index.h"

namespace trellis::internal {
namespace {

// log(exp(x) + exp(y)), in the reference's mix of float and double.
float LogSumExp(float x, float y) {
  const float low = std::min(x, y), high = std::max(x, y);
  constexpr float kNegligible = 50.0F;
  if (high > low + kNegligible) return high;
  return static_cast<float>(high + std::log(std::exp(static_cast<double>(low - high)) + 1.0));
}

// A part of a way: from `node` to the text's end.
struct Hypothesis {
  uint32_t node;
  uint32_t next;    // the hypothesis that it goes on from
  float estimate;   // of the best whole way through it
  float score;      // of the part
};
constexpr uint32_t kNone = UINT32_MAX;

// Hypotheses by estimate. A heap of the standard library: of equal estimates its
// order is the reference's.
class Agenda {
 public:
  explicit Agenda(const std::vector<Hypothesis>& all) : queue_(Less{&all}) {}
  void Push(uint32_t hypothesis) { queue_.push(hypothesis); }
  uint32_t Pop() {
    const uint32_t top = queue_.top();
    queue_.pop();
    return top;
  }
  size_t size() const { return queue_.size(); }

 private:
  struct Less {
    const std::vector<Hypothesis>* all;
    bool operator()(uint32_t a, uint32_t b) const { return (*all)[a].estimate < (*all)[b].estimate; }
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, Less> queue_;
};

// Keeps the best of an agenda that has grown too large, and what they go on
// from, and forgets the others.
void Shrink(size_t kept, std::vector<Hypothesis>& all, Agenda& agenda) {
  std::vector<uint32_t> best;
  for (size_t i = 0; i < kept; ++i) best.push_back(agenda.Pop());
  while (agenda.size() > 0) agenda.Pop();
  std::vector<uint32_t> moved(all.size(), kNone);
  for (const uint32_t one : best) {
    for (uint32_t at = one; at != kNone && moved[at] == kNone; at = all[at].next) moved[at] = 0;
  }
  // What a hypothesis goes on from stands before it.
  uint32_t size = 0;
  for (uint32_t at = 0; at < all.size(); ++at) {
    if (moved[at] == kNone) continue;
    moved[at] = size;
    Hypothesis one = all[at];
    if (one.next != kNone) one.next = moved[one.next];
    all[size++] = one;
  }
  all.resize(size);
  for (const uint32_t one : best) agenda.Push(moved[one]);
}

}  // namespace

SentencePieceLattice::SentencePieceLattice(uint32_t text_bytes) : size_(text_bytes) {
  nodes_.push_back({0, 0, -1, 0.0F});
  nodes_.push_back({text_bytes, text_bytes, -1, 0.0F});
}

void SentencePieceLattice::Finish() {
  first_by_end_.assign(size_t{size_} + 2, 0);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i != kEnd) ++first_by_end_[size_t{nodes_[i].end} + 1];
  }
  for (size_t at = 1; at < first_by_end_.size(); ++at) first_by_end_[at] += first_by_end_[at - 1];
  by_end_.resize(nodes_.size() - 1);
  std::vector<uint32_t> next(first_by_end_.begin(), first_by_end_.end() - 1);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (i != kEnd) by_end_[next[nodes_[i].end]++] = i;
  }
}

void SentencePieceLattice::FindBestScores() {
  const auto relax = [this](LatticePiece& node) {
    bool first = true;
    for (const uint32_t before : NodesThatEnd(node.begin)) {
      const float score = nodes_[before].best + node.score;
      if (first || score > node.best) node.best = score;
      first = false;
    }
  };
  for (size_t i = kEnd + 1; i < nodes_.size(); ++i) relax(nodes_[i]);
  relax(nodes_[kEnd]);
}

std::optional<std::vector<LatticePath>> SentencePieceLattice::FindBest(size_t count) {
  FindBestScores();
  constexpr size_t kLargestAgenda = 10000;
  const size_t kept = std::min<size_t>(512, count * 10);
  std::vector<Hypothesis> all = {{kEnd, kNone, nodes_[kEnd].best, 0.0F}};
  Agenda agenda(all);
  agenda.Push(0);
  size_t made = 0;
  std::vector<LatticePath> paths;
  while (agenda.size() > 0 && paths.size() < count) {
    const uint32_t top = agenda.Pop();
    if (all[top].node == kStart) {
      LatticePath& path = paths.emplace_back();
      path.score = all[top].estimate;
      for (uint32_t at = all[top].next; all[at].node != kEnd; at = all[at].next) {
        path.nodes.push_back(&nodes_[all[at].node]);
      }
      continue;
    }
    for (const uint32_t before : NodesThatEnd(nodes_[all[top].node].begin)) {
      const float score = all[top].score;
      all.push_back({before, top, nodes_[before].best + score, nodes_[before].score + score});
      agenda.Push(static_cast<uint32_t>(all.size() - 1));
      ++made;
    }
    if (made > kMostHypotheses) return std::nullopt;
    if (agenda.size() >= kLargestAgenda) Shrink(kept, all, agenda);
  }
  return paths;
}

std::vector<float> SentencePieceLattice::ForwardSums(float alpha) const {
  std::vector<float> sums(nodes_.size(), 0.0F);
  const auto add = [&](uint32_t node) {
    bool first = true;
    for (const uint32_t before : NodesThatEnd(nodes_[node].begin)) {
      const float term = alpha * nodes_[before].score + sums[before];
      sums[node] = first ? term : LogSumExp(sums[node], term);
      first = false;
    }
  };
  for (uint32_t node = kEnd + 1; node < nodes_.size(); ++node) add(node);
  add(kEnd);
  return sums;
}

LatticePath SentencePieceLattice::Sample(float alpha, std::mt19937& random) const {
  const std::vector<float> sums = ForwardSums(alpha);
  LatticePath path;
  std::vector<double> weights;
  for (uint32_t node = kEnd;;) {
    const std::span<const uint32_t> before = NodesThatEnd(nodes_[node].begin);
    weights.clear();
    for (const uint32_t one : before) {
      const float exponent = sums[one] + alpha * nodes_[one].score - sums[node];
      weights.push_back(static_cast<float>(std::exp(static_cast<double>(exponent))));
    }
    node = before[DrawIndex(weights, random)];
    if (node == kStart) break;
    path.nodes.push_back(&nodes_[node]);
  }
  std::reverse(path.nodes.begin(), path.nodes.end());
  for (const LatticePiece* node : path.nodes) path.score += alpha * node->score;
  path.score -= sums[kEnd];
  return path;
}

}  // namespace trellis::internal
