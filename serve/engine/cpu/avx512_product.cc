#include "serve/engine/cpu/avx512_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "serve/engine/cpu/activations.h"
#include "serve/engine/cpu/transpose.h"

namespace trellis::engine::cpu {

#if defined(__x86_64__)
namespace {

using L = Lanes<16>;

// Two vectors of columns; with 14 rows they fill all but four registers.
constexpr int kPanel = 32;
constexpr int kMostTileRows = 14;

// How far ahead a panel is fetched when it is used for one or two tiles only.
constexpr int kAhead = 64 * kPanel;

struct Tile {
  const float* in;
  size_t depth;
  const float* panel;
  const float* ahead;  // what is fetched meanwhile, a step further for each of the depth
  size_t ahead_step;
  const float* bias;
  float* out;
  size_t out_stride;
};

// The sum of each value is over the depth in order, whatever the number of rows.
template <int kRows, After kAfter>
TRELLIS_TARGET_AVX512 void Multiply(const Tile& tile) {
  L::F sums[kRows][2];
  TRELLIS_UNROLL
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = L::F{};
  const float* panel = tile.panel;
  for (size_t k = 0; k < tile.depth; ++k, panel += kPanel) {
    L::F low, high;
    L::Load(panel, low);
    L::Load(panel + 16, high);
    __builtin_prefetch(tile.ahead + k * tile.ahead_step);
    __builtin_prefetch(tile.ahead + k * tile.ahead_step + 16);
    TRELLIS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const float factor = tile.in[static_cast<size_t>(r) * tile.depth + k];
      sums[r][0] += factor * low;
      sums[r][1] += factor * high;
    }
  }
  L::F bias[2];
  L::Load(tile.bias, bias[0]);
  L::Load(tile.bias + 16, bias[1]);
  TRELLIS_UNROLL
  for (int r = 0; r < kRows; ++r) {
    TRELLIS_UNROLL
    for (int i = 0; i < 2; ++i) {
      L::F v = sums[r][i] + bias[i];
      Activate<16, kAfter>(v);
      L::Store(v, tile.out + static_cast<size_t>(r) * tile.out_stride + 16 * i);
    }
  }
}

// [kPanel, depth] to [depth, kPanel].
TRELLIS_TARGET_AVX512 void PackPanel(const float* from, size_t depth, float* panel) {
  for (size_t c = 0; c < kPanel; c += 16) {
    size_t k = 0;
    for (; k + 16 <= depth; k += 16) {
      L::U square[16];
      TRELLIS_UNROLL
      for (size_t i = 0; i < 16; ++i) std::memcpy(&square[i], from + (c + i) * depth + k, sizeof square[i]);
      Transpose16(square);
      TRELLIS_UNROLL
      for (size_t i = 0; i < 16; ++i) std::memcpy(panel + (k + i) * kPanel + c, &square[i], sizeof square[i]);
    }
    for (; k < depth; ++k) {
      for (size_t i = 0; i < 16; ++i) panel[k * kPanel + c + i] = from[(c + i) * depth + k];
    }
  }
}

using MultiplyFn = void (*)(const Tile&);

template <After kAfter, int... I>
constexpr std::array<MultiplyFn, sizeof...(I)> Tiles(std::integer_sequence<int, I...>) {
  return {Multiply<I + 1, kAfter>...};
}
// By the number of rows less one.
template <After kAfter>
constexpr auto kTiles = Tiles<kAfter>(std::make_integer_sequence<int, kMostTileRows>());

const std::array<MultiplyFn, kMostTileRows>& TilesOf(std::optional<Activation> activation) {
  if (!activation.has_value()) return kTiles<After::kNothing>;
  switch (*activation) {
    case Activation::kGelu:
      return kTiles<After::kGelu>;
    case Activation::kGeluTanh:
      return kTiles<After::kGeluTanh>;
    case Activation::kRelu:
      return kTiles<After::kRelu>;
  }
  return kTiles<After::kNothing>;
}

}  // namespace

bool Avx512Weight::Suits(const MatmulShape& shape) {
  return shape.precision == Precision::kF32 && BestIsa() == Isa::kAvx512 && shape.out % kPanel == 0;
}

Avx512Weight::Avx512Weight(std::span<const float> weight, std::span<const float> bias, int in)
    : in_(in), panels_(weight.size()), bias_(bias.begin(), bias.end()) {
  for (size_t column = 0; column < bias.size(); column += kPanel) {
    PackPanel(weight.data() + column * static_cast<size_t>(in), static_cast<size_t>(in),
              panels_.get() + column * static_cast<size_t>(in));
  }
}

void Avx512Weight::Multiply(const float* in, int rows, int from, int columns,
                            std::optional<Activation> activation, float* out, size_t out_stride) const {
  const auto& multiply = TilesOf(activation);
  const auto depth = static_cast<size_t>(in_);
  // Tiles of about the same height.
  const int tiles = (rows + kMostTileRows - 1) / kMostTileRows;
  const bool few = tiles <= 2;
  const size_t step = few ? kPanel : (kPanel + static_cast<size_t>(tiles) - 1) / static_cast<size_t>(tiles);
  for (int column = from; column < from + columns; column += kPanel) {
    const float* const panel = panels_.get() + static_cast<size_t>(column) * depth;
    for (int t = 0, row = 0; t < tiles; ++t) {
      const int height = rows / tiles + (t < rows % tiles ? 1 : 0);
      // Weights come from memory far behind a core's own cache: each tile fetches its part of the next panel.
      const float* const ahead =
          few ? panel + kAhead : panel + kPanel * depth + static_cast<size_t>(t) * step * depth;
      multiply[static_cast<size_t>(height - 1)](
          {in + static_cast<size_t>(row) * depth, depth, panel, ahead, step, bias_.data() + column,
           out + static_cast<size_t>(row) * out_stride + (column - from), out_stride});
      row += height;
    }
  }
}

#else

bool Avx512Weight::Suits(const MatmulShape&) { return false; }
Avx512Weight::Avx512Weight(std::span<const float>, std::span<const float>, int in) : in_(in) {}
void Avx512Weight::Multiply(const float*, int, int, int, std::optional<Activation>, float*, size_t) const {}

#endif

}  // namespace trellis::engine::cpu
