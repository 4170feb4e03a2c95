// An array of numbers as a checkpoint has it: typed, shaped, and lying somewhere else.
#ifndef TRELLIS_SERVE_ENGINE_TENSOR_H_
#define TRELLIS_SERVE_ENGINE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::engine {

enum class Dtype : uint8_t { kF32, kF16, kBf16 };
size_t BytesOf(Dtype dtype);
std::string_view NameOf(Dtype dtype);  // as safetensors spells it

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte>
      bytes;  // row-major, little-endian, perhaps unaligned; whoever made the tensor keeps them

  int64_t elements() const;
  // Element-wise conversion; `out` has elements() places.
  void CopyTo(std::span<float> out) const;
  // Of the first value that is an infinity or no number; -1: there is none.
  int64_t FirstNotFinite() const;
};

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_TENSOR_H_
