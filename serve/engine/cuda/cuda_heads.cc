#include "serve/engine/cuda/cuda_heads.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

// The first ids of the vocabularies that have a sparse head: <s>, <pad>, </s>, <unk> carry no meaning of
// their own.
constexpr int32_t kSpecialTokens = 4;

bool Asks(const PackedBatch& batch, Task task) {
  return std::any_of(batch.rows.begin(), batch.rows.end(),
                     [task](const RowTask& row) { return row.task == task; });
}

size_t Floats(int64_t count, int64_t width) { return static_cast<size_t>(count * width) * sizeof(float); }

std::span<const float> FloatsAt(std::span<const std::byte> pinned, size_t at, int64_t first, int64_t count) {
  return {reinterpret_cast<const float*>(pinned.data() + at) + first, static_cast<size_t>(count)};
}

// As the CPU engine has it: special tokens and what is not positive are left out, of equal ids the most
// counts, and what is no number is handed on.
RowAnswer SparseRow(std::span<const int32_t> ids, std::span<const float> weights) {
  std::map<int32_t, float> most;
  for (size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] < kSpecialTokens || weights[t] <= 0) continue;
    float& weight = most[ids[t]];
    if (!(weight >= weights[t])) weight = weights[t];
  }
  RowAnswer answer;
  for (const auto& [id, weight] : most) {
    answer.indices.push_back(id);
    answer.values.push_back(weight);
  }
  return answer;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaHeads>> CudaHeads::Load(Device& device, const ModelConfig& config,
                                                           const Weights& weights,
                                                           const cpu::HeadWeights& beside,
                                                           const CudaModelOptions& options,
                                                           WeightUpload& upload, DeviceMemory& memory) {
  auto heads = std::unique_ptr<CudaHeads>(new CudaHeads(device, config, options.type));
  if (auto status = heads->ReadAll(weights, beside, upload); !status.ok()) return status;
  if (auto status = heads->Allocate(options, memory); !status.ok()) return status;
  return heads;
}

absl::Status CudaHeads::ReadDense(const Weights& weights, const std::string& name, int32_t in, int32_t out,
                                  WeightUpload& upload, Dense& to) {
  const auto as = WeightUpload::As::kFloat;
  to.in = in;
  to.out = out;
  if (auto status = upload.Read(weights, {name + "weight"}, out, in, as, to.weight); !status.ok())
    return status;
  if (!weights.Has(name + "bias")) return absl::OkStatus();
  return upload.Read(weights, {name + "bias"}, out, 0, as, to.bias);
}

absl::Status CudaHeads::ReadAll(const Weights& weights, const cpu::HeadWeights& beside,
                                WeightUpload& upload) {
  if (beside.dense.size() != config_.dense.size() || beside.sparse.has_value() != config_.sparse_head ||
      beside.colbert.has_value() != config_.colbert_head) {
    return absl::InternalError("the weights of the heads are not those of the config");
  }
  const int32_t hidden = config_.hidden;
  int32_t size = hidden;
  for (size_t i = 0; i < beside.dense.size(); ++i) {
    const DenseLayer& layer = config_.dense[i];
    if (layer.in != size) {
      return absl::InvalidArgumentError(absl::StrCat(layer.folder, ": in_features: ", layer.in, ", expected ",
                                                     size, " as comes out before"));
    }
    Dense& dense = dense_.emplace_back();
    auto status = ReadDense(beside.dense[i], "linear.", layer.in, layer.out, upload, dense);
    if (!status.ok()) return status;
    if (layer.after == DenseLayer::After::kTanh) dense.after = DenseArgs::kTanh;
    size = layer.out;
  }
  if (beside.sparse.has_value()) {
    if (auto status = ReadDense(*beside.sparse, "", hidden, 1, upload, sparse_); !status.ok()) return status;
  }
  if (beside.colbert.has_value()) {
    const auto as = WeightUpload::As::kHalf;
    auto status = upload.Read(*beside.colbert, {"weight"}, hidden, hidden, as, colbert_);
    if (status.ok()) status = upload.Read(*beside.colbert, {"bias"}, hidden, 0, as, colbert_bias_);
    if (!status.ok()) return status;
  }
  if (config_.head == Head::kNone) {
    layout_.embed_size = size;
    if (size == hidden) layout_.token_size = hidden;  // there is one number of dimensions for both
    return absl::OkStatus();
  }
  const bool bert = config_.head == Head::kClassifyTanhPooler;
  const std::string pooler = bert ? config_.prefix + "pooler.dense." : "classifier.dense.";
  classifier_.resize(2);
  auto status = ReadDense(weights, pooler, hidden, hidden, upload, classifier_[0]);
  if (!status.ok()) return status;
  classifier_[0].after = DenseArgs::kTanh;
  layout_.labels = config_.labels;
  return ReadDense(weights, bert ? "classifier." : "classifier.out_proj.", hidden, config_.labels, upload,
                   classifier_[1]);
}

absl::Status CudaHeads::Allocate(const CudaModelOptions& options, DeviceMemory& memory) {
  const int64_t rows = options.max_batch_rows, tokens = TokenBucket(options.max_batch_tokens);
  size_t end = 0;
  const auto place = [&end](size_t& at, size_t bytes) {
    at = end;
    end = Aligned(end + bytes);
  };
  place(layout_.vectors, Floats(rows, layout_.embed_size));
  place(layout_.logits, Floats(rows, layout_.labels));
  place(layout_.weights, config_.sparse_head ? Floats(tokens, 1) : 0);
  place(layout_.token_vectors, Floats(tokens, layout_.token_size));
  layout_.bytes = end;
  int32_t widest = config_.hidden;
  for (const Dense& dense : dense_) widest = std::max(widest, dense.out);
  const std::pair<Buffer*, size_t> all[] = {
      {&pooled_, Floats(rows, widest)},
      {&spare_, Floats(rows, widest)},
      {&answers_, layout_.bytes},
      {&colbert_states_, Floats(tokens, config_.colbert_head ? config_.hidden : 0) / 2}};
  for (const auto& [buffer, bytes] : all) {
    if (bytes == 0) continue;
    if (auto status = memory.Allocate(bytes, "answers", *buffer); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void CudaHeads::Describe(EngineLimits& limits) const {
  const auto set = [&limits](Task task, bool has) { limits.tasks[static_cast<int>(task)] = has; };
  set(Task::kClassify, layout_.labels > 0);
  set(Task::kEmbed, layout_.embed_size > 0);
  set(Task::kEmbedAll, layout_.token_size > 0);
  set(Task::kSparse, layout_.labels == 0 && config_.sparse_head);
  limits.dimensions = layout_.embed_size;
  limits.labels = layout_.labels;
}

RowWork CudaHeads::DescribeRow(const RowTask& task) const {
  RowWork work;
  if (task.task == Task::kClassify) work.pool = RowWork::kCls;
  if (task.task == Task::kEmbed) {
    const Pooling pooling = task.pooling == Pooling::kModel ? config_.pooling : task.pooling;
    work.pool = pooling == Pooling::kCls    ? RowWork::kCls
                : pooling == Pooling::kLast ? RowWork::kLast
                                            : RowWork::kMean;
  }
  work.every_token = task.task == Task::kEmbedAll;
  work.scale_to_one = task.normalize == Normalize::kL2;
  work.dimensions = task.dimensions;
  return work;
}

DeviceStatus CudaHeads::Pool(const Step& step) {
  PoolArgs args;
  args.type = type_;
  args.rows = static_cast<int>(step.batch.num_rows());
  args.hidden = config_.hidden;
  const Buffer starts = step.staging.cu_seqlens(step.block), work = step.staging.rows(step.block);
  args.cu_seqlens = starts.as<int32_t>();
  args.work = work.as<RowWork>();
  args.states = step.encoder.states().as<Bits16>();
  args.out = pooled_.as<float>();
  Launch launch{"pool", {starts, work, step.encoder.states()}, {pooled_}};
  launch.grid.x = static_cast<uint32_t>(args.rows);
  launch.body = [args](Stream native) { LaunchPool(native, args); };
  return device_.EnqueueKernel(step.stream, launch);
}

DeviceStatus CudaHeads::RunDense(const Step& step, const Dense& dense, Buffer in, Buffer out) {
  const DenseArgs args{dense.after,
                       static_cast<int>(step.batch.num_rows()),
                       dense.in,
                       dense.out,
                       in.as<float>(),
                       dense.weight.as<float>(),
                       dense.bias.as<float>(),
                       out.as<float>()};
  Launch launch{"dense", {in, dense.weight}, {out}};
  if (dense.bias.data != nullptr) launch.reads.push_back(dense.bias);
  launch.grid.x = static_cast<uint32_t>(args.rows);
  launch.body = [args](Stream native) { LaunchDense(native, args); };
  return device_.EnqueueKernel(step.stream, launch);
}

DeviceStatus CudaHeads::CopyOut(const Step& step, size_t at, int32_t count, int32_t width) {
  const size_t bytes = Floats(count, width);
  return device_.EnqueueCopy(step.stream, step.pinned.Part(at, bytes), answers_.Part(at, bytes));
}

DeviceStatus CudaHeads::Embed(const Step& step) {
  const auto rows = static_cast<int32_t>(step.batch.num_rows());
  const Buffer vectors = answers_.Part(layout_.vectors, Floats(rows, layout_.embed_size));
  Buffer in = pooled_, out = spare_;
  for (const Dense& dense : dense_) {
    if (auto status = RunDense(step, dense, in, out); status != DeviceStatus::kOk) return status;
    std::swap(in, out);
  }
  if (auto status = device_.EnqueueCopy(step.stream, vectors, in.Part(0, vectors.size));
      status != DeviceStatus::kOk) {
    return status;
  }
  const Buffer work = step.staging.rows(step.block);
  const FinishRowsArgs args{rows, layout_.embed_size, config_.normalize == Normalize::kL2, work.as<RowWork>(),
                            vectors.as<float>()};
  Launch launch{"finish_rows", {work, vectors}, {vectors}};
  launch.grid.x = static_cast<uint32_t>(rows);
  launch.body = [args](Stream native) { LaunchFinishRows(native, args); };
  if (auto status = device_.EnqueueKernel(step.stream, launch); status != DeviceStatus::kOk) return status;
  return CopyOut(step, layout_.vectors, rows, layout_.embed_size);
}

DeviceStatus CudaHeads::Classify(const Step& step) {
  const auto rows = static_cast<int32_t>(step.batch.num_rows());
  if (auto status = RunDense(step, classifier_[0], pooled_, spare_); status != DeviceStatus::kOk)
    return status;
  const Buffer logits = answers_.Part(layout_.logits, Floats(rows, layout_.labels));
  if (auto status = RunDense(step, classifier_[1], spare_, logits); status != DeviceStatus::kOk)
    return status;
  return CopyOut(step, layout_.logits, rows, layout_.labels);
}

DeviceStatus CudaHeads::EmbedAll(const Step& step) {
  const int32_t tokens = step.staging.bucket().tokens, hidden = config_.hidden;
  Buffer states = step.encoder.states();
  if (config_.colbert_head) {
    const GemmCall call{{tokens, hidden, hidden, type_, GemmBias::kThere},
                        states,
                        colbert_,
                        colbert_bias_,
                        colbert_states_,
                        step.encoder.workspace()};
    if (auto status = device_.EnqueueGemm(step.stream, call); status != DeviceStatus::kOk) return status;
    states = colbert_states_;
  }
  TokenVectorsArgs args;
  args.type = type_;
  args.size = hidden;
  args.tiles = TilesOf(step.staging.bucket());
  const Buffer tiles = step.staging.tiles(step.block), starts = step.staging.cu_seqlens(step.block),
               work = step.staging.rows(step.block);
  const auto batch_tokens = static_cast<int32_t>(step.batch.num_tokens());
  const Buffer out = answers_.Part(layout_.token_vectors, Floats(batch_tokens, hidden));
  args.tile_map = tiles.as<QueryTile>();
  args.cu_seqlens = starts.as<int32_t>();
  args.work = work.as<RowWork>();
  args.states = states.as<Bits16>();
  args.out = out.as<float>();
  Launch launch{"token_vectors", {tiles, starts, work, states}, {out}};
  launch.grid.x = static_cast<uint32_t>(args.tiles);
  launch.body = [args](Stream native) { LaunchTokenVectors(native, args); };
  if (auto status = device_.EnqueueKernel(step.stream, launch); status != DeviceStatus::kOk) return status;
  return CopyOut(step, layout_.token_vectors, batch_tokens, hidden);
}

DeviceStatus CudaHeads::Sparse(const Step& step) {
  const auto tokens = static_cast<int32_t>(step.batch.num_tokens());
  const Buffer out = answers_.Part(layout_.weights, Floats(tokens, 1));
  const TokenWeightsArgs args{type_,
                              tokens,
                              config_.hidden,
                              step.encoder.states().as<Bits16>(),
                              sparse_.weight.as<float>(),
                              sparse_.bias.as<float>(),
                              out.as<float>()};
  Launch launch{"token_weights", {step.encoder.states(), sparse_.weight, sparse_.bias}, {out}};
  launch.grid.x = static_cast<uint32_t>(tokens);
  launch.body = [args](Stream native) { LaunchTokenWeights(native, args); };
  if (auto status = device_.EnqueueKernel(step.stream, launch); status != DeviceStatus::kOk) return status;
  return CopyOut(step, layout_.weights, tokens, 1);
}

DeviceStatus CudaHeads::Run(StreamId stream, const CudaEncoder& encoder, const StagingLayout& staging,
                            Buffer block, const PackedBatch& batch, Buffer pinned) {
  const Step step{stream, encoder, staging, block, batch, pinned};
  const bool embed = Asks(batch, Task::kEmbed), classify = Asks(batch, Task::kClassify);
  DeviceStatus status = DeviceStatus::kOk;
  const auto then = [&status](bool wanted, const auto& run) {
    if (wanted && status == DeviceStatus::kOk) status = run();
  };
  then(embed || classify, [&] { return Pool(step); });
  then(embed, [&] { return Embed(step); });
  then(classify, [&] { return Classify(step); });
  then(Asks(batch, Task::kEmbedAll), [&] { return EmbedAll(step); });
  then(Asks(batch, Task::kSparse), [&] { return Sparse(step); });
  return status;
}

std::vector<RowAnswer> CudaHeads::Read(const PackedBatch& batch, std::span<const std::byte> pinned) const {
  std::vector<RowAnswer> answers(batch.num_rows());
  for (size_t row = 0; row < answers.size(); ++row) {
    const RowTask& task = batch.rows[row];
    const auto index = static_cast<int64_t>(row);
    const int32_t begin = batch.cu_seqlens[row], tokens = batch.cu_seqlens[row + 1] - begin;
    std::vector<float>& values = answers[row].values;
    switch (task.task) {
      case Task::kEmbed: {
        const int32_t kept = task.dimensions > 0 ? task.dimensions : layout_.embed_size;
        const auto vector = FloatsAt(pinned, layout_.vectors, index * layout_.embed_size, kept);
        values.assign(vector.begin(), vector.end());
        break;
      }
      case Task::kClassify: {
        const auto logits = FloatsAt(pinned, layout_.logits, index * layout_.labels, layout_.labels);
        values.assign(logits.begin(), logits.end());
        break;
      }
      case Task::kEmbedAll: {
        const int32_t kept = task.dimensions > 0 ? task.dimensions : layout_.token_size;
        values.reserve(static_cast<size_t>(tokens) * static_cast<size_t>(kept));
        for (int64_t t = begin; t < begin + tokens; ++t) {
          const auto vector = FloatsAt(pinned, layout_.token_vectors, t * layout_.token_size, kept);
          values.insert(values.end(), vector.begin(), vector.end());
        }
        break;
      }
      case Task::kSparse:
        answers[row] = SparseRow(batch.ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(tokens)),
                                 FloatsAt(pinned, layout_.weights, begin, tokens));
        break;
    }
  }
  return answers;
}

}  // namespace trellis::engine::cuda
