// Which model, on which GPU, how exactly, and what is tried before it is served; and how to say so on a
// command line.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUDA_OPTIONS_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUDA_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/bucket.h"
#include "serve/engine/cuda/half_type.h"

namespace trellis::engine::cuda {

struct CudaEngineOptions {
  std::string folder;
  int device = 0;  // as CUDA counts them
  HalfType type = HalfType::kBf16;
  int32_t max_batch_tokens = 16384;
  std::string attention;        // a backend's name; empty: the fastest that can
  std::vector<Bucket> warm_up;  // batches, by rows and tokens, to be run before the first request; none:
                                // DefaultWarmUp()
};

// "FOLDER[,device=N][,dtype=auto|bf16|fp16][,max_batch_tokens=N][,attention=NAME][,warm_up=ROWSxTOKENS[+...]]".
// A folder with a comma in its name cannot be said this way. InvalidArgument names key, value and what was
// expected.
absl::StatusOr<CudaEngineOptions> ParseCudaEngineOptions(std::string_view spec);

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUDA_OPTIONS_H_
