#include "serve/engine/cuda/cuda_heads.h"

#include <algorithm>
#include <utility>

namespace trellis::engine::cuda {
namespace {

bool Asks(const PackedBatch& batch, Task task) {
  return std::any_of(batch.rows.begin(), batch.rows.end(),
                     [task](const RowTask& row) { return row.task == task; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaHeads>> CudaHeads::Load(Device& device, const ModelConfig& config,
                                                           const Weights& weights, const HeadWeights& beside,
                                                           const CudaModelOptions& options,
                                                           WeightUpload& upload, DeviceMemory& memory) {
  auto uploaded = UploadHeads(config, weights, beside, upload);
  if (!uploaded.ok()) return uploaded.status();
  auto heads = std::unique_ptr<CudaHeads>(new CudaHeads(device, config, options.type, *std::move(uploaded)));
  if (auto status = heads->Allocate(options, memory); !status.ok()) return status;
  return heads;
}

absl::Status CudaHeads::Allocate(const CudaModelOptions& options, DeviceMemory& memory) {
  if (config_.head == Head::kNone) {
    layout_.embed_size = weights_.embed_size(config_.hidden);
    // There is one number of dimensions for both.
    if (layout_.embed_size == config_.hidden) layout_.token_size = config_.hidden;
  } else {
    layout_.labels = config_.labels;
  }
  layout_.token_weights = config_.sparse_head;
  const int64_t rows = options.max_batch_rows, tokens = TokenBucket(options.max_batch_tokens);
  layout_.Place(rows, tokens);
  int32_t widest = config_.hidden;
  for (const DenseOnGpu& dense : weights_.dense) widest = std::max(widest, dense.out);
  const std::pair<Buffer*, size_t> all[] = {
      {&pooled_, FloatBytes(rows, widest)},
      {&spare_, FloatBytes(rows, widest)},
      {&answers_, layout_.bytes},
      {&colbert_states_, FloatBytes(tokens, config_.colbert_head ? config_.hidden : 0) / 2}};
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

DeviceStatus CudaHeads::RunDense(const Step& step, const DenseOnGpu& dense, Buffer in, Buffer out) {
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
  const size_t bytes = FloatBytes(count, width);
  return device_.EnqueueCopy(step.stream, step.pinned.Part(at, bytes), answers_.Part(at, bytes));
}

DeviceStatus CudaHeads::Embed(const Step& step) {
  const auto rows = static_cast<int32_t>(step.batch.num_rows());
  const Buffer vectors = answers_.Part(layout_.vectors, FloatBytes(rows, layout_.embed_size));
  Buffer in = pooled_, out = spare_;
  for (const DenseOnGpu& dense : weights_.dense) {
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
  if (auto status = RunDense(step, weights_.classifier[0], pooled_, spare_); status != DeviceStatus::kOk)
    return status;
  const Buffer logits = answers_.Part(layout_.logits, FloatBytes(rows, layout_.labels));
  if (auto status = RunDense(step, weights_.classifier[1], spare_, logits); status != DeviceStatus::kOk)
    return status;
  return CopyOut(step, layout_.logits, rows, layout_.labels);
}

DeviceStatus CudaHeads::EmbedAll(const Step& step) {
  const int32_t tokens = step.staging.bucket().tokens, hidden = config_.hidden;
  Buffer states = step.encoder.states();
  if (config_.colbert_head) {
    const GemmCall call{{tokens, hidden, hidden, type_, GemmBias::kThere},
                        states,
                        weights_.colbert,
                        weights_.colbert_bias,
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
  const Buffer out = answers_.Part(layout_.token_vectors, FloatBytes(batch_tokens, hidden));
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
  const Buffer out = answers_.Part(layout_.weights, FloatBytes(tokens, 1));
  const TokenWeightsArgs args{type_,
                              tokens,
                              config_.hidden,
                              step.encoder.states().as<Bits16>(),
                              weights_.sparse.weight.as<float>(),
                              weights_.sparse.bias.as<float>(),
                              out.as<float>()};
  Launch launch{
      "token_weights", {step.encoder.states(), weights_.sparse.weight, weights_.sparse.bias}, {out}};
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

}  // namespace trellis::engine::cuda
