#include "serve/engine/checkpoint.h"

#include <utility>

#include "absl/status/status.h"

namespace trellis::engine {

absl::StatusOr<Checkpoint> OpenCheckpoint(const std::string& folder) {
  auto config = ReadModelConfig(folder);
  if (!config.ok()) return config.status();
  auto weights = Weights::Open(folder);
  if (!weights.ok()) return weights.status();
  HeadWeights beside;
  for (const DenseLayer& layer : config->dense) {
    auto dense = Weights::Open(folder + "/" + layer.folder);
    if (!dense.ok()) return dense.status();
    beside.dense.push_back(*std::move(dense));
  }
  const auto open = [&folder](const char* file, std::optional<Weights>& to) {
    auto head = Weights::Open(folder + "/" + file);
    if (head.ok()) to.emplace(*std::move(head));
    return head.status();
  };
  if (config->sparse_head) {
    if (auto status = open("sparse_linear.safetensors", beside.sparse); !status.ok()) return status;
  }
  if (config->colbert_head) {
    if (auto status = open("colbert_linear.safetensors", beside.colbert); !status.ok()) return status;
  }
  return Checkpoint{*std::move(config), *std::move(weights), std::move(beside)};
}

}  // namespace trellis::engine
