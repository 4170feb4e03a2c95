// Batches are computed in buckets, so that few graphs and few products serve all of them: a batch's rows and
// tokens are filled up with rows that are empty and tokens that belong to none.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_BUCKET_H_
#define TRELLIS_SERVE_ENGINE_CUDA_BUCKET_H_

#include <compare>
#include <cstdint>

namespace trellis::engine::cuda {

struct Bucket {
  int32_t rows = 0;
  int32_t tokens = 0;

  auto operator<=>(const Bucket&) const = default;
};

// Multiples of 64 up to 4,096, of 256 above: at most 63 tokens are computed in vain, or 6 % of them.
inline constexpr int32_t TokenBucket(int32_t tokens) {
  const int32_t step = tokens <= 4096 ? 64 : 256;
  return (tokens + step - 1) / step * step;
}
// 1, 4, 16, 64, 256 and so on: an empty row costs next to nothing.
inline constexpr int32_t RowBucket(int32_t rows) {
  int32_t bucket = 1;
  while (bucket < rows) bucket *= 4;
  return bucket;
}
inline constexpr Bucket BucketOf(int32_t rows, int32_t tokens) {
  return {RowBucket(rows), TokenBucket(tokens)};
}

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_BUCKET_H_
