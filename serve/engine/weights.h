// A checkpoint's tensors by name, from model.safetensors, one file or shards, memory-mapped: nothing is copied or
// converted here, and what nobody touches stays on disk.
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

namespace trellis::engine {

enum class Dtype : uint8_t { kF32, kF16, kBf16 };
size_t BytesOf(Dtype dtype);
std::string_view NameOf(Dtype dtype);  // as safetensors spells it

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // row-major, little-endian, perhaps unaligned; valid as long as its Weights

  int64_t elements() const;
  // Element-wise conversion; `out` has elements() places.
  void CopyTo(std::span<float> out) const;
};

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
  // The tensor, if its shape is as given (-1: any extent). NotFound and InvalidArgument name tensor, shapes and dtype.
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
