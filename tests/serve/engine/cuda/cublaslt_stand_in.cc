// A library with cuBLASLt's functions that computes on the processor, written from NVIDIA's documentation of
// them: matrices by columns, op(A) op(B) with the bias added to each row's values. What it is not told, or
// told wrongly, comes out wrong.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "serve/engine/cuda/cublaslt_api.h"
#include "serve/engine/cuda/emulation/half_rounding.h"

namespace lt = trellis::engine::cuda::lt;
namespace emulation = trellis::engine::cuda::emulation;

namespace {

struct Product {
  int compute, scale, transpose_a = 0, transpose_b = 0, epilogue = 1, bias_type = -1;
  const void* bias = nullptr;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t stride;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t schemes = 0x3ff, alignment = 256;
};
constexpr int kInvalidValue = 7;
constexpr size_t kWanted = size_t{1} << 20;  // of workspace
int live = 0, heuristics = 0;

float Read(const void* from, int type, uint64_t at) {
  const uint16_t bits = static_cast<const uint16_t*>(from)[at];
  return type == lt::k16F ? emulation::FloatOfF16(bits) : emulation::FloatOfBf16(bits);
}

void Write(void* to, int type, uint64_t at, float value) {
  static_cast<uint16_t*>(to)[at] =
      type == lt::k16F ? emulation::F16OfFloat(value) : emulation::Bf16OfFloat(value);
}

template <typename T>
int Make(void** out, T* made) {
  ++live;
  *out = made;
  return 0;
}

template <typename T>
int Destroy(void* made) {
  --live;
  delete static_cast<T*>(made);
  return 0;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130002; }
int cublasLtCreate(void** out) { return Make(out, new int); }
int cublasLtDestroy(void* handle) { return Destroy<int>(handle); }
int cublasLtMatmulDescCreate(void** out, int compute, int scale) {
  return Make(out, new Product{compute, scale});
}
int cublasLtMatmulDescDestroy(void* product) { return Destroy<Product>(product); }
int cublasLtMatrixLayoutCreate(void** out, int type, uint64_t rows, uint64_t columns, int64_t stride) {
  return Make(out, new Layout{type, rows, columns, stride});
}
int cublasLtMatrixLayoutDestroy(void* layout) { return Destroy<Layout>(layout); }
int cublasLtMatmulPreferenceCreate(void** out) { return Make(out, new Preference); }
int cublasLtMatmulPreferenceDestroy(void* preference) { return Destroy<Preference>(preference); }

int cublasLtMatmulDescSetAttribute(void* to, int attribute, const void* value, size_t bytes) {
  auto* const product = static_cast<Product*>(to);
  if (bytes != (attribute == lt::kBiasPointer ? sizeof(void*) : sizeof(int))) return kInvalidValue;
  switch (attribute) {
    case lt::kTransposeA:
      std::memcpy(&product->transpose_a, value, bytes);
      return 0;
    case lt::kTransposeB:
      std::memcpy(&product->transpose_b, value, bytes);
      return 0;
    case lt::kEpilogue:
      std::memcpy(&product->epilogue, value, bytes);
      return 0;
    case lt::kBiasPointer:
      std::memcpy(&product->bias, value, bytes);
      return 0;
    case lt::kBiasType:
      std::memcpy(&product->bias_type, value, bytes);
      return 0;
    default:
      return kInvalidValue;
  }
}

int cublasLtMatmulPreferenceSetAttribute(void* to, int attribute, const void* value, size_t bytes) {
  auto* const preference = static_cast<Preference*>(to);
  if (bytes != (attribute == lt::kMaxWorkspaceBytes ? sizeof(uint64_t) : sizeof(uint32_t)))
    return kInvalidValue;
  if (attribute == lt::kMaxWorkspaceBytes) std::memcpy(&preference->workspace, value, bytes);
  if (attribute == lt::kReductionSchemes) std::memcpy(&preference->schemes, value, bytes);
  if (attribute >= lt::kMinAlignmentA && attribute <= lt::kMinAlignmentD) {
    std::memcpy(&preference->alignment, value, bytes);
  }
  return 0;
}

// There is none for 13 columns, and none where there is too little workspace.
int cublasLtMatmulAlgoGetHeuristic(void*, void* of, void*, void* b, void*, void* d, void* by, int wanted,
                                   lt::Heuristic* results, int* found) {
  const auto* const product = static_cast<Product*>(of);
  const auto* const preference = static_cast<Preference*>(by);
  *found = 0;
  ++heuristics;
  if (wanted < 1 || product->compute != lt::kCompute32F || product->scale != lt::k32F || b == nullptr)
    return kInvalidValue;
  if (preference->workspace < kWanted || preference->schemes != lt::kReduceComputeType) return 0;
  if (static_cast<Layout*>(d)->columns == 13) return 0;
  *results = {};
  results->algorithm.words[0] = 0x5eed;
  results->workspace = kWanted;
  *found = 1;
  return 0;
}

int cublasLtMatmul(void*, void* of, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void*, void*, void* d, void* d_layout,
                   const lt::Algorithm* algorithm, void* workspace, size_t workspace_bytes, void*) {
  const auto* const product = static_cast<Product*>(of);
  const auto &la = *static_cast<Layout*>(a_layout), &lb = *static_cast<Layout*>(b_layout),
             &ld = *static_cast<Layout*>(d_layout);
  if (algorithm->words[0] != 0x5eed || workspace == nullptr || workspace_bytes < kWanted)
    return kInvalidValue;
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return kInvalidValue;
  const uint64_t inner = product->transpose_a != 0 ? la.rows : la.columns;
  if ((product->transpose_a != 0 ? la.columns : la.rows) != ld.rows) return kInvalidValue;
  if ((product->transpose_b != 0 ? lb.columns : lb.rows) != inner) return kInvalidValue;
  if ((product->transpose_b != 0 ? lb.rows : lb.columns) != ld.columns) return kInvalidValue;
  const auto at = [](const Layout& layout, bool transposed, uint64_t row, uint64_t column) {
    return transposed ? row * static_cast<uint64_t>(layout.stride) + column
                      : column * static_cast<uint64_t>(layout.stride) + row;
  };
  for (uint64_t row = 0; row < ld.rows; ++row) {
    for (uint64_t column = 0; column < ld.columns; ++column) {
      float sum = 0;
      for (uint64_t i = 0; i < inner; ++i) {
        sum += Read(a, la.type, at(la, product->transpose_a != 0, row, i)) *
               Read(b, lb.type, at(lb, product->transpose_b != 0, i, column));
      }
      if (product->epilogue == lt::kEpilogueBias) sum += Read(product->bias, product->bias_type, row);
      Write(d, ld.type, at(ld, false, row, column), sum);
    }
  }
  return 0;
}

// For the test.
int stand_in_live() { return live; }
int stand_in_heuristics() { return heuristics; }
}
