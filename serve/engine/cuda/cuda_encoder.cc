#include "serve/engine/cuda/cuda_encoder.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/kernels/kernels.h"

namespace trellis::engine::cuda {
namespace {

Curve CurveOf(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return Curve::kGelu;
    case Activation::kGeluTanh:
      return Curve::kGeluTanh;
    case Activation::kRelu:
      return Curve::kRelu;
  }
  return Curve::kGelu;
}

uint32_t Blocks(size_t count) { return static_cast<uint32_t>((count + 255) / 256); }

}  // namespace

absl::StatusOr<std::unique_ptr<CudaEncoder>> CudaEncoder::Load(Device& device, const ModelConfig& config,
                                                               const Weights& weights,
                                                               const CudaModelOptions& options,
                                                               WeightUpload& upload, DeviceMemory& memory) {
  const int most = config.hidden % 8 == 0 ? kMostHidden : kMostOddHidden;
  if (config.hidden > most) {
    return absl::UnimplementedError(
        absl::StrCat(config.name, ": hidden_size: ", config.hidden, ", expected at most ", most));
  }
  const int head_size = config.hidden / config.heads;
  const AttentionBackend* const attention =
      ChooseAttention({options.type, config.heads, head_size, config.max_row_tokens, device.architecture()},
                      options.attention);
  if (attention == nullptr) {
    std::string names;
    for (const AttentionBackend& known : AttentionBackends()) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(known.name));
    }
    return absl::UnimplementedError(absl::StrCat(config.name, ": attention: \"", options.attention,
                                                 "\" cannot do ", config.heads, " heads of ", head_size,
                                                 ", expected one that can of: ", names));
  }
  auto encoder = std::unique_ptr<CudaEncoder>(new CudaEncoder(device, config, options.type, *attention));
  if (auto status = encoder->ReadEmbeddings(weights, upload); !status.ok()) return status;
  for (int i = 0; i < config.layers; ++i) {
    auto status = encoder->ReadLayer(weights, absl::StrCat(config.prefix, "encoder.layer.", i, "."), upload);
    if (!status.ok()) return status;
  }
  if (auto status = encoder->AllocateArena(TokenBucket(options.max_batch_tokens), memory); !status.ok()) {
    return status;
  }
  return encoder;
}

absl::Status CudaEncoder::ReadEmbeddings(const Weights& weights, WeightUpload& upload) {
  const std::string name = config_.prefix + "embeddings.";
  const auto table = [&](const char* of, int32_t rows, Buffer& to) {
    return upload.Read(weights, {name + of + "_embeddings.weight"}, rows, config_.hidden,
                       WeightUpload::As::kHalf, to);
  };
  if (auto status = table("word", config_.vocab_size, words_); !status.ok()) return status;
  if (auto status = table("position", config_.max_positions, positions_); !status.ok()) return status;
  if (auto status = table("token_type", config_.type_vocab_size, types_); !status.ok()) return status;
  return ReadNorm(weights, name + "LayerNorm", upload, embed_norm_);
}

absl::Status CudaEncoder::ReadNorm(const Weights& weights, const std::string& name, WeightUpload& upload,
                                   Norm& norm) {
  const auto as = WeightUpload::As::kFloat;
  if (auto status = upload.Read(weights, {name + ".weight"}, config_.hidden, 0, as, norm.gamma);
      !status.ok()) {
    return status;
  }
  return upload.Read(weights, {name + ".bias"}, config_.hidden, 0, as, norm.beta);
}

absl::Status CudaEncoder::ReadLayer(const Weights& weights, const std::string& name, WeightUpload& upload) {
  Layer layer;
  const auto linear = [&](const std::vector<std::string>& parts, int32_t in, int32_t out, Buffer& weight,
                          Buffer& bias) {
    std::vector<std::string> names, biases;
    for (const std::string& part : parts) {
      names.push_back(name + part + ".weight");
      biases.push_back(name + part + ".bias");
    }
    auto status = upload.Read(weights, names, out, in, WeightUpload::As::kHalf, weight);
    if (status.ok()) status = upload.Read(weights, biases, out, 0, WeightUpload::As::kHalf, bias);
    return status;
  };
  const int32_t hidden = config_.hidden, wide = config_.intermediate;
  const std::string self = "attention.self.";
  // Query, key and value are one product: their weights lie end to end.
  auto status =
      linear({self + "query", self + "key", self + "value"}, hidden, hidden, layer.qkv, layer.qkv_bias);
  if (status.ok()) status = linear({"attention.output.dense"}, hidden, hidden, layer.mix, layer.mix_bias);
  if (status.ok()) status = linear({"intermediate.dense"}, hidden, wide, layer.up, layer.up_bias);
  if (status.ok()) status = linear({"output.dense"}, wide, hidden, layer.down, layer.down_bias);
  if (status.ok()) status = ReadNorm(weights, name + "attention.output.LayerNorm", upload, layer.mix_norm);
  if (status.ok()) status = ReadNorm(weights, name + "output.LayerNorm", upload, layer.down_norm);
  layers_.push_back(layer);
  return status;
}

absl::Status CudaEncoder::AllocateArena(int32_t tokens, DeviceMemory& memory) {
  const auto halves = [tokens](int32_t width) {
    return static_cast<size_t>(tokens) * static_cast<size_t>(width) * sizeof(Bits16);
  };
  const std::pair<Buffer*, size_t> all[] = {
      {&states_, halves(config_.hidden)},     {&branch_, halves(config_.hidden)},
      {&qkv_, halves(3 * config_.hidden)},    {&mixed_, halves(config_.hidden)},
      {&wide_, halves(config_.intermediate)}, {&workspace_, kGemmWorkspaceBytes}};
  for (const auto& [buffer, bytes] : all) {
    if (auto status = memory.Allocate(bytes, "the arena", *buffer); !status.ok()) return status;
  }
  return absl::OkStatus();
}

Buffer CudaEncoder::Of(Buffer all, int32_t tokens, int32_t width) const {
  return all.Part(0, static_cast<size_t>(tokens) * static_cast<size_t>(width) * sizeof(Bits16));
}

DeviceStatus CudaEncoder::Embed(StreamId stream, const StagingLayout& layout, Buffer block) {
  EmbedArgs args;
  args.type = type_;
  args.tokens = layout.bucket().tokens;
  args.hidden = config_.hidden;
  args.ids = layout.ids(block).as<int32_t>();
  args.position_ids = layout.positions(block).as<int32_t>();
  args.type_ids = layout.types(block).as<int32_t>();
  args.words = words_.as<Bits16>();
  args.positions = positions_.as<Bits16>();
  args.types = types_.as<Bits16>();
  args.gamma = embed_norm_.gamma.as<float>();
  args.beta = embed_norm_.beta.as<float>();
  args.epsilon = static_cast<float>(config_.layer_norm_eps);
  args.out = states_.as<Bits16>();
  Launch launch{"embed",
                {layout.ids(block), layout.positions(block), layout.types(block), words_, positions_, types_,
                 embed_norm_.gamma, embed_norm_.beta},
                {Of(states_, args.tokens, config_.hidden)}};
  launch.grid.x = static_cast<uint32_t>(args.tokens);
  launch.body = [args](Stream native) { LaunchEmbed(native, args); };
  return device_.EnqueueKernel(stream, launch);
}

DeviceStatus CudaEncoder::Product(StreamId stream, int32_t tokens, Buffer in, int32_t k, Buffer weight,
                                  Buffer bias, int32_t n, Buffer out) {
  return device_.EnqueueGemm(stream, {{tokens, n, k, type_, GemmBias::kThere},
                                      Of(in, tokens, k),
                                      weight,
                                      bias,
                                      Of(out, tokens, n),
                                      workspace_});
}

DeviceStatus CudaEncoder::Attend(StreamId stream, const StagingLayout& layout, Buffer block) {
  AttentionArgs args;
  args.type = type_;
  args.heads = config_.heads;
  args.head_size = config_.hidden / config_.heads;
  args.tiles = TilesOf(layout.bucket());
  args.tile_map = layout.tiles(block).as<QueryTile>();
  args.cu_seqlens = layout.cu_seqlens(block).as<int32_t>();
  args.scale = 1.0f / std::sqrt(static_cast<float>(args.head_size));
  args.qkv = qkv_.as<Bits16>();
  args.out = mixed_.as<Bits16>();
  const int32_t tokens = layout.bucket().tokens;
  Launch launch{"attention",
                {layout.tiles(block), layout.cu_seqlens(block), Of(qkv_, tokens, 3 * config_.hidden)},
                {Of(mixed_, tokens, config_.hidden)}};
  launch.grid = {static_cast<uint32_t>(args.tiles), static_cast<uint32_t>(args.heads), 1};
  launch.body = [args, run = attention_.launch](Stream native) { run(native, args); };
  return device_.EnqueueKernel(stream, launch);
}

DeviceStatus CudaEncoder::AddNorm(StreamId stream, int32_t tokens, const Norm& norm) {
  const AddNormArgs args{type_,
                         tokens,
                         config_.hidden,
                         branch_.as<Bits16>(),
                         norm.gamma.as<float>(),
                         norm.beta.as<float>(),
                         static_cast<float>(config_.layer_norm_eps),
                         states_.as<Bits16>()};
  const Buffer states = Of(states_, tokens, config_.hidden);
  Launch launch{"add_norm", {Of(branch_, tokens, config_.hidden), norm.gamma, norm.beta, states}, {states}};
  launch.grid.x = static_cast<uint32_t>(tokens);
  launch.body = [args](Stream native) { LaunchAddNorm(native, args); };
  return device_.EnqueueKernel(stream, launch);
}

DeviceStatus CudaEncoder::Activate(StreamId stream, int32_t tokens) {
  const Buffer wide = Of(wide_, tokens, config_.intermediate);
  const ActivateArgs args{type_, CurveOf(config_.activation), wide.size / sizeof(Bits16), wide.as<Bits16>()};
  Launch launch{"activate", {wide}, {wide}};
  launch.grid.x = Blocks(args.count);
  launch.body = [args](Stream native) { LaunchActivate(native, args); };
  return device_.EnqueueKernel(stream, launch);
}

DeviceStatus CudaEncoder::Run(StreamId stream, const StagingLayout& layout, Buffer block) {
  const int32_t tokens = layout.bucket().tokens, hidden = config_.hidden, wide = config_.intermediate;
  DeviceStatus status = Embed(stream, layout, block);
  const auto then = [&status](const auto& step) {
    if (status == DeviceStatus::kOk) status = step();
  };
  for (const Layer& layer : layers_) {
    then([&] {
      return Product(stream, tokens, states_, hidden, layer.qkv, layer.qkv_bias, 3 * hidden, qkv_);
    });
    then([&] { return Attend(stream, layout, block); });
    then([&] { return Product(stream, tokens, mixed_, hidden, layer.mix, layer.mix_bias, hidden, branch_); });
    then([&] { return AddNorm(stream, tokens, layer.mix_norm); });
    then([&] { return Product(stream, tokens, states_, hidden, layer.up, layer.up_bias, wide, wide_); });
    then([&] { return Activate(stream, tokens); });
    then([&] { return Product(stream, tokens, wide_, wide, layer.down, layer.down_bias, hidden, branch_); });
    then([&] { return AddNorm(stream, tokens, layer.down_norm); });
  }
  return status;
}

}  // namespace trellis::engine::cuda
