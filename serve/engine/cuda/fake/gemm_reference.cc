#include "serve/engine/cuda/fake/gemm_reference.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/emulation/half_rounding.h"

namespace trellis::engine::cuda {
namespace {

float ToFloat(uint16_t bits, HalfType type) {
  return type == HalfType::kF16 ? emulation::FloatOfF16(bits) : emulation::FloatOfBf16(bits);
}

uint16_t ToHalf(float value, HalfType type) {
  return type == HalfType::kF16 ? emulation::F16OfFloat(value) : emulation::Bf16OfFloat(value);
}

std::vector<float> Floats(Buffer from, int32_t rows, int32_t columns, HalfType type) {
  std::vector<float> out(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  for (size_t i = 0; i < out.size(); ++i) out[i] = ToFloat(from.as<uint16_t>()[i], type);
  return out;
}

}  // namespace

std::string GemmBreach(const GemmCall& call) {
  const GemmShape& shape = call.shape;
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
    return absl::StrCat("gemm of ", shape.m, " x ", shape.n, " x ", shape.k, ", expected at least 1 each");
  }
  const auto check = [](const char* name, Buffer buffer, int32_t rows, int32_t columns) -> std::string {
    const size_t needed = static_cast<size_t>(rows) * static_cast<size_t>(columns) * sizeof(uint16_t);
    if (buffer.size < needed) {
      return absl::StrCat("gemm ", name, ": ", buffer.size, " bytes, expected at least ", needed);
    }
    if (reinterpret_cast<uintptr_t>(buffer.data) % 16 != 0)
      return absl::StrCat("gemm ", name, ": not aligned");
    return "";
  };
  std::string breach = check("input", call.input, shape.m, shape.k);
  if (breach.empty()) breach = check("weight", call.weight, shape.n, shape.k);
  if (breach.empty() && shape.bias == GemmBias::kThere) breach = check("bias", call.bias, 1, shape.n);
  if (breach.empty()) breach = check("output", call.output, shape.m, shape.n);
  return breach;
}

void RunGemm(const GemmCall& call) {
  const auto [m, n, k, type, bias] = call.shape;
  const std::vector<float> input = Floats(call.input, m, k, type), weight = Floats(call.weight, n, k, type);
  const std::vector<float> added =
      bias == GemmBias::kThere ? Floats(call.bias, 1, n, type) : std::vector<float>();
  auto* out = call.output.as<uint16_t>();
  for (int32_t row = 0; row < m; ++row) {
    const float* const x = input.data() + static_cast<size_t>(row) * static_cast<size_t>(k);
    for (int32_t column = 0; column < n; ++column) {
      const float* const w = weight.data() + static_cast<size_t>(column) * static_cast<size_t>(k);
      float sum = 0;
      for (int32_t i = 0; i < k; ++i) sum += x[i] * w[i];
      if (!added.empty()) sum += added[static_cast<size_t>(column)];
      *out++ = ToHalf(sum, type);
    }
  }
}

}  // namespace trellis::engine::cuda
