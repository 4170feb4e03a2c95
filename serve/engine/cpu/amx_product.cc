#include "serve/engine/cpu/amx_product.h"

#include <algorithm>
#include <cstring>

#include "serve/engine/cpu/amx.h"
#include "serve/engine/cpu/lanes.h"
#include "serve/engine/cpu/transpose.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trellis::engine::cpu {

#if defined(__x86_64__)
namespace {

#define TRELLIS_TARGET_AMX                                                                    \
  __attribute__((                                                                             \
      target("amx-tile,amx-bf16,amx-int8,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2," \
             "fma")))
#define TRELLIS_TARGET_INLINE_AMX TRELLIS_TARGET_AMX __attribute__((always_inline)) inline

// A panel is 32 columns, its depth in steps of 64 bytes: two tiles of 16 columns, each 16 rows of 16 columns
// by 4 bytes of depth. Factors of the left lie as they are.
constexpr int kTile = 16;
constexpr int kPanel = 2 * kTile;
constexpr int kStepBytes = 64;
constexpr size_t kTileBytes = 1024;

// Columns of a weight that stay in a core's own cache while rows go by.
constexpr size_t kChunkBytes = size_t{1} << 20;

struct Job {
  const std::byte* in;
  size_t in_stride;  // bytes
  const std::byte* panels;
  size_t panel_bytes;
  int steps;  // of depth
  const ByteRow* byte_rows;
  const float *scales, *sums, *bias;
  std::byte* out;
  size_t out_stride;  // bytes
  int rows, columns;
};

// What the tiles held of 32 rows by 32 columns, and where it goes.
struct Pending {
  const float* values = nullptr;
  int row = 0, column = 0, rows = 0;
};

// Phi by a polynomial in x^2 that meets 0 and 1 at the ends, fitted so that x * Phi(x) is within 8.4e-5
// everywhere: half the instructions of the error function's usual approximations, and bf16 and bytes round by
// more than that.
TRELLIS_TARGET_INLINE_AMX __m512 Gelu(__m512 x) {
  const __m512 end = _mm512_set1_ps(4.2f);
  __m512 inside = x < end ? x : end;
  inside = inside > -end ? inside : -end;
  const __m512 t = _mm512_mul_ps(inside, inside);
  __m512 p = _mm512_set1_ps(-9.01662628e-10f);
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(7.94070215e-08f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-3.03775009e-06f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(6.68880184e-05f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.000950635799f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.00929813514f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(-0.0655280077f));
  p = _mm512_fmadd_ps(p, t, _mm512_set1_ps(0.398465736f));
  return _mm512_mul_ps(x, _mm512_fmadd_ps(inside, p, _mm512_set1_ps(0.5f)));
}

enum class After : uint8_t { kNothing, kGelu, kRelu };

template <After kAfter>
TRELLIS_TARGET_INLINE_AMX __m512 Activate(__m512 x) {
  if constexpr (kAfter == After::kGelu) return Gelu(x);
  // What is not a number stays so.
  if constexpr (kAfter == After::kRelu) return x < __m512{} ? __m512{} : x;
  return x;
}

// One row of 32 columns of what is pending.
template <Precision kPrecision, After kAfter, Output kOutput>
TRELLIS_TARGET_INLINE_AMX void FinishRow(const Job& job, const Pending& pending, int r) {
  const float* const values = pending.values + r * kPanel;
  const int row = pending.row + r, column = pending.column;
  __m512 numbers[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m512 bias = _mm512_loadu_ps(job.bias + column + i * kTile);
    __m512 v;
    if constexpr (kPrecision == Precision::kInt8) {
      // scale * (product - zero * sum of the column's weights), with the column's scale already in the
      // latter.
      const ByteRow bytes = job.byte_rows[row];
      Lanes<kTile>::I products;
      std::memcpy(&products, values + i * kTile, sizeof products);
      v = __builtin_convertvector(products, __m512);
      v = _mm512_mul_ps(v, _mm512_loadu_ps(job.scales + column + i * kTile));
      v = _mm512_fnmadd_ps(_mm512_set1_ps(static_cast<float>(bytes.zero)),
                           _mm512_loadu_ps(job.sums + column + i * kTile), v);
      v = _mm512_fmadd_ps(v, _mm512_set1_ps(bytes.scale), bias);
    } else {
      v = _mm512_add_ps(_mm512_loadu_ps(values + i * kTile), bias);
    }
    numbers[i] = Activate<kAfter>(v);
  }
  std::byte* const out = job.out + static_cast<size_t>(row) * job.out_stride;
  if constexpr (kOutput == Output::kBf16) {
    _mm512_storeu_si512(out + static_cast<size_t>(column) * sizeof(uint16_t),
                        reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(numbers[1], numbers[0])));
  } else {
    float* const to = reinterpret_cast<float*>(out) + column;
    _mm512_storeu_ps(to, numbers[0]);
    _mm512_storeu_ps(to + kTile, numbers[1]);
  }
}

// Rows of a pending block, some at a time between the steps of the next one: the vector units work while the
// tiles do.
template <Precision kPrecision, After kAfter, Output kOutput>
struct Finisher {
  const Job& job;
  Pending pending;
  int done = 0;

  TRELLIS_TARGET_INLINE_AMX void Some(int count) {
    const int end = std::min(done + count, pending.rows);
    for (; done < end; ++done) FinishRow<kPrecision, kAfter, kOutput>(job, pending, done);
  }
  TRELLIS_TARGET_INLINE_AMX void Start(const Pending& next) {
    pending = next;
    done = 0;
  }
};

// GCC wants the number of a tile as it stands.
#define TRELLIS_TILE_PRODUCT(c, a, b)           \
  if constexpr (kPrecision == Precision::kInt8) \
    _tile_dpbusd(c, a, b);                      \
  else                                          \
    _tile_dpbf16ps(c, a, b)

// 16 or 32 rows by 32 columns.
template <Precision kPrecision, int kRowTiles, typename Finish>
TRELLIS_TARGET_INLINE_AMX void Block(const Job& job, int row, int column, int each, float* values,
                                     Finish& finish) {
  const std::byte* left = job.in + static_cast<size_t>(row) * job.in_stride;
  const std::byte* const lower = left + kTile * job.in_stride;
  const std::byte* right = job.panels + static_cast<size_t>(column / kPanel) * job.panel_bytes;
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kRowTiles == 2) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int step = 0; step < job.steps; ++step) {
    _tile_loadd(4, left + step * kStepBytes, job.in_stride);
    _tile_loadd(6, right, kStepBytes);
    TRELLIS_TILE_PRODUCT(0, 4, 6);
    _tile_loadd(7, right + kTileBytes, kStepBytes);
    TRELLIS_TILE_PRODUCT(1, 4, 7);
    if constexpr (kRowTiles == 2) {
      _tile_loadd(5, lower + step * kStepBytes, job.in_stride);
      TRELLIS_TILE_PRODUCT(2, 5, 6);
      TRELLIS_TILE_PRODUCT(3, 5, 7);
    }
    right += 2 * kTileBytes;
    finish.Some(each);
  }
  finish.Some(kPanel);
  constexpr size_t kStride = kPanel * sizeof(float);
  _tile_stored(0, values, kStride);
  _tile_stored(1, values + kTile, kStride);
  if constexpr (kRowTiles == 2) {
    _tile_stored(2, values + kTile * kPanel, kStride);
    _tile_stored(3, values + kTile * kPanel + kTile, kStride);
  }
}

template <Precision kPrecision, After kAfter, Output kOutput>
TRELLIS_TARGET_AMX void Multiply(const Job& job) {
  alignas(64) float values[2][kPanel * kPanel];
  Finisher<kPrecision, kAfter, kOutput> finish{job, {}};
  const int each = (kPanel + job.steps - 1) / job.steps;
  const int chunk = std::max(1, static_cast<int>(kChunkBytes / job.panel_bytes)) * kPanel;
  int turn = 0;
  // What GCC 12 makes of the intrinsics does not say that they read memory.
  asm volatile("" ::: "memory");
  for (int from = 0; from < job.columns; from += chunk) {
    const int end = std::min(from + chunk, job.columns);
    for (int row = 0; row < job.rows; row += kPanel) {
      const int rows = std::min(kPanel, job.rows - row);
      for (int column = from; column < end; column += kPanel, turn ^= 1) {
        if (rows > kTile) {
          Block<kPrecision, 2>(job, row, column, each, values[turn], finish);
        } else {
          Block<kPrecision, 1>(job, row, column, each, values[turn], finish);
        }
        finish.Start({values[turn], row, column, rows});
      }
    }
  }
  finish.Some(kPanel);
}

template <Precision kPrecision, After kAfter>
void Multiply(const Job& job, Output output) {
  if (output == Output::kBf16) {
    Multiply<kPrecision, kAfter, Output::kBf16>(job);
  } else {
    Multiply<kPrecision, kAfter, Output::kF32>(job);
  }
}

template <Precision kPrecision>
void Multiply(const Job& job, std::optional<Activation> activation, Output output) {
  if (!activation.has_value()) {
    Multiply<kPrecision, After::kNothing>(job, output);
  } else if (*activation == Activation::kGelu) {
    Multiply<kPrecision, After::kGelu>(job, output);
  } else {
    Multiply<kPrecision, After::kRelu>(job, output);
  }
}

// Rows of bytes or bf16, `in_bytes` long, to tiles: squares of 16 rows by 16 times 4 bytes.
TRELLIS_TARGET_AMX void PackTiles(const std::byte* weight, size_t in_bytes, size_t out, std::byte* tiles) {
  for (size_t column = 0; column < out; column += kTile) {
    const std::byte* const from = weight + column * in_bytes;
    std::byte* to = tiles + column / kPanel * kPanel * in_bytes + column % kPanel / kTile * kTileBytes;
    for (size_t k = 0; k < in_bytes; k += kStepBytes, to += 2 * kTileBytes) {
      Lanes<kTile>::U square[kTile];
      TRELLIS_UNROLL
      for (size_t i = 0; i < kTile; ++i) std::memcpy(&square[i], from + i * in_bytes + k, sizeof square[i]);
      Transpose16(square);
      std::memcpy(to, square, sizeof square);
    }
  }
}

}  // namespace

bool AmxWeight::Suits(const MatmulShape& shape) {
  if (!HasAmx(shape.precision) || shape.activation == Activation::kGeluTanh) return false;
  const int depth = shape.precision == Precision::kInt8 ? kStepBytes : kStepBytes / 2;
  return shape.in % depth == 0 && shape.out % kPanel == 0;
}

AmxWeight::AmxWeight(std::span<const float> weight, std::span<const float> bias, int in)
    : precision_(Precision::kBf16),
      in_(in),
      tiles_(weight.size() * sizeof(uint16_t)),
      bias_(bias.begin(), bias.end()) {
  std::vector<uint16_t> rounded(weight.size());
  RowKernelsOf(BestIsa()).to_bf16(weight.data(), static_cast<int>(weight.size()), rounded.data());
  PackTiles(reinterpret_cast<const std::byte*>(rounded.data()), static_cast<size_t>(in) * sizeof(uint16_t),
            bias.size(), tiles_.get());
}

AmxWeight::AmxWeight(std::span<const int8_t> weight, std::span<const float> scales,
                     std::span<const int32_t> sums, std::span<const float> bias, int in)
    : precision_(Precision::kInt8),
      in_(in),
      tiles_(weight.size()),
      bias_(bias.begin(), bias.end()),
      scales_(scales.begin(), scales.end()) {
  for (size_t i = 0; i < sums.size(); ++i) sums_.push_back(static_cast<float>(sums[i]) * scales[i]);
  PackTiles(reinterpret_cast<const std::byte*>(weight.data()), static_cast<size_t>(in), bias.size(),
            tiles_.get());
}

void AmxWeight::Multiply(const void* in, const ByteRow* byte_rows, int rows, int from, int columns,
                         std::optional<Activation> activation, Output output, void* out,
                         size_t out_stride) const {
  const size_t value_bytes = precision_ == Precision::kInt8 ? 1 : sizeof(uint16_t);
  const size_t row_bytes = static_cast<size_t>(in_) * value_bytes;
  const size_t panel_bytes = kPanel * row_bytes;
  const bool bytes = precision_ == Precision::kInt8;
  const Job job{static_cast<const std::byte*>(in),
                row_bytes,
                tiles_.get() + static_cast<size_t>(from / kPanel) * panel_bytes,
                panel_bytes,
                static_cast<int>(row_bytes) / kStepBytes,
                byte_rows,
                bytes ? scales_.data() + from : nullptr,
                bytes ? sums_.data() + from : nullptr,
                bias_.data() + from,
                static_cast<std::byte*>(out),
                out_stride * (output == Output::kBf16 ? sizeof(uint16_t) : sizeof(float)),
                rows,
                columns};
  const AmxTiles tiles;
  if (bytes) {
    cpu::Multiply<Precision::kInt8>(job, activation, output);
  } else {
    cpu::Multiply<Precision::kBf16>(job, activation, output);
  }
}

#else

bool AmxWeight::Suits(const MatmulShape&) { return false; }
AmxWeight::AmxWeight(std::span<const float>, std::span<const float>, int in)
    : precision_(Precision::kBf16), in_(in) {}
AmxWeight::AmxWeight(std::span<const int8_t>, std::span<const float>, std::span<const int32_t>,
                     std::span<const float>, int in)
    : precision_(Precision::kInt8), in_(in) {}
void AmxWeight::Multiply(const void*, const ByteRow*, int, int, int, std::optional<Activation>, Output, void*,
                         size_t) const {}

#endif

}  // namespace trellis::engine::cpu
