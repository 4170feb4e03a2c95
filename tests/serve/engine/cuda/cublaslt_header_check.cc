// Whether cublaslt_api.h says what NVIDIA's header says: compiled, never run, where there is one
// (TRELLIS_CUBLASLT_INCLUDE).
#include <cublasLt.h>

#include <cstddef>

#include "serve/engine/cuda/cublaslt_api.h"

namespace trellis::engine::cuda::lt {
namespace {

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))
SAME(kSuccess, CUBLAS_STATUS_SUCCESS);
SAME(kNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(kAsIs, CUBLAS_OP_N);
SAME(kTransposed, CUBLAS_OP_T);
SAME(kCompute32F, CUBLAS_COMPUTE_32F);
SAME(k32F, CUDA_R_32F);
SAME(k16F, CUDA_R_16F);
SAME(k16BF, CUDA_R_16BF);
SAME(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(kBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME(kMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(kMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(kMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(kMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(kMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(kReduceComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
#undef SAME

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

// Never called: each of theirs takes what each of ours is given, pointers to opaque things apart.
[[maybe_unused]] void Calls(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                            cublasLtMatrixLayout_t layout, cublasLtMatmulPreference_t preference,
                            cudaStream_t stream) {
  void* const memory = nullptr;
  float number = 0;
  int found = 0;
  cublasLtMatmulHeuristicResult_t result;
  (void)cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  (void)cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, memory, size_t{4});
  (void)cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, uint64_t{1}, uint64_t{1}, int64_t{1});
  (void)cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, memory,
                                             size_t{8});
  (void)cublasLtMatmulAlgoGetHeuristic(handle, product, layout, layout, layout, layout, preference, 1,
                                       &result, &found);
  (void)cublasLtMatmul(handle, product, &number, memory, layout, memory, layout, &number, memory, layout,
                       memory, layout, &result.algo, memory, size_t{1}, stream);
}

}  // namespace
}  // namespace trellis::engine::cuda::lt
