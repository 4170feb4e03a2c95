#include "serve/engine/cpu/model.h"

#include <algorithm>
#include <utility>

namespace trellis::engine::cpu {
namespace {

// As many tokens a thread as keep their activations in its own cache through a layer, and enough to make each
// weight that is fetched worth it.
constexpr int32_t kGroupTokens = 512;

constexpr int32_t kMostBatchTokens = 16384;
constexpr int32_t kMostBatchRows = 4096;

}  // namespace

Model::Model(Weights weights, int threads)
    : weights_(std::move(weights)), matmuls_(threads), crew_(threads, UseOneThreadHere) {}

absl::StatusOr<std::unique_ptr<Model>> Model::Create(const ModelConfig& config, Weights weights,
                                                     const HeadWeights& beside, Precision precision,
                                                     int threads) {
  if (auto status = Supports(precision); !status.ok()) return status;
  std::unique_ptr<Model> model(new Model(std::move(weights), threads));
  auto encoder = Encoder::Create(config, model->weights_, precision, model->matmuls_, model->crew_);
  if (!encoder.ok()) return encoder.status();
  model->encoder_ = std::make_unique<Encoder>(*std::move(encoder));
  auto heads = Heads::Create(config, model->weights_, beside, model->matmuls_, model->crew_);
  if (!heads.ok()) return heads.status();
  model->heads_ = std::make_unique<Heads>(*std::move(heads));

  EngineLimits& limits = model->limits_;
  limits.max_row_tokens = config.max_row_tokens;
  limits.max_batch_tokens = std::max(kMostBatchTokens, config.max_row_tokens);
  limits.max_batch_rows = kMostBatchRows;
  limits.max_in_flight = 2;
  limits.vocab_size = config.vocab_size;
  limits.type_vocab_size = config.type_vocab_size;
  limits.model = config.name;
  model->heads_->Describe(limits);
  return model;
}

std::vector<RowOutput> Model::Run(const PackedBatch& batch) {
  std::vector<RowOutput> out(batch.num_rows());
  const int32_t most = kGroupTokens * crew_.threads();
  const auto& starts = batch.cu_seqlens;
  for (size_t first = 0, last; first < batch.num_rows(); first = last) {
    last = first + 1;
    while (last < batch.num_rows() && starts[last + 1] - starts[first] <= most) ++last;
    RunGroup(batch, first, last, out);
  }
  return out;
}

void Model::RunGroup(const PackedBatch& batch, size_t first, size_t last, std::vector<RowOutput>& out) {
  const auto begin = static_cast<size_t>(batch.cu_seqlens[first]);
  const size_t size = static_cast<size_t>(batch.cu_seqlens[last]) - begin;
  Group group;
  group.ids = batch.ids.subspan(begin, size);
  if (!batch.type_ids.empty()) group.type_ids = batch.type_ids.subspan(begin, size);
  group.cu_seqlens = batch.cu_seqlens.subspan(first, last - first + 1);
  const std::span<const float> states = encoder_->Run(group);
  const size_t hidden = states.size() / size;
  for (int row = 0; row < group.num_rows(); ++row) {
    const auto from = static_cast<size_t>(group.row_begin(row)),
               tokens = static_cast<size_t>(group.row_tokens(row));
    const size_t index = first + static_cast<size_t>(row);
    out[index] = heads_->Run(batch.rows[index], group.ids.subspan(from, tokens),
                             states.subspan(from * hidden, tokens * hidden));
  }
}

}  // namespace trellis::engine::cpu
