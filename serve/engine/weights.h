// A checkpoint's tensors by name, from model.safetensors, one file or shards, memory-mapped: nothing is copied or
// converted here, and what nobody asks for stays on disk.
#ifndef TRELLIS_SERVE_ENGINE_WEIGHTS_H_
#define TRELLIS_SERVE_ENGINE_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serve/engine/tensor.h"

namespace trellis::engine {

class Weights {
 public:
  // `path` is a folder with model.safetensors, or with model.safetensors.index.json and the shards it names; or it is one
  // safetensors file (a head that lies beside the model). Symlinks are followed. NotFound: nothing of that is there.
  // InvalidArgument: a file is damaged or odd; the message names file, tensor and what was expected. Tensors of other
  // dtypes are listed but Find refuses them by name.
  static absl::StatusOr<Weights> Open(const std::string& path);
  Weights(Weights&&) noexcept;
  Weights& operator=(Weights&&) noexcept;
  ~Weights();

  bool Has(std::string_view name) const;
  // The tensor, if its shape is as given (-1: any extent) and every value is finite: it is read once, all of it, which
  // takes about as long as memory needs. NotFound and InvalidArgument name tensor, shapes, dtype or element.
  // NAME.LayerNorm.weight and .bias are also found under their older names, .gamma and .beta.
  absl::StatusOr<const Tensor*> Find(std::string_view name, std::span<const int64_t> shape) const;
  std::vector<std::string_view> names() const;  // sorted

 private:
  struct Files;
  explicit Weights(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_WEIGHTS_H_
