#include "serve/engine/cuda/kernels/attention_backends.h"

namespace trellis::engine::cuda {
namespace {

// Heads are a dimension of the grid.
constexpr int kMostHeads = 65535;

bool AnyRow(const AttentionShape& shape) {
  return shape.heads >= 1 && shape.heads <= kMostHeads && shape.max_row_tokens >= 1;
}

// mma.m16n8k16 and asynchronous copies came with 8.0.
bool MmaSupports(const AttentionShape& shape) {
  return AnyRow(shape) && shape.architecture >= 80 &&
         (shape.head_size == 32 || shape.head_size == 64 || shape.head_size == 128);
}

bool ReferenceSupports(const AttentionShape& shape) {
  return AnyRow(shape) && shape.head_size >= 1 && shape.head_size <= kReferenceHeadSize;
}

constexpr AttentionBackend kBackends[] = {
    {"mma", MmaSupports, LaunchMmaAttention},
    {"reference", ReferenceSupports, LaunchReferenceAttention},
};

}  // namespace

std::span<const AttentionBackend> AttentionBackends() { return kBackends; }

const AttentionBackend* ChooseAttention(const AttentionShape& shape, std::string_view name) {
  for (const AttentionBackend& backend : kBackends) {
    if ((name.empty() || backend.name == name) && backend.supports(shape)) return &backend;
  }
  return nullptr;
}

}  // namespace trellis::engine::cuda
