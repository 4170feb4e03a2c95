// The part of cuBLASLt's C interface that a linear layer needs, declared here, so that building needs no
// header of NVIDIA's (they come with a library of 400 MB) and a program starts where there is no GPU. The
// values are those of versions 12 and 13; tests/serve/engine/cuda/cublaslt_header_check.cc compares them with
// NVIDIA's own header.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_API_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_API_H_

#include <cstddef>
#include <cstdint>

namespace trellis::engine::cuda::lt {

// Each is a pointer to what only the library knows.
using Handle = void*;
using Product = void*;  // cublasLtMatmulDesc_t
using Layout = void*;
using Preference = void*;
using Stream = void*;

struct Algorithm {
  uint64_t words[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;  // a status: whether the rest holds
  float waves;
  int reserved[4];
};

enum Status : int { kSuccess = 0, kNotInitialized = 1, kAllocFailed = 3, kExecutionFailed = 13 };
enum Operation : int { kAsIs = 0, kTransposed = 1 };
enum ComputeType : int { kCompute32F = 68 };
enum NumberType : int { k32F = 0, k16F = 2, k16BF = 14 };
enum ProductAttribute : int {
  kTransposeA = 3,
  kTransposeB = 4,
  kEpilogue = 7,
  kBiasPointer = 8,
  kBiasType = 26,
};
enum Epilogue : int { kEpilogueDefault = 1, kEpilogueBias = 4 };
enum PreferenceAttribute : int {
  kMaxWorkspaceBytes = 1,
  kReductionSchemes = 3,
  kMinAlignmentA = 5,
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};
// How the parts of a split k are put together: in the type that sums are made in, rounded once.
enum ReductionScheme : uint32_t { kReduceComputeType = 2 };

// The library's functions by their names without "cublasLt".
struct Api {
  size_t (*GetVersion)() = nullptr;
  int (*Create)(Handle*) = nullptr;
  int (*Destroy)(Handle) = nullptr;
  int (*MatmulDescCreate)(Product*, int compute, int scale) = nullptr;
  int (*MatmulDescDestroy)(Product) = nullptr;
  int (*MatmulDescSetAttribute)(Product, int attribute, const void* value, size_t bytes) = nullptr;
  int (*MatrixLayoutCreate)(Layout*, int type, uint64_t rows, uint64_t columns, int64_t stride) = nullptr;
  int (*MatrixLayoutDestroy)(Layout) = nullptr;
  int (*MatmulPreferenceCreate)(Preference*) = nullptr;
  int (*MatmulPreferenceDestroy)(Preference) = nullptr;
  int (*MatmulPreferenceSetAttribute)(Preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*MatmulAlgoGetHeuristic)(Handle, Product, Layout a, Layout b, Layout c, Layout d, Preference,
                                int wanted, Heuristic* results, int* found) = nullptr;
  int (*Matmul)(Handle, Product, const void* alpha, const void* a, Layout, const void* b, Layout,
                const void* beta, const void* c, Layout, void* d, Layout, const Algorithm*, void* workspace,
                size_t workspace_bytes, Stream) = nullptr;
};

}  // namespace trellis::engine::cuda::lt

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_API_H_
