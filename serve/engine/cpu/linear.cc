#include "serve/engine/cpu/linear.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cpu {
namespace {

// A strip narrower than this does not fill the registers of a product.
constexpr int kStripColumns = 64;

size_t BytesOf(Precision precision) {
  return precision == Precision::kF32 ? sizeof(float) : precision == Precision::kBf16 ? sizeof(uint16_t) : 1;
}
size_t BytesOf(Output output) { return output == Output::kBf16 ? sizeof(uint16_t) : sizeof(float); }

struct ByteWeight {
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

// Less than this is 0: one divided by its scale may be no number.
constexpr float kNothing = 1e-30f;

// Each output column by itself, symmetric.
ByteWeight ToBytes(std::span<const float> weight, int in, int out) {
  ByteWeight result{std::vector<int8_t>(weight.size()), {}, {}};
  for (int o = 0; o < out; ++o) {
    const auto column =
        weight.subspan(static_cast<size_t>(o) * static_cast<size_t>(in), static_cast<size_t>(in));
    // As bits, which are in the same order: the compiler makes vectors of this, and not of floats.
    int32_t most_bits = 0;
    for (const float w : column) most_bits = std::max(most_bits, std::bit_cast<int32_t>(w) & 0x7fffffff);
    const auto most = std::bit_cast<float>(most_bits);
    const float scale = most > kNothing ? most / 127.0f : 1.0f, inverse = 1.0f / scale;
    int8_t* const bytes = result.bytes.data() + static_cast<size_t>(o) * static_cast<size_t>(in);
    int32_t sum = 0;
    for (size_t i = 0; i < column.size(); ++i) {
      // Adding 1.5 * 2^23 rounds to a whole number; std::lrint would be called for each.
      constexpr float kMagic = 12582912.0f;
      const auto whole = static_cast<int32_t>((column[i] * inverse + kMagic) - kMagic);
      bytes[i] = static_cast<int8_t>(whole);
      sum += whole;
    }
    result.scales.push_back(scale);
    result.sums.push_back(sum);
  }
  return result;
}

}  // namespace

absl::StatusOr<Linear> Linear::Create(const MatmulShape& shape, const LinearParts& parts, Matmuls& matmuls,
                                      int threads) {
  const auto area = static_cast<size_t>(shape.in) * static_cast<size_t>(shape.out);
  if (parts.weight.size() != area || parts.bias.size() != static_cast<size_t>(shape.out)) {
    return absl::InternalError(absl::StrCat("linear layer: ", parts.weight.size(), " weights and ",
                                            parts.bias.size(), " biases, expected ", area, " and ",
                                            shape.out));
  }
  Linear linear(shape, matmuls);
  if (auto status = linear.Pack(parts, threads); !status.ok()) return status;
  return linear;
}

absl::Status Linear::Pack(const LinearParts& parts, int threads) {
  ByteWeight bytes;
  if (shape_.precision == Precision::kInt8) {
    bytes = ToBytes(parts.weight, shape_.in, shape_.out);
    scales_ = std::move(bytes.scales);
    sums_ = std::move(bytes.sums);
    bias_.assign(parts.bias.begin(), parts.bias.end());
  }
  if (AmxWeight::Suits(shape_)) {
    if (shape_.precision == Precision::kInt8) {
      tiles_.emplace(bytes.bytes, scales_, sums_, bias_, shape_.in);
    } else {
      tiles_.emplace(parts.weight, parts.bias, shape_.in);
    }
  }
  if (Avx512Weight::Suits(shape_)) panels_.emplace(parts.weight, parts.bias, shape_.in);
  const int wanted = std::clamp(shape_.out / kStripColumns, 1, threads);
  // Whole blocks of columns, so that no strip but the last has a rest.
  const int blocks = (shape_.out + kStripColumns - 1) / kStripColumns;
  const int width = (blocks + wanted - 1) / wanted * kStripColumns;
  for (int from = 0; from < shape_.out; from += width) {
    MatmulShape shape = shape_;
    shape.out = std::min(width, shape_.out - from);
    shape.out_stride = shape_.out;
    const auto begin = static_cast<size_t>(from) * static_cast<size_t>(shape_.in);
    const auto size = static_cast<size_t>(shape.out) * static_cast<size_t>(shape_.in);
    if (tiles_.has_value() || panels_.has_value()) {
      strips_.push_back({shape, from, {}});
      continue;
    }
    absl::StatusOr<PackedWeight> weight;
    if (shape_.precision == Precision::kInt8) {
      shape.output = Output::kInt32;
      shape.activation.reset();
      weight = matmuls_->Pack(shape, std::span<const int8_t>(bytes.bytes).subspan(begin, size));
    } else {
      weight = matmuls_->Pack(shape, parts.weight.subspan(begin, size),
                              parts.bias.subspan(static_cast<size_t>(from), static_cast<size_t>(shape.out)));
    }
    if (!weight.ok()) return std::move(weight).status();
    strips_.push_back({shape, from, *std::move(weight)});
  }
  return absl::OkStatus();
}

void Linear::RunStrip(const Strip& strip, const Work& work, int from, int end, int thread) const {
  const auto row = static_cast<size_t>(from), out = static_cast<size_t>(shape_.out);
  const size_t in_bytes = static_cast<size_t>(shape_.in) * BytesOf(shape_.precision);
  const auto* const in = static_cast<const std::byte*>(work.in) + row * in_bytes;
  auto* const target = static_cast<std::byte*>(work.out) +
                       (row * out + static_cast<size_t>(strip.from)) * BytesOf(shape_.output);
  if (tiles_.has_value()) {
    tiles_->Multiply(in, work.byte_rows.data() + row, end - from, strip.from, strip.shape.out,
                     shape_.activation, shape_.output, target, out);
    return;
  }
  if (panels_.has_value()) {
    panels_->Multiply(reinterpret_cast<const float*>(in), end - from, strip.from, strip.shape.out,
                      shape_.activation, reinterpret_cast<float*>(target), out);
    return;
  }
  matmuls_->Run(strip.shape, *strip.weight, in, end - from, target, thread);
  if (shape_.precision != Precision::kInt8) return;
  const RowKernels& kernels = RowKernelsOf(BestIsa());
  const ByteColumns columns{scales_.data() + strip.from, sums_.data() + strip.from,
                            bias_.data() + strip.from};
  for (int r = from; r < end; ++r) {
    float* const numbers = reinterpret_cast<float*>(target) + static_cast<size_t>(r - from) * out;
    kernels.from_bytes(reinterpret_cast<const int32_t*>(numbers), work.byte_rows[static_cast<size_t>(r)],
                       columns, shape_.activation, strip.shape.out, numbers);
  }
}

}  // namespace trellis::engine::cpu
