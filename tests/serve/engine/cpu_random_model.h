// A bert with random weights in a folder of its own, wide enough that the products work in several blocks:
// what the committed tiny models are too small for. What its right values are is not known; that they do not
// depend on things they must not depend on can be seen all the same.
#ifndef TRELLIS_TESTS_SERVE_ENGINE_CPU_RANDOM_MODEL_H_
#define TRELLIS_TESTS_SERVE_ENGINE_CPU_RANDOM_MODEL_H_

#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/serve/model_files.h"

namespace trellis::engine {

class RandomModel {
 public:
  static constexpr int kHidden = 192, kLayers = 2, kHeads = 4, kIntermediate = 448, kVocab = 300,
                       kPositions = 600;

  RandomModel() {
    std::ofstream(folder() + "/config.json")
        << R"({"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": )"
        << kHidden << R"(, "num_hidden_layers": )" << kLayers << R"(, "num_attention_heads": )" << kHeads
        << R"(, "intermediate_size": )" << kIntermediate << R"(, "vocab_size": )" << kVocab
        << R"(, "max_position_embeddings": )" << kPositions
        << R"(, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0})";
    Add("embeddings.word_embeddings.weight", {kVocab, kHidden});
    Add("embeddings.position_embeddings.weight", {kPositions, kHidden});
    Add("embeddings.token_type_embeddings.weight", {2, kHidden});
    AddNorm("embeddings.LayerNorm");
    for (int i = 0; i < kLayers; ++i) {
      const std::string layer = absl::StrCat("encoder.layer.", i, ".");
      for (const char* part : {"query", "key", "value"})
        AddLinear(layer + "attention.self." + part, kHidden, kHidden);
      AddLinear(layer + "attention.output.dense", kHidden, kHidden);
      AddNorm(layer + "attention.output.LayerNorm");
      AddLinear(layer + "intermediate.dense", kHidden, kIntermediate);
      AddLinear(layer + "output.dense", kIntermediate, kHidden);
      AddNorm(layer + "output.LayerNorm");
    }
  }

  const std::string& folder() const { return folder_.path(); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Tensor& tensor : tensors_) names.push_back(tensor.name);
    return names;
  }
  // To write again without a tensor, or with another value in place of its first.
  void Remove(const std::string& name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
  }
  void SetFirst(const std::string& name, float value) {
    for (Tensor& tensor : tensors_) {
      if (tensor.name == name) tensor.values.front() = value;
    }
  }
  const std::string& Write() const {
    std::vector<std::string> entries;
    size_t at = 0;
    for (const Tensor& tensor : tensors_) {
      const size_t end = at + tensor.values.size() * sizeof(float);
      entries.push_back(absl::StrCat("\"", tensor.name, "\":{\"dtype\":\"F32\",\"shape\":[",
                                     absl::StrJoin(tensor.shape, ","), "],\"data_offsets\":[", at, ",", end,
                                     "]}"));
      at = end;
    }
    std::string header = absl::StrCat("{", absl::StrJoin(entries, ","), "}");
    header.resize((header.size() + 7) / 8 * 8, ' ');
    std::ofstream file(folder() + "/model.safetensors", std::ios::binary);
    const uint64_t size = header.size();
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file << header;
    for (const Tensor& tensor : tensors_) {
      file.write(reinterpret_cast<const char*>(tensor.values.data()),
                 static_cast<std::streamsize>(tensor.values.size() * sizeof(float)));
    }
    return folder();
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<int> shape;
    std::vector<float> values;
  };

  void Add(const std::string& name, const std::vector<int>& shape, float mean = 0, float spread = 0.3f) {
    size_t size = 1;
    for (const int extent : shape) size *= static_cast<size_t>(extent);
    Tensor tensor{name, shape, std::vector<float>(size)};
    // Not std::normal_distribution, which differs between libraries.
    for (float& value : tensor.values) {
      value = mean + spread * (static_cast<float>(random_() % 20001) / 10000.0f - 1.0f);
    }
    tensors_.push_back(std::move(tensor));
  }
  void AddNorm(const std::string& name) {
    Add(name + ".weight", {kHidden}, 1);
    Add(name + ".bias", {kHidden});
  }
  void AddLinear(const std::string& name, int in, int out) {
    Add(name + ".weight", {out, in});
    Add(name + ".bias", {out});
  }

  const trellis::testing::TemporaryFolder folder_;
  std::mt19937 random_{7};
  std::vector<Tensor> tensors_;
};

}  // namespace trellis::engine

#endif  // TRELLIS_TESTS_SERVE_ENGINE_CPU_RANDOM_MODEL_H_
