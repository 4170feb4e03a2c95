#include "serve/engine/cpu/heads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/pooling.h"

namespace trellis::engine::cpu {
namespace {

// Special tokens carry no meaning of their own: FlagEmbedding leaves them out of the weights. In this family
// of vocabularies they are the first four: <s>, <pad>, </s>, <unk>.
constexpr int32_t kSpecialTokens = 4;

void Tanh(std::span<float> values) {
  for (float& value : values) value = std::tanh(value);
}

absl::Status Keep(absl::StatusOr<Dense> made, std::optional<Dense>& to) {
  if (!made.ok()) return made.status();
  to.emplace(*std::move(made));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Heads> Heads::Create(const ModelConfig& config, const Weights& weights,
                                    const HeadWeights& beside, Matmuls& matmuls, Crew& crew) {
  Heads heads(config);
  if (auto status = heads.ReadDense(beside, matmuls, crew); !status.ok()) return status;
  if (auto status = heads.ReadClassifier(weights, matmuls, crew); !status.ok()) return status;
  return heads;
}

absl::Status Heads::ReadDense(const HeadWeights& beside, Matmuls& matmuls, Crew& crew) {
  if (beside.dense.size() != config_.dense.size() || beside.sparse.has_value() != config_.sparse_head ||
      beside.colbert.has_value() != config_.colbert_head) {
    return absl::InternalError("the weights of the heads are not those of the config");
  }
  int size = config_.hidden;
  for (size_t i = 0; i < beside.dense.size(); ++i) {
    const DenseLayer& layer = config_.dense[i];
    if (layer.in != size) {
      return absl::InvalidArgumentError(absl::StrCat(layer.folder, ": in_features: ", layer.in, ", expected ",
                                                     size, " as comes out before"));
    }
    auto dense =
        Dense::Create(beside.dense[i], "linear.", Bias::kPerhaps, layer.in, layer.out, matmuls, crew);
    if (!dense.ok()) return dense.status();
    dense_.push_back(*std::move(dense));
    size = layer.out;
  }
  const int hidden = config_.hidden;
  if (beside.sparse.has_value()) {
    auto status = Keep(Dense::Create(*beside.sparse, "", Bias::kThere, hidden, 1, matmuls, crew), sparse_);
    if (!status.ok()) return status;
  }
  if (beside.colbert.has_value()) {
    auto status =
        Keep(Dense::Create(*beside.colbert, "", Bias::kThere, hidden, hidden, matmuls, crew), colbert_);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Heads::ReadClassifier(const Weights& weights, Matmuls& matmuls, Crew& crew) {
  if (config_.head == Head::kNone) return absl::OkStatus();
  const bool bert = config_.head == Head::kClassifyTanhPooler;
  const std::string pooler = bert ? config_.prefix + "pooler.dense." : "classifier.dense.";
  const std::string classifier = bert ? "classifier." : "classifier.out_proj.";
  const int hidden = config_.hidden;
  if (auto status =
          Keep(Dense::Create(weights, pooler, Bias::kThere, hidden, hidden, matmuls, crew), pooler_);
      !status.ok()) {
    return status;
  }
  return Keep(Dense::Create(weights, classifier, Bias::kThere, hidden, config_.labels, matmuls, crew),
              classifier_);
}

int Heads::EmbedSize() const { return dense_.empty() ? config_.hidden : dense_.back().out(); }
int Heads::TokenSize() const { return colbert_.has_value() ? colbert_->out() : config_.hidden; }

void Heads::Describe(EngineLimits& limits) const {
  const bool classifies = classifier_.has_value();
  const auto set = [&](Task task, bool has) { limits.tasks[static_cast<int>(task)] = has; };
  set(Task::kClassify, classifies);
  set(Task::kEmbed, !classifies);
  // There is one number of dimensions for both.
  set(Task::kEmbedAll, !classifies && TokenSize() == EmbedSize());
  set(Task::kSparse, !classifies && sparse_.has_value());
  limits.dimensions = classifies ? 0 : EmbedSize();
  limits.labels = classifies ? classifier_->out() : 0;
}

std::vector<float> Heads::Embed(const RowTask& task, std::span<const float> states) {
  const Pooling pooling = task.pooling == Pooling::kModel ? config_.pooling : task.pooling;
  std::vector<float> vector = Pool(pooling, states, config_.hidden);
  for (size_t i = 0; i < dense_.size(); ++i) {
    const std::span<float> out = dense_[i].Run(vector);
    if (config_.dense[i].after == DenseLayer::After::kTanh) Tanh(out);
    vector.assign(out.begin(), out.end());
  }
  // The model's own last step sees the whole vector; the one that a request asks for, what is left of it.
  if (config_.normalize == Normalize::kL2) ScaleToOne(vector);
  if (task.dimensions > 0) vector.resize(static_cast<size_t>(task.dimensions));
  if (task.normalize == Normalize::kL2) ScaleToOne(vector);
  return vector;
}

std::vector<float> Heads::EmbedAll(const RowTask& task, std::span<const float> states) {
  const std::span<const float> all = colbert_.has_value() ? colbert_->Run(states) : states;
  const auto size = static_cast<size_t>(TokenSize());
  const size_t kept = task.dimensions > 0 ? static_cast<size_t>(task.dimensions) : size;
  std::vector<float> vectors;
  vectors.reserve(all.size() / size * kept);
  for (size_t at = 0; at < all.size(); at += size) {
    const auto vector = all.subspan(at, kept);
    vectors.insert(vectors.end(), vector.begin(), vector.end());
    if (task.normalize == Normalize::kL2) ScaleToOne(std::span(vectors).last(kept));
  }
  return vectors;
}

std::vector<float> Heads::Classify(std::span<const float> states) {
  const std::span<float> pooled = pooler_->Run(states.first(static_cast<size_t>(config_.hidden)));
  Tanh(pooled);
  const std::span<float> logits = classifier_->Run(pooled);
  return {logits.begin(), logits.end()};
}

RowOutput Heads::Sparse(std::span<const int32_t> ids, std::span<const float> states) {
  const std::span<const float> weights = sparse_->Run(states);
  std::map<int32_t, float> most;  // by token id
  for (size_t t = 0; t < ids.size(); ++t) {
    // A weight that is no number is handed on, not dropped.
    if (ids[t] < kSpecialTokens || weights[t] <= 0) continue;
    float& weight = most[ids[t]];
    if (!(weight >= weights[t])) weight = weights[t];
  }
  RowOutput output;
  for (const auto& [id, weight] : most) {
    output.indices.push_back(id);
    output.values.push_back(weight);
  }
  return output;
}

RowOutput Heads::Run(const RowTask& task, std::span<const int32_t> ids, std::span<const float> states) {
  switch (task.task) {
    case Task::kEmbed:
      return {Embed(task, states), {}};
    case Task::kEmbedAll:
      return {EmbedAll(task, states), {}};
    case Task::kClassify:
      return {Classify(states), {}};
    case Task::kSparse:
      return Sparse(ids, states);
  }
  return {};
}

}  // namespace trellis::engine::cpu
