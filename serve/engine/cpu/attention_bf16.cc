#include "serve/engine/cpu/attention_bf16.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "serve/engine/cpu/isa.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "serve/engine/cpu/amx.h"
#include "serve/engine/cpu/lanes.h"
#include "serve/engine/cpu/transpose.h"

namespace trellis::engine::cpu {
namespace {

#define TRELLIS_TARGET_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")))
#define TRELLIS_TARGET_AMX \
  __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")))

// Both kinds of products read the same order. The right factor lies in panels of 32 columns: for each 32 of
// the depth two tiles of 16 columns, each 16 pairs of depth by 16 columns by 2. The left factor lies as it
// is, filled up with zeros to 32 rows and a depth of 32.
constexpr int kBlock = 32;
constexpr int kTileColumns = 16;
constexpr size_t kTileValues = 512;

// Scores of filled-up keys: e to the power of it is nothing beside any other.
constexpr float kNoScore = -1e30f;

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }
size_t Area(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

// Where column and depth of a right factor lie, `padded_depth` values deep.
uint16_t* TileAt(uint16_t* factor, int column, int depth, int padded_depth) {
  const size_t panel = Area(column / kBlock * kBlock, padded_depth);
  const size_t tile = static_cast<size_t>(depth / kBlock * 2 + column % kBlock / kTileColumns);
  return factor + panel + tile * kTileValues;
}

using Pairs = Lanes<16>::U;  // of a row's values
typedef uint16_t Values __attribute__((vector_size(64)));

TRELLIS_LANES_INLINE void LoadValues(const uint16_t* from, int count, Values& v) {
  if (count >= kBlock) {
    std::memcpy(&v, from, sizeof v);
  } else {
    v = Values{};
    if (count > 0) std::memcpy(&v, from, sizeof(uint16_t) * static_cast<size_t>(count));
  }
}

// Keys are columns, their dims the depth.
TRELLIS_TARGET_BF16 void PackKeys(const Bf16HeadOfRow& head, int padded_tokens, int padded_dim,
                                  uint16_t* keys) {
  for (int token = 0; token < padded_tokens; token += kTileColumns) {
    for (int d = 0; d < padded_dim; d += kBlock) {
      Pairs rows[kTileColumns];
      TRELLIS_UNROLL
      for (int i = 0; i < kTileColumns; ++i) {
        Values v = {};
        if (token + i < head.tokens)
          LoadValues(head.keys + static_cast<size_t>(token + i) * head.stride + d, head.head_dim - d, v);
        std::memcpy(&rows[i], &v, sizeof v);
      }
      Transpose16(rows);
      std::memcpy(TileAt(keys, token, d, padded_dim), rows, sizeof rows);
    }
  }
}

// Dims are columns, tokens the depth.
TRELLIS_TARGET_BF16 void PackValues(const Bf16HeadOfRow& head, int padded_tokens, int padded_dim,
                                    uint16_t* values) {
  for (int token = 0; token < padded_tokens; token += 2) {
    for (int d = 0; d < padded_dim; d += kBlock) {
      Values rows[2] = {};
      for (int i = 0; i < 2; ++i) {
        if (token + i < head.tokens)
          LoadValues(head.values + static_cast<size_t>(token + i) * head.stride + d, head.head_dim - d,
                     rows[i]);
      }
      const Values low =
          __builtin_shufflevector(rows[0], rows[1], 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8,
                                  40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
      const Values high =
          __builtin_shufflevector(rows[0], rows[1], 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54,
                                  23, 55, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
      uint16_t* const to = TileAt(values, d, token, padded_tokens) + token % kBlock * kTileColumns;
      std::memcpy(to, &low, sizeof low);
      std::memcpy(to + kTileValues, &high, sizeof high);
    }
  }
}

// out[32][32] = left[32][depth] * panel, `depth` a multiple of 32.
struct ByVectors {
  struct Tiles {};
  TRELLIS_TARGET_BF16 static void Multiply(const uint16_t* left, int left_stride, const uint16_t* panel,
                                           int depth, float* out, int out_stride) {
    constexpr int kRows = 8;
    for (int from = 0; from < kBlock; from += kRows) {
      __m512 sums[kRows][2];
      TRELLIS_UNROLL
      for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
      for (int k = 0; k < depth; k += 2) {
        const uint16_t* const pair =
            panel + static_cast<size_t>(k / kBlock) * 2 * kTileValues + k % kBlock * kTileColumns;
        const auto low = reinterpret_cast<__m512bh>(_mm512_loadu_si512(pair));
        const auto high = reinterpret_cast<__m512bh>(_mm512_loadu_si512(pair + kTileValues));
        TRELLIS_UNROLL
        for (int r = 0; r < kRows; ++r) {
          int32_t both;
          std::memcpy(&both, left + Area(from + r, left_stride) + k, sizeof both);
          const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
          sums[r][0] = _mm512_dpbf16_ps(sums[r][0], factor, low);
          sums[r][1] = _mm512_dpbf16_ps(sums[r][1], factor, high);
        }
      }
      TRELLIS_UNROLL
      for (int r = 0; r < kRows; ++r) {
        _mm512_storeu_ps(out + Area(from + r, out_stride), sums[r][0]);
        _mm512_storeu_ps(out + Area(from + r, out_stride) + kTileColumns, sums[r][1]);
      }
    }
  }
};

struct ByAmx {
  using Tiles = AmxTiles;
  TRELLIS_TARGET_AMX static void Multiply(const uint16_t* left, int left_stride, const uint16_t* panel,
                                          int depth, float* out, int out_stride) {
    const uint16_t* const lower = left + Area(kTileColumns, left_stride);
    const size_t left_bytes = sizeof(uint16_t) * static_cast<size_t>(left_stride);
    const size_t out_bytes = sizeof(float) * static_cast<size_t>(out_stride);
    // What GCC 12 makes of the intrinsics does not say that they read memory.
    asm volatile("" ::: "memory");
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int k = 0; k < depth; k += kBlock) {
      const uint16_t* const tiles = panel + static_cast<size_t>(k / kBlock) * 2 * kTileValues;
      _tile_loadd(4, left + k, left_bytes);
      _tile_loadd(6, tiles, 64);
      _tile_dpbf16ps(0, 4, 6);
      _tile_loadd(7, tiles + kTileValues, 64);
      _tile_dpbf16ps(1, 4, 7);
      _tile_loadd(5, lower + k, left_bytes);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    float* const out_lower = out + Area(kTileColumns, out_stride);
    _tile_stored(0, out, out_bytes);
    _tile_stored(1, out + kTileColumns, out_bytes);
    _tile_stored(2, out_lower, out_bytes);
    _tile_stored(3, out_lower + kTileColumns, out_bytes);
    asm volatile("" ::: "memory");
  }
};

// 2^x for x <= 0 to 4e-5 of it, which is far less than bf16 rounds away; what would be below 2^-126 is about
// that.
TRELLIS_LANES_INLINE void Exp2(Lanes<16>::F& x) {
  using L = Lanes<16>;
  L::F least, magic;
  L::Fill(-126.0f, least);
  L::Fill(12582912.0f, magic);  // 1.5 * 2^23: what is added to it is rounded to a whole number
  x = x < least ? least : x;
  const L::F shifted = x + magic;
  const L::F r = x - (shifted - magic);
  // The series of e^(r ln 2).
  L::F p = r * 9.6181291e-3f + 5.5504109e-2f;
  p = p * r + 2.4022651e-1f;
  p = p * r + 6.9314718e-1f;
  p = p * r + 1.0f;
  L::U bits, exponent;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&exponent, &shifted, sizeof exponent);
  bits += exponent << 23;
  std::memcpy(&x, &bits, sizeof bits);
}

// bf16 weights that are not yet divided by their sum; the sum, of what they were before they were rounded.
TRELLIS_TARGET_BF16 float Soften(float* row, int tokens, int padded_tokens, float scale, uint16_t* weights) {
  using L = Lanes<16>;
  for (int t = tokens; t < padded_tokens; ++t) row[t] = kNoScore;
  // Two of each: a row's length is a multiple of two vectors, and one chain would wait for itself.
  L::F most[2], sums[2] = {};
  L::Load(row, most[0]);
  L::Load(row + 16, most[1]);
  for (int t = kBlock; t < padded_tokens; t += kBlock) {
    for (int i = 0; i < 2; ++i) {
      L::F v;
      L::Load(row + t + 16 * i, v);
      most[i] = v > most[i] ? v : most[i];
    }
  }
  most[0] = most[0] > most[1] ? most[0] : most[1];
  const float factor = scale * 1.44269504f;
  const float top = L::Max(most[0]);
  for (int t = 0; t < padded_tokens; t += kBlock) {
    for (int i = 0; i < 2; ++i) {
      L::F v;
      L::Load(row + t + 16 * i, v);
      v = (v - top) * factor;
      Exp2(v);
      sums[i] += v;
      const __m256bh rounded = _mm512_cvtneps_pbh(v);
      std::memcpy(weights + t + 16 * i, &rounded, sizeof rounded);
    }
  }
  return L::Sum(sums[0] + sums[1]);
}

// `count` values of a head's vector from dimension `d` on.
TRELLIS_TARGET_BF16 void WriteRow(const float* values, float factor, int count, const Bf16HeadOut& out,
                                  int token, int d) {
  using L = Lanes<16>;
  L::F low, high;
  L::Load(values, low);
  L::Load(values + 16, high);
  low *= factor;
  high *= factor;
  const size_t place = static_cast<size_t>(token) * out.stride + static_cast<size_t>(d);
  if (out.bf16 != nullptr) {
    const __m512bh both = _mm512_cvtne2ps_pbh(high, low);
    if (count == kBlock) {
      std::memcpy(out.bf16 + place, &both, sizeof both);
    } else {
      std::memcpy(out.bf16 + place, &both, sizeof(uint16_t) * static_cast<size_t>(count));
    }
  } else if (count == kBlock) {
    L::Store(low, out.numbers + place);
    L::Store(high, out.numbers + place + 16);
  } else {
    float both[kBlock];
    L::Store(low, both);
    L::Store(high, both + 16);
    std::memcpy(out.numbers + place, both, sizeof(float) * static_cast<size_t>(count));
  }
}

template <typename By>
TRELLIS_TARGET_BF16 void Attend(const Bf16HeadOfRow& head, Bf16AttentionScratch& scratch,
                                const Bf16HeadOut& out) {
  const int padded_tokens = RoundUp(head.tokens, kBlock), padded_dim = RoundUp(head.head_dim, kBlock);
  // Rows a power of two apart would share the same few places of the cache.
  const int score_stride = padded_tokens + 16, weight_stride = padded_tokens + 32;
  uint16_t* const keys = scratch.keys.Reserve(Area(padded_tokens, padded_dim));
  uint16_t* const values = scratch.values.Reserve(Area(padded_tokens, padded_dim));
  uint16_t* const queries = scratch.queries.Reserve(Area(kBlock, padded_dim));
  uint16_t* const weights = scratch.weights.Reserve(Area(kBlock, weight_stride));
  float* const scores = scratch.scores.Reserve(Area(kBlock, score_stride));
  float* const mixed = scratch.mixed.Reserve(Area(kBlock, kBlock));
  const float scale = 1.0f / std::sqrt(static_cast<float>(head.head_dim));
  PackKeys(head, padded_tokens, padded_dim, keys);
  PackValues(head, padded_tokens, padded_dim, values);
  [[maybe_unused]] const typename By::Tiles tiles;
  for (int from = 0; from < head.tokens; from += kBlock) {
    const int rows = std::min(kBlock, head.tokens - from);
    const uint16_t* left = head.queries + static_cast<size_t>(from) * head.stride;
    size_t left_stride = head.stride;
    if (rows < kBlock || head.head_dim < padded_dim) {  // filled up
      std::memset(queries, 0, sizeof(uint16_t) * Area(kBlock, padded_dim));
      for (int r = 0; r < rows; ++r) {
        std::memcpy(queries + Area(r, padded_dim), left + static_cast<size_t>(r) * head.stride,
                    sizeof(uint16_t) * static_cast<size_t>(head.head_dim));
      }
      left = queries;
      left_stride = static_cast<size_t>(padded_dim);
    }
    for (int t = 0; t < padded_tokens; t += kBlock) {
      By::Multiply(left, static_cast<int>(left_stride), keys + Area(t, padded_dim), padded_dim, scores + t,
                   score_stride);
    }
    float inverse[kBlock];
    for (int r = 0; r < rows; ++r) {
      inverse[r] = 1.0f / Soften(scores + Area(r, score_stride), head.tokens, padded_tokens, scale,
                                 weights + Area(r, weight_stride));
    }
    for (int d = 0; d < padded_dim; d += kBlock) {
      By::Multiply(weights, weight_stride, values + Area(d, padded_tokens), padded_tokens, mixed, kBlock);
      const int count = std::min(kBlock, head.head_dim - d);
      for (int r = 0; r < rows; ++r) WriteRow(mixed + r * kBlock, inverse[r], count, out, from + r, d);
    }
  }
}

}  // namespace

std::vector<Bf16AttendFn> AllBf16Attends() {
  std::vector<Bf16AttendFn> all;
  if (!Supports(Precision::kBf16).ok()) return all;
  all.push_back(Attend<ByVectors>);
  if (HasAmx(Precision::kBf16)) all.push_back(Attend<ByAmx>);
  return all;
}

}  // namespace trellis::engine::cpu

#else

namespace trellis::engine::cpu {
std::vector<Bf16AttendFn> AllBf16Attends() { return {}; }
}  // namespace trellis::engine::cpu

#endif
