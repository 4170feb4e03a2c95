#include "serve/engine/cuda/head_upload.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

using As = WeightUpload::As;
enum class Bias : uint8_t { kThere, kPerhaps };

absl::Status ReadDense(const Weights& weights, const std::string& name, Bias bias, int32_t in, int32_t out,
                       WeightUpload& upload, DenseOnGpu& to) {
  to.in = in;
  to.out = out;
  auto status = upload.Read(weights, {name + "weight"}, out, in, As::kFloat, to.weight);
  if (!status.ok() || (bias == Bias::kPerhaps && !weights.Has(name + "bias"))) return status;
  return upload.Read(weights, {name + "bias"}, out, 0, As::kFloat, to.bias);
}

absl::Status ReadDenseLayers(const ModelConfig& config, const HeadWeights& beside, WeightUpload& upload,
                             std::vector<DenseOnGpu>& to) {
  int32_t size = config.hidden;
  for (size_t i = 0; i < beside.dense.size(); ++i) {
    const DenseLayer& layer = config.dense[i];
    if (layer.in != size) {
      return absl::InvalidArgumentError(absl::StrCat(layer.folder, ": in_features: ", layer.in, ", expected ",
                                                     size, " as comes out before"));
    }
    DenseOnGpu& dense = to.emplace_back();
    auto status = ReadDense(beside.dense[i], "linear.", Bias::kPerhaps, layer.in, layer.out, upload, dense);
    if (!status.ok()) return status;
    if (layer.after == DenseLayer::After::kTanh) dense.after = DenseArgs::kTanh;
    size = layer.out;
  }
  return absl::OkStatus();
}

absl::Status ReadClassifier(const ModelConfig& config, const Weights& weights, WeightUpload& upload,
                            std::vector<DenseOnGpu>& to) {
  const bool bert = config.head == Head::kClassifyTanhPooler;
  const std::string pooler = bert ? config.prefix + "pooler.dense." : "classifier.dense.";
  to.resize(2);
  auto status = ReadDense(weights, pooler, Bias::kThere, config.hidden, config.hidden, upload, to[0]);
  if (!status.ok()) return status;
  to[0].after = DenseArgs::kTanh;
  return ReadDense(weights, bert ? "classifier." : "classifier.out_proj.", Bias::kThere, config.hidden,
                   config.labels, upload, to[1]);
}

}  // namespace

absl::StatusOr<HeadsOnGpu> UploadHeads(const ModelConfig& config, const Weights& weights,
                                       const HeadWeights& beside, WeightUpload& upload) {
  if (beside.dense.size() != config.dense.size() || beside.sparse.has_value() != config.sparse_head ||
      beside.colbert.has_value() != config.colbert_head) {
    return absl::InternalError("the weights of the heads are not those of the config");
  }
  const int32_t hidden = config.hidden;
  HeadsOnGpu heads;
  auto status = ReadDenseLayers(config, beside, upload, heads.dense);
  if (status.ok() && beside.sparse.has_value()) {
    status = ReadDense(*beside.sparse, "", Bias::kThere, hidden, 1, upload, heads.sparse);
  }
  if (status.ok() && beside.colbert.has_value()) {
    status = upload.Read(*beside.colbert, {"weight"}, hidden, hidden, As::kHalf, heads.colbert);
    if (status.ok())
      status = upload.Read(*beside.colbert, {"bias"}, hidden, 0, As::kHalf, heads.colbert_bias);
  }
  if (status.ok() && config.head != Head::kNone) {
    status = ReadClassifier(config, weights, upload, heads.classifier);
  }
  if (!status.ok()) return status;
  return heads;
}

}  // namespace trellis::engine::cuda
