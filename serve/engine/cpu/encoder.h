// The layers of a model over rows of tokens end to end: attention within each row, everything else for all
// tokens alike.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ENCODER_H_
#define TRELLIS_SERVE_ENGINE_CPU_ENCODER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/aligned.h"
#include "serve/engine/cpu/attention.h"
#include "serve/engine/cpu/attention_bf16.h"
#include "serve/engine/cpu/crew.h"
#include "serve/engine/cpu/embeddings.h"
#include "serve/engine/cpu/linear.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/model_config.h"
#include "serve/engine/weights.h"

namespace trellis::engine::cpu {

// Whole rows of a batch, worked on together.
struct Group {
  std::span<const int32_t> ids;
  std::span<const int32_t> type_ids;    // or empty: all 0
  std::span<const int32_t> cu_seqlens;  // [rows + 1], the first need not be 0

  int num_rows() const { return static_cast<int>(cu_seqlens.size()) - 1; }
  int num_tokens() const { return static_cast<int>(ids.size()); }
  int row_begin(int row) const { return cu_seqlens[static_cast<size_t>(row)] - cu_seqlens[0]; }
  int row_tokens(int row) const { return row_begin(row + 1) - row_begin(row); }
};

class Encoder {
 public:
  // `weights`, `matmuls` and `crew` outlive this. What is missing or odd is named.
  static absl::StatusOr<Encoder> Create(const ModelConfig& config, const Weights& weights,
                                        Precision precision, Matmuls& matmuls, Crew& crew);

  // The last hidden states, [tokens, hidden]; valid until the next Run.
  std::span<const float> Run(const Group& group);

 private:
  struct Layer {
    Linear queries_keys_values, attention_output, up, down;
    LayerNormWeights attention_norm, output_norm;
  };
  // Rows as the products read them. For kF32 that is what is there already, and nothing is kept here.
  struct Lowered {
    Aligned<std::byte> values;
    std::vector<ByteRow> bytes;
  };
  struct Space {  // for one group; it grows to the longest
    Aligned<float> hidden, branch, heads, mixed;
    Aligned<uint16_t> bf16_heads;  // in place of heads, or made of them
    Aligned<std::byte> wide;       // between up and down
    Lowered input, wide_input;
    std::vector<int32_t> positions;
  };

  Encoder(const ModelConfig& config, Precision precision, Crew& crew, Embeddings embeddings);
  absl::Status ReadLayer(const Weights& weights, const std::string& name, Matmuls& matmuls);
  void Reserve(int tokens);
  void Embed(const Group& group);
  void Attend(const Group& group);
  // One head of one row: `Head` and `Number` are those of one of the two kinds of attention.
  template <typename Head, typename Number>
  Head HeadOf(const Group& group, int row, int head, const Number* heads) const;
  void Lower(const float* row, int size, int token, Lowered& to) const;
  // hidden = norm(hidden + branch), and lowered.
  void AddAndNormalize(int token, const LayerNormWeights& norm);
  // after(token) as in Linear::Run.
  template <typename After>
  void Apply(const Linear& linear, const void* exact, const Lowered& lowered, int tokens, void* out,
             const After& after);

  ModelConfig config_;
  Precision precision_;
  Crew* crew_;
  const RowKernels* kernels_;
  AttendFn attend_;
  Bf16AttendFn bf16_attend_ = nullptr;  // null: attend_
  Embeddings embeddings_;
  std::vector<Layer> layers_;
  bool heads_are_bf16_ = false;  // as the products make them
  Space space_;
  std::vector<AttentionScratch> scratch_;           // by thread
  std::vector<Bf16AttentionScratch> bf16_scratch_;  // by thread
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ENCODER_H_
