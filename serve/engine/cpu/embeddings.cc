#include "serve/engine/cpu/embeddings.h"

#include <array>
#include <string>
#include <utility>

#include "serve/engine/cpu/table.h"

namespace trellis::engine::cpu {
namespace {

absl::StatusOr<const Tensor*> FindTable(const Weights& weights, const std::string& name, int rows,
                                        int width) {
  return weights.Find(name, std::array<int64_t, 2>{rows, width});
}

absl::Status ReadVector(const Weights& weights, const std::string& name, int size, std::vector<float>& out) {
  const auto tensor = weights.Find(name, std::array<int64_t, 1>{size});
  if (!tensor.ok()) return tensor.status();
  out.resize(static_cast<size_t>(size));
  (*tensor)->CopyTo(out);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LayerNormWeights> ReadLayerNorm(const Weights& weights, const std::string& name, int size) {
  LayerNormWeights norm;
  if (auto status = ReadVector(weights, name + ".weight", size, norm.gamma); !status.ok()) return status;
  if (auto status = ReadVector(weights, name + ".bias", size, norm.beta); !status.ok()) return status;
  return norm;
}

absl::StatusOr<Embeddings> Embeddings::Create(const ModelConfig& config, const Weights& weights) {
  const std::string prefix = config.prefix + "embeddings.";
  const auto words = FindTable(weights, prefix + "word_embeddings.weight", config.vocab_size, config.hidden);
  if (!words.ok()) return words.status();
  const auto positions =
      FindTable(weights, prefix + "position_embeddings.weight", config.max_positions, config.hidden);
  if (!positions.ok()) return positions.status();
  const auto types =
      FindTable(weights, prefix + "token_type_embeddings.weight", config.type_vocab_size, config.hidden);
  if (!types.ok()) return types.status();
  auto norm = ReadLayerNorm(weights, prefix + "LayerNorm", config.hidden);
  if (!norm.ok()) return norm.status();

  Embeddings embeddings;
  embeddings.hidden_ = config.hidden;
  embeddings.eps_ = static_cast<float>(config.layer_norm_eps);
  embeddings.words_ = *words;
  embeddings.positions_ = *positions;
  embeddings.types_.resize(static_cast<size_t>((*types)->elements()));
  (*types)->CopyTo(embeddings.types_);
  embeddings.norm_ = *std::move(norm);
  return embeddings;
}

void Embeddings::Run(std::span<const int32_t> ids, std::span<const int32_t> type_ids,
                     std::span<const int32_t> positions, std::span<float> out) const {
  const RowKernels& kernels = RowKernelsOf(BestIsa());
  const auto hidden = static_cast<size_t>(hidden_);
  TableReader words(*words_), places(*positions_);
  std::vector<float> place(hidden);
  for (size_t t = 0; t < ids.size(); ++t) {
    const std::span<float> x = out.subspan(t * hidden, hidden);
    words.Copy(ids[t], x);
    places.Copy(positions[t], place);
    const float* const type =
        types_.data() + (type_ids.empty() ? 0 : static_cast<size_t>(type_ids[t])) * hidden;
    for (size_t i = 0; i < hidden; ++i) x[i] += type[i];
    kernels.layer_norm(x.data(), place.data(), norm_.gamma.data(), norm_.beta.data(), eps_, hidden_);
  }
}

}  // namespace trellis::engine::cpu
