#include "serve/engine/cpu/encoder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cpu/linear_reader.h"
#include "serve/engine/cpu/positions.h"

namespace trellis::engine::cpu {
namespace {

size_t Area(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

}  // namespace

Encoder::Encoder(const ModelConfig& config, Precision precision, Crew& crew, Embeddings embeddings)
    : config_(config),
      precision_(precision),
      crew_(&crew),
      kernels_(&RowKernelsOf(BestIsa())),
      attend_(AttendOf(BestIsa())),
      embeddings_(std::move(embeddings)),
      scratch_(static_cast<size_t>(crew.threads())),
      bf16_scratch_(static_cast<size_t>(crew.threads())) {
  // With bytes everywhere else, too: bf16 loses less than they do.
  const std::vector<Bf16AttendFn> all = AllBf16Attends();
  if (precision != Precision::kF32 && !all.empty()) bf16_attend_ = all.back();
}

absl::StatusOr<Encoder> Encoder::Create(const ModelConfig& config, const Weights& weights,
                                        Precision precision, Matmuls& matmuls, Crew& crew) {
  auto embeddings = Embeddings::Create(config, weights);
  if (!embeddings.ok()) return embeddings.status();
  Encoder encoder(config, precision, crew, *std::move(embeddings));
  for (int i = 0; i < config.layers; ++i) {
    const auto status =
        encoder.ReadLayer(weights, absl::StrCat(config.prefix, "encoder.layer.", i, "."), matmuls);
    if (!status.ok()) return status;
  }
  return encoder;
}

absl::Status Encoder::ReadLayer(const Weights& weights, const std::string& name, Matmuls& matmuls) {
  const int threads = crew_->threads(), hidden = config_.hidden;
  const auto linear = [&](const std::vector<std::string>& names, int in, int out, Output output,
                          std::optional<Activation> activation) {
    std::vector<std::string> full;
    for (const std::string& part : names) full.push_back(name + part);
    return ReadLinear(weights, full, Bias::kThere, {in, out, out, precision_, output, activation}, matmuls,
                      threads);
  };
  const std::string self = "attention.self.";
  // Bytes become numbers again after each product: their activations are rounded in a pass of its own.
  const Output wide = precision_ == Precision::kBf16 ? Output::kBf16 : Output::kF32;
  if (precision_ == Precision::kInt8) {
    heads_are_bf16_ = bf16_attend_ != nullptr &&
                      Linear::RoundsBytes({hidden, 3 * hidden, 3 * hidden, precision_, Output::kBf16, {}});
  } else {
    heads_are_bf16_ = precision_ == Precision::kBf16;
  }
  auto qkv = linear({self + "query.", self + "key.", self + "value."}, hidden, 3 * hidden,
                    heads_are_bf16_ ? Output::kBf16 : Output::kF32, {});
  if (!qkv.ok()) return qkv.status();
  auto attention_output = linear({"attention.output.dense."}, hidden, hidden, Output::kF32, {});
  if (!attention_output.ok()) return attention_output.status();
  auto up = linear({"intermediate.dense."}, hidden, config_.intermediate, wide, config_.activation);
  if (!up.ok()) return up.status();
  auto down = linear({"output.dense."}, config_.intermediate, hidden, Output::kF32, {});
  if (!down.ok()) return down.status();
  auto attention_norm = ReadLayerNorm(weights, name + "attention.output.LayerNorm", hidden);
  if (!attention_norm.ok()) return attention_norm.status();
  auto output_norm = ReadLayerNorm(weights, name + "output.LayerNorm", hidden);
  if (!output_norm.ok()) return output_norm.status();
  layers_.push_back({*std::move(qkv), *std::move(attention_output), *std::move(up), *std::move(down),
                     *std::move(attention_norm), *std::move(output_norm)});
  return absl::OkStatus();
}

void Encoder::Reserve(int tokens) {
  const int room = Linear::RowsRoom(tokens), hidden = config_.hidden;
  space_.hidden.Reserve(Area(room, hidden));
  space_.branch.Reserve(Area(room, hidden));
  if (!heads_are_bf16_) space_.heads.Reserve(Area(room, 3 * hidden));
  if (bf16_attend_ != nullptr) space_.bf16_heads.Reserve(Area(room, 3 * hidden));
  space_.mixed.Reserve(Area(room, hidden));
  space_.positions.resize(static_cast<size_t>(room));
  const size_t wide = Area(room, config_.intermediate);
  space_.wide.Reserve(wide * (precision_ == Precision::kBf16 ? sizeof(uint16_t) : sizeof(float)));
  if (precision_ == Precision::kBf16) {
    space_.input.values.Reserve(Area(room, hidden) * sizeof(uint16_t));
  } else if (precision_ == Precision::kInt8) {
    space_.input.values.Reserve(Area(room, hidden));
    space_.input.bytes.resize(static_cast<size_t>(room));
    space_.wide_input.values.Reserve(wide);
    space_.wide_input.bytes.resize(static_cast<size_t>(room));
  }
}

void Encoder::Lower(const float* row, int size, int token, Lowered& to) const {
  const size_t place = Area(token, size);
  if (precision_ == Precision::kBf16) {
    kernels_->to_bf16(row, size, reinterpret_cast<uint16_t*>(to.values.get()) + place);
  } else if (precision_ == Precision::kInt8) {
    to.bytes[static_cast<size_t>(token)] =
        kernels_->to_bytes(row, size, reinterpret_cast<uint8_t*>(to.values.get()) + place);
  }
}

template <typename After>
void Encoder::Apply(const Linear& linear, const void* exact, const Lowered& lowered, int tokens, void* out,
                    const After& after) {
  const void* const in = precision_ == Precision::kF32 ? exact : lowered.values.get();
  linear.Run(*crew_, in, lowered.bytes, tokens, out, after);
}

void Encoder::Embed(const Group& group) {
  for (int row = 0; row < group.num_rows(); ++row) {
    const auto begin = static_cast<size_t>(group.row_begin(row)),
               size = static_cast<size_t>(group.row_tokens(row));
    PositionsOf(group.ids.subspan(begin, size), config_, std::span(space_.positions).subspan(begin, size));
  }
  constexpr int kBlock = 16;
  const int tokens = group.num_tokens();
  const auto hidden = static_cast<size_t>(config_.hidden);
  crew_->For((tokens + kBlock - 1) / kBlock, [&](int block, int) {
    const auto from = static_cast<size_t>(block * kBlock);
    const auto count = static_cast<size_t>(std::min(kBlock, tokens - block * kBlock));
    const auto types = group.type_ids.empty() ? group.type_ids : group.type_ids.subspan(from, count);
    const std::span<float> out(space_.hidden.get() + from * hidden, count * hidden);
    embeddings_.Run(group.ids.subspan(from, count), types, std::span(space_.positions).subspan(from, count),
                    out);
    for (size_t t = 0; t < count; ++t) {
      Lower(out.data() + t * hidden, config_.hidden, static_cast<int>(from + t), space_.input);
    }
  });
}

template <typename Head, typename Number>
Head Encoder::HeadOf(const Group& group, int row, int head, const Number* heads) const {
  const auto hidden = static_cast<size_t>(config_.hidden);
  const int dim = config_.hidden / config_.heads;
  const Number* const queries =
      heads + static_cast<size_t>(group.row_begin(row)) * 3 * hidden + Area(head, dim);
  return {queries, queries + hidden, queries + 2 * hidden, 3 * hidden, group.row_tokens(row), dim};
}

void Encoder::Attend(const Group& group) {
  const int heads = config_.heads, hidden = config_.hidden;
  // In bf16 the vectors come as the next product reads them.
  const bool lowers = precision_ == Precision::kBf16;
  auto* const lowered = reinterpret_cast<uint16_t*>(space_.input.values.get());
  crew_->For(group.num_rows() * heads, [&](int task, int thread) {
    const int row = task / heads, head = task % heads;
    const size_t place = Area(group.row_begin(row), hidden) + Area(head, hidden / heads);
    const auto stride = static_cast<size_t>(hidden);
    if (bf16_attend_ != nullptr) {
      const Bf16HeadOut out{space_.mixed.get() + place, lowers ? lowered + place : nullptr, stride};
      bf16_attend_(HeadOf<Bf16HeadOfRow>(group, row, head, space_.bf16_heads.get()),
                   bf16_scratch_[static_cast<size_t>(thread)], out);
    } else {
      attend_(HeadOf<HeadOfRow>(group, row, head, space_.heads.get()), scratch_[static_cast<size_t>(thread)],
              space_.mixed.get() + place, stride);
    }
  });
  if (precision_ == Precision::kF32 || lowers) return;
  constexpr int kBlock = 16;
  const int tokens = group.num_tokens();
  crew_->For((tokens + kBlock - 1) / kBlock, [&](int block, int) {
    for (int token = block * kBlock; token < std::min((block + 1) * kBlock, tokens); ++token) {
      Lower(space_.mixed.get() + Area(token, hidden), hidden, token, space_.input);
    }
  });
}

void Encoder::AddAndNormalize(int token, const LayerNormWeights& norm) {
  const size_t place = Area(token, config_.hidden);
  float* const row = space_.hidden.get() + place;
  kernels_->layer_norm(row, space_.branch.get() + place, norm.gamma.data(), norm.beta.data(),
                       static_cast<float>(config_.layer_norm_eps), config_.hidden);
  Lower(row, config_.hidden, token, space_.input);
}

std::span<const float> Encoder::Run(const Group& group) {
  const int tokens = group.num_tokens(), hidden = config_.hidden, intermediate = config_.intermediate;
  Reserve(tokens);
  Embed(group);
  float* const heads = space_.heads.get();
  uint16_t* const bf16_heads = space_.bf16_heads.get();
  float* const branch = space_.branch.get();
  for (const Layer& layer : layers_) {
    Apply(layer.queries_keys_values, space_.hidden.get(), space_.input, tokens,
          heads_are_bf16_ ? static_cast<void*>(bf16_heads) : heads, [&](int token) {
            if (heads_are_bf16_ || bf16_attend_ == nullptr) return;
            const size_t place = Area(token, 3 * hidden);
            kernels_->to_bf16(heads + place, 3 * hidden, bf16_heads + place);
          });
    Attend(group);
    Apply(layer.attention_output, space_.mixed.get(), space_.input, tokens, branch,
          [&](int token) { AddAndNormalize(token, layer.attention_norm); });
    Apply(layer.up, space_.hidden.get(), space_.input, tokens, space_.wide.get(), [&](int token) {
      if (precision_ != Precision::kInt8) return;
      const auto* const wide = reinterpret_cast<const float*>(space_.wide.get());
      Lower(wide + Area(token, intermediate), intermediate, token, space_.wide_input);
    });
    // In bf16 the products have rounded it already.
    const void* const wide =
        precision_ == Precision::kInt8 ? space_.wide_input.values.get() : space_.wide.get();
    layer.down.Run(*crew_, wide, space_.wide_input.bytes, tokens, branch,
                   [&](int token) { AddAndNormalize(token, layer.output_norm); });
  }
  return {space_.hidden.get(), Area(tokens, hidden)};
}

}  // namespace trellis::engine::cpu
