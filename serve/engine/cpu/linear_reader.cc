#include "serve/engine/cpu/linear_reader.h"

#include <array>
#include <span>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cpu {
namespace {

absl::Status Append(const Weights& weights, const std::string& name, Bias has_bias, int in, int out,
                    std::vector<float>& weight, std::vector<float>& bias) {
  const auto w = weights.Find(name + "weight", std::array<int64_t, 2>{out, in});
  if (!w.ok()) return w.status();
  const size_t from = weight.size(), bias_from = bias.size();
  weight.resize(from + static_cast<size_t>(out) * static_cast<size_t>(in));
  bias.resize(bias_from + static_cast<size_t>(out));
  (*w)->CopyTo(std::span(weight).subspan(from));
  if (has_bias == Bias::kPerhaps && !weights.Has(name + "bias")) return absl::OkStatus();
  const auto b = weights.Find(name + "bias", std::array<int64_t, 1>{out});
  if (!b.ok()) return b.status();
  (*b)->CopyTo(std::span(bias).subspan(bias_from));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Linear> ReadLinear(const Weights& weights, const std::vector<std::string>& names,
                                  Bias has_bias, const MatmulShape& shape, Matmuls& matmuls, int threads) {
  std::vector<float> weight, bias;
  const int part = shape.out / static_cast<int>(names.size());
  for (const std::string& name : names) {
    if (auto status = Append(weights, name, has_bias, shape.in, part, weight, bias); !status.ok())
      return status;
  }
  auto linear = Linear::Create(shape, {weight, bias}, matmuls, threads);
  if (linear.ok()) return linear;
  return absl::Status(linear.status().code(),
                      absl::StrCat(names.front(), "weight: ", std::string(linear.status().message())));
}

}  // namespace trellis::engine::cpu
