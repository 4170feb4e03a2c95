// A linear layer: its weight packed once, in strips of output columns so that threads can share even a single
// token.
#ifndef TRELLIS_SERVE_ENGINE_CPU_LINEAR_H_
#define TRELLIS_SERVE_ENGINE_CPU_LINEAR_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cpu/amx_product.h"
#include "serve/engine/cpu/avx512_product.h"
#include "serve/engine/cpu/crew.h"
#include "serve/engine/cpu/matmul.h"
#include "serve/engine/cpu/row_kernels.h"

namespace trellis::engine::cpu {

struct LinearParts {
  std::span<const float> weight;  // [out, in], row-major, finite
  std::span<const float> bias;    // [out], finite
};

// Rows at `in` and `out` lie end to end. Both must have room for RowsRoom(rows) rows; what is beyond `rows`
// is neither used nor kept.
class Linear {
 public:
  static absl::StatusOr<Linear> Create(const MatmulShape& shape, const LinearParts& parts, Matmuls& matmuls,
                                       int threads);

  // Whether a product of bytes can come out as bf16.
  static bool RoundsBytes(const MatmulShape& shape) { return AmxWeight::Suits(shape); }

  // `in` has the type of the shape's precision. For kInt8 `byte_rows` are the scales of its rows, and `out`
  // gets numbers all the same: float, or bf16 where RoundsBytes, bias and activation applied. after(row) is
  // called once for each row when its output is there, by any thread: what comes next finds it still in the
  // cache.
  template <typename After>
  void Run(Crew& crew, const void* in, std::span<const ByteRow> byte_rows, int rows, void* out,
           const After& after) const {
    const Work work{in, byte_rows, rows, out};
    // Enough rows: a thread does a block of them in all strips.
    if (rows >= kBlock * crew.threads() || strips_.size() == 1) {
      crew.For((rows + kBlock - 1) / kBlock, [&](int block, int thread) {
        const int from = block * kBlock, end = std::min(from + kBlock, rows);
        for (const Strip& strip : strips_) RunStrip(strip, work, from, end, thread);
        for (int row = from; row < end; ++row) after(row);
      });
      return;
    }
    const int strips = static_cast<int>(strips_.size());
    // As few blocks of rows as give every thread something to do.
    const int share = (rows * strips + crew.threads() - 1) / crew.threads();
    const int block = std::min(RowsRoom(share), kBlock);
    crew.For(strips * ((rows + block - 1) / block), [&](int task, int thread) {
      const int from = task / strips * block;
      RunStrip(strips_[static_cast<size_t>(task % strips)], work, from, std::min(from + block, rows), thread);
    });
    constexpr int kFew = 16;
    crew.For((rows + kFew - 1) / kFew, [&](int few, int) {
      for (int row = few * kFew; row < std::min((few + 1) * kFew, rows); ++row) after(row);
    });
  }

  static int RowsRoom(int rows) { return (rows + kStep - 1) / kStep * kStep; }

 private:
  static constexpr int kStep = 32;
  static constexpr int kBlock = 128;  // rows at a time; their widest output is half of a core's cache
  static_assert(kBlock % kStep == 0 && kBlock <= kMostRows);

  struct Work {
    const void* in;
    std::span<const ByteRow> byte_rows;
    int rows;
    void* out;
  };
  struct Strip {
    MatmulShape shape;
    int from = 0;                        // column
    std::optional<PackedWeight> weight;  // or none: tiles_ or panels_
  };
  explicit Linear(const MatmulShape& shape, Matmuls& matmuls) : shape_(shape), matmuls_(&matmuls) {}
  absl::Status Pack(const LinearParts& parts, int threads);
  void RunStrip(const Strip& strip, const Work& work, int from, int end, int thread) const;

  MatmulShape shape_;
  Matmuls* matmuls_;
  std::vector<Strip> strips_;
  std::optional<AmxWeight> tiles_;
  std::optional<Avx512Weight> panels_;
  // kInt8 only, by output column.
  std::vector<float> scales_, bias_;
  std::vector<int32_t> sums_;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_LINEAR_H_
