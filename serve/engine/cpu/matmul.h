// Matrix products by oneDNN, one thread each: rows of activations times a packed weight. A product's shape is
// part of its machine code, so the number of rows comes in steps; each code is made once and kept.
#ifndef TRELLIS_SERVE_ENGINE_CPU_MATMUL_H_
#define TRELLIS_SERVE_ENGINE_CPU_MATMUL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/isa.h"
#include "serve/engine/model_config.h"

namespace trellis::engine::cpu {

inline constexpr int kMostRows = 512;  // of one product

// The number of rows that is computed for so many.
int RowsStep(int rows);

// What comes out. kInt32 is the bare product of bytes, without bias and activation.
enum class Output : uint8_t { kF32, kBf16, kInt32 };

struct MatmulShape {
  int in = 0;
  int out = 0;
  int out_stride = 0;  // values between the starts of two rows of the output
  Precision precision = Precision::kF32;
  Output output = Output::kF32;
  std::optional<Activation> activation;

  auto operator<=>(const MatmulShape&) const = default;
};

// A weight in the order that the products want it in, with its bias.
class PackedWeight {
 public:
  struct Memory;
  explicit PackedWeight(std::unique_ptr<Memory> memory);
  PackedWeight(PackedWeight&&) noexcept;
  PackedWeight& operator=(PackedWeight&&) noexcept;
  ~PackedWeight();
  const Memory& memory() const { return *memory_; }

 private:
  std::unique_ptr<Memory> memory_;
};

// Products made so far, for a number of threads. Apart from Pack, every method may be called by all of them
// at once.
class Matmuls {
 public:
  explicit Matmuls(int threads);
  ~Matmuls();
  Matmuls(const Matmuls&) = delete;

  // `weight` is [out, in], row-major: float, or for kInt8 the bytes themselves. `bias` is [out], or empty for
  // kInt32. oneDNN's errors come as Internal.
  absl::StatusOr<PackedWeight> Pack(const MatmulShape& shape, std::span<const float> weight,
                                    std::span<const float> bias);
  absl::StatusOr<PackedWeight> Pack(const MatmulShape& shape, std::span<const int8_t> weight);

  // out[r] = activation(in[r] weight^T + bias) for RowsStep(rows) rows: all of them must be there. `in` is
  // float, uint16_t or uint8_t by precision, `in_stride` is the shape's `in`. Throws what oneDNN throws.
  void Run(const MatmulShape& shape, const PackedWeight& weight, const void* in, int rows, void* out,
           int thread);

  int made() const;  // products made so far

 private:
  struct Made;
  std::unique_ptr<Made> made_;
};

// Whether oneDNN has products of this kind here that are as fast and as exact as they should be.
// ONEDNN_MAX_CPU_ISA may say that it is to do with less than the processor has.
bool HasProducts(Precision precision);

// Whether ONEDNN_MAX_CPU_ISA leaves AMX, for oneDNN and so for us.
bool AllowsAmx();

// oneDNN runs on the calling thread alone from here on: our own threads share the work.
void UseOneThreadHere();

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_MATMUL_H_
