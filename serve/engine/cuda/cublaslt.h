// Linear layers by cuBLASLt, which is loaded when it is first wanted. The algorithm for a shape is chosen
// once, by the library's own rules, and then used for good: a batch's values do not depend on when it came,
// and a captured product is the same as one that is not.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_H_
#define TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/cublaslt_api.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/gemm.h"

namespace trellis::engine::cuda {

// On the device's thread.
class CublasLt {
 public:
  // `path` names the library; empty: the loader looks for libcublasLt.so.13, then .12. NotFound names what
  // was tried, and a function that is missing. Unavailable: it does not start, as without a GPU.
  static absl::StatusOr<std::unique_ptr<CublasLt>> Open(const std::string& path);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  bool IsPrepared(const GemmShape& shape) const { return plans_.contains(shape); }
  DeviceStatus Prepare(const GemmShape& shape);
  // Of a shape that is prepared.
  DeviceStatus Run(lt::Stream stream, const GemmCall& call);

  size_t version() const { return api_.GetVersion(); }

 private:
  struct Plan {
    lt::Product product = nullptr;
    lt::Layout weight = nullptr, input = nullptr, output = nullptr;
    lt::Heuristic chosen{};
  };

  CublasLt() = default;
  absl::Status Load(const std::string& path);
  int Describe(const GemmShape& shape, Plan& plan);
  int Choose(Plan& plan);
  void Destroy(Plan& plan);

  void* library_ = nullptr;
  lt::Api api_;
  lt::Handle handle_ = nullptr;
  std::map<GemmShape, Plan> plans_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_CUBLASLT_H_
