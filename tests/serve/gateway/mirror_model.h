// A model whose vectors show which id each token had and at which position it stood, so that a test can read
// both from an answer. All layers add nothing; embeddings are angles, (cos, -cos, sin, -sin) of the position
// and of the id, each of mean 0 and the same length, so that normalization only scales them.
#ifndef TRELLIS_TESTS_SERVE_GATEWAY_MIRROR_MODEL_H_
#define TRELLIS_TESTS_SERVE_GATEWAY_MIRROR_MODEL_H_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/serve/gateway/gateway_fixture.h"
#include "tests/serve/gateway/real_model.h"

namespace trellis::gateway {

class MirrorModel {
 public:
  enum class Weights { kMirror, kZero };  // zero: every vector is all 0

  MirrorModel(int32_t positions, const std::string& model_type = "xlm-roberta",
              Weights weights = Weights::kMirror)
      : real_(RealFolder::Kind::kEmbedder, positions, model_type) {
    const std::vector<float> ones(8, weights == Weights::kMirror ? 1.f : 0.f);
    Add("embeddings.word_embeddings.weight", {kRealVocabulary, 8}, Angles(kRealVocabulary, 4));
    Add("embeddings.position_embeddings.weight", {positions, 8}, Angles(positions, 0));
    Add("embeddings.token_type_embeddings.weight", {1, 8}, std::vector<float>(8));
    const std::string layer = "encoder.layer.0.";
    for (const std::string& norm : {std::string("embeddings.LayerNorm"), layer + "attention.output.LayerNorm",
                                    layer + "output.LayerNorm"}) {
      Add(norm + ".weight", {8}, ones);
      Add(norm + ".bias", {8}, std::vector<float>(8));
    }
    for (const char* part :
         {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
      AddZeroLinear(layer + part, 8, 8);
    AddZeroLinear(layer + "intermediate.dense", 16, 8);
    AddZeroLinear(layer + "output.dense", 8, 16);
    real_.folder().Write("model.safetensors", testing::Safetensors("{" + header_ + "}", bytes_));
  }
  std::string path() const { return real_.folder().path(); }

  struct Seen {
    std::vector<int32_t> ids, positions;
  };
  // What the engine saw of one row, from its vectors.
  Seen Read(const Json& json, const std::string& row) const {
    Seen seen;
    for (const auto token : json.At(row).get_array()) {
      std::vector<double> v;
      for (const auto value : token.get_array()) v.push_back(value.get_double().value());
      if (v.size() != 8) {
        ADD_FAILURE() << v.size() << " values of a token";
        return seen;
      }
      seen.positions.push_back(Place(v[0], v[2], real_.positions()));
      seen.ids.push_back(Place(v[4], v[6], kRealVocabulary));
    }
    return seen;
  }

 private:
  static int32_t Place(double cosine, double sine, int32_t of) {
    const double turn = std::atan2(sine, cosine) / (2 * std::numbers::pi);
    return static_cast<int32_t>(std::lround((turn < 0 ? turn + 1 : turn) * of)) % of;
  }
  static std::vector<float> Angles(int32_t rows, size_t at) {
    std::vector<float> table(static_cast<size_t>(rows) * 8);
    for (int32_t r = 0; r < rows; ++r) {
      const double angle = 2 * std::numbers::pi * r / rows;
      float* const row = &table[static_cast<size_t>(r) * 8 + at];
      row[0] = static_cast<float>(std::cos(angle));
      row[2] = static_cast<float>(std::sin(angle));
      row[1] = -row[0];
      row[3] = -row[2];
    }
    return table;
  }
  void Add(const std::string& name, const std::vector<int32_t>& shape, const std::vector<float>& values) {
    std::string sizes;
    for (const int32_t size : shape) absl::StrAppend(&sizes, sizes.empty() ? "" : ",", size);
    const size_t end = bytes_.size() + values.size() * sizeof(float);
    absl::StrAppend(&header_, header_.empty() ? "" : ",", "\"", name, R"(":{"dtype":"F32","shape":[)", sizes,
                    R"(],"data_offsets":[)", bytes_.size(), ",", end, "]}");
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  void AddZeroLinear(const std::string& name, int32_t out, int32_t in) {
    Add(name + ".weight", {out, in}, std::vector<float>(static_cast<size_t>(out) * static_cast<size_t>(in)));
    Add(name + ".bias", {out}, std::vector<float>(static_cast<size_t>(out)));
  }

  RealFolder real_;
  std::string header_, bytes_;
};

}  // namespace trellis::gateway

#endif  // TRELLIS_TESTS_SERVE_GATEWAY_MIRROR_MODEL_H_
