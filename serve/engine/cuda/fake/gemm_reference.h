// A linear layer as cuBLASLt computes it, plainly, on the host.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_FAKE_GEMM_REFERENCE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_FAKE_GEMM_REFERENCE_H_

#include <string>

#include "serve/engine/cuda/gemm.h"

namespace trellis::engine::cuda {

// Empty, or which buffer is too short or not where vector loads need it.
std::string GemmBreach(const GemmCall& call);
void RunGemm(const GemmCall& call);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_FAKE_GEMM_REFERENCE_H_
