#include "trellis/sampling.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "src/sentencepiece_lattice.h"
#include "src/tokenizer_impl.h"
#include "trellis/internal/draw_index.h"

namespace trellis {
namespace {

using internal::LatticePath;
using internal::SentencePieceLattice;
using internal::SentencePieceNode;
using internal::SentencePiecePath;
using internal::SentencePiecePipeline;

constexpr int kMostSampledNBest = 512;

// One text, normalized; tokens of any way through it.
class NormalizedText {
 public:
  static absl::StatusOr<NormalizedText> Of(const Tokenizer& tokenizer, std::string_view text) {
    const SentencePiecePipeline* pipeline = tokenizer.impl().sentencepiece();
    if (pipeline == nullptr) {
      return absl::UnimplementedError("dialect: Hugging Face, expected SentencePiece's: n-best and sampling are its");
    }
    if (!tokenizer.spec_without_pieces().added_tokens.empty()) {
      return absl::UnimplementedError("added_tokens: " + std::to_string(tokenizer.spec_without_pieces().added_tokens.size()) +
                                      ", expected none for n-best and sampling");
    }
    if (text.size() > internal::kMaxTextBytes) return absl::ResourceExhaustedError("a text of 4 GiB or more");
    NormalizedText out(*pipeline);
    out.scratch_.Reserve(pipeline->ScratchBytes(text.size()));
    ScratchCarver carver(out.scratch_);
    const std::optional<SentencePiecePath> path = pipeline->FindPath(text, internal::MatchSpecial::kYes, carver);
    if (!path) return absl::ResourceExhaustedError("scratch");
    out.best_ = *path;
    return out;
  }

  bool empty() const { return best_.normalized.empty(); }
  SentencePieceLattice Lattice() const { return pipeline_.Lattice(best_.normalized); }

  Segmentation Best() const { return Tokens(best_.nodes); }
  Segmentation Tokens(const LatticePath& path) const {
    std::vector<SentencePieceNode> nodes(best_.normalized.size() + 1);
    for (const internal::LatticePiece* node : path.nodes) {
      nodes[node->begin].link = node->end;
      nodes[node->end].id = node->id;
    }
    Segmentation out = Tokens(nodes);
    out.score = path.score;
    return out;
  }

 private:
  explicit NormalizedText(const SentencePiecePipeline& pipeline) : pipeline_(pipeline) {}

  Segmentation Tokens(std::span<const SentencePieceNode> nodes) const {
    Segmentation out;
    internal::ForEachSentencePieceToken(pipeline_.scores(), best_.normalized, nodes, best_.alignment,
                                        [&](TokenId id, uint32_t begin, uint32_t end) {
                                          out.ids.push_back(id);
                                          out.offsets.push_back({begin, end});
                                        });
    return out;
  }

  const SentencePiecePipeline& pipeline_;
  Scratch scratch_;
  SentencePiecePath best_;  // views scratch_, whose memory stays where it is when moved
};

absl::StatusOr<std::vector<LatticePath>> BestPaths(SentencePieceLattice& lattice, size_t count) {
  std::optional<std::vector<LatticePath>> paths = lattice.FindBest(count);
  if (!paths) return absl::ResourceExhaustedError("the text has too many ways");
  return *std::move(paths);
}

// The reference's order of operations: it decides the last bits.
size_t DrawPath(const std::vector<LatticePath>& paths, float alpha, std::mt19937& random) {
  std::vector<double> weights;
  for (const LatticePath& path : paths) weights.push_back(alpha * path.score);
  double sum = weights.front();
  for (size_t i = 1; i < weights.size(); ++i) {
    const double low = std::min(sum, weights[i]), high = std::max(sum, weights[i]);
    sum = high + std::log1p(std::exp(low - high));
  }
  for (double& weight : weights) weight = std::exp(weight - sum);
  return internal::DrawIndex(weights, random);
}

}  // namespace

absl::StatusOr<std::vector<Segmentation>> EncodeNBest(const Tokenizer& tokenizer, std::string_view text,
                                                      size_t count) {
  const absl::StatusOr<NormalizedText> normalized = NormalizedText::Of(tokenizer, text);
  if (!normalized.ok()) return normalized.status();
  std::vector<Segmentation> out;
  if (normalized->empty() || count <= 1) {
    out.push_back(normalized->Best());
    return out;
  }
  SentencePieceLattice lattice = normalized->Lattice();
  const absl::StatusOr<std::vector<LatticePath>> paths = BestPaths(lattice, std::min(count, kMostNBest));
  if (!paths.ok()) return paths.status();
  for (const LatticePath& path : *paths) out.push_back(normalized->Tokens(path));
  return out;
}

absl::StatusOr<Segmentation> EncodeSample(const Tokenizer& tokenizer, std::string_view text,
                                          const SampleOptions& options, std::mt19937& random) {
  if (options.nbest_size > kMostSampledNBest) {
    return absl::InvalidArgumentError("nbest_size: " + std::to_string(options.nbest_size) + ", expected at most " +
                                      std::to_string(kMostSampledNBest));
  }
  if (!std::isfinite(options.alpha)) {
    return absl::InvalidArgumentError("alpha: " + std::to_string(options.alpha) + ", expected a finite number");
  }
  const absl::StatusOr<NormalizedText> normalized = NormalizedText::Of(tokenizer, text);
  if (!normalized.ok()) return normalized.status();
  if (normalized->empty() || options.nbest_size == 0 || options.nbest_size == 1) return normalized->Best();
  SentencePieceLattice lattice = normalized->Lattice();
  if (options.nbest_size < 0) return normalized->Tokens(lattice.Sample(options.alpha, random));
  const absl::StatusOr<std::vector<LatticePath>> paths =
      BestPaths(lattice, static_cast<size_t>(options.nbest_size));
  if (!paths.ok()) return paths.status();
  return normalized->Tokens((*paths)[DrawPath(*paths, options.alpha, random)]);
}

}  // namespace trellis
