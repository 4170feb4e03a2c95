// The calls that cuBLASLt gets, against a library that does what NVIDIA's documentation says of them
// (cublaslt_stand_in.cc), and the plain product of the fake GPU.
#include "serve/engine/cuda/cublaslt.h"

#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "serve/engine/cuda/emulation/half_rounding.h"
#include "serve/engine/cuda/fake/gemm_reference.h"

namespace trellis::engine::cuda {
namespace {

int AskStandIn(const char* function) {
  void* const library = dlopen(TRELLIS_CUBLASLT_STAND_IN, RTLD_NOW | RTLD_NOLOAD);
  const auto call = reinterpret_cast<int (*)()>(dlsym(library, function));
  const int answer = call();
  dlclose(library);
  return answer;
}

struct Matrix {
  Matrix(int32_t rows, int32_t columns) : numbers(static_cast<size_t>(rows * columns) + 8) {}
  // Fractions of 8, exact in both types, as are their sums of products below 2^21.
  void FillAtRandom(std::mt19937& random, HalfType type) {
    for (uint16_t& number : numbers) {
      const float value = static_cast<float>(static_cast<int>(random() % 31) - 15) / 8;
      number = type == HalfType::kF16 ? emulation::F16OfFloat(value) : emulation::Bf16OfFloat(value);
    }
  }
  Buffer buffer() {
    void* data = numbers.data();
    size_t room = numbers.size() * sizeof(uint16_t);
    const size_t used = room - 16;
    std::align(16, used, data, room);
    return {static_cast<std::byte*>(data), used};
  }
  std::vector<uint16_t> numbers;
};

TEST(CublasLt, ComputesLinearLayers) {
  auto lt = CublasLt::Open(TRELLIS_CUBLASLT_STAND_IN);
  ASSERT_TRUE(lt.ok()) << lt.status();
  std::vector<std::byte> workspace(kGemmWorkspaceBytes);
  std::mt19937 random(5);
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    for (const GemmBias bias : {GemmBias::kNone, GemmBias::kThere}) {
      const GemmShape shape{5, 7, 11, type, bias};
      Matrix input(5, 11), weight(7, 11), added(1, 7), output(5, 7), expected(5, 7);
      for (Matrix* const matrix : {&input, &weight, &added}) matrix->FillAtRandom(random, type);
      GemmCall call{shape,          input.buffer(),  weight.buffer(),
                    added.buffer(), output.buffer(), {workspace.data(), workspace.size()}};
      EXPECT_EQ((*lt)->Run(nullptr, call), DeviceStatus::kInvalid);  // not prepared
      ASSERT_EQ((*lt)->Prepare(shape), DeviceStatus::kOk);
      ASSERT_EQ((*lt)->Run(nullptr, call), DeviceStatus::kOk);
      call.output = expected.buffer();
      RunGemm(call);
      for (size_t i = 0; i < 35; ++i) {
        EXPECT_EQ(output.buffer().as<uint16_t>()[i], expected.buffer().as<uint16_t>()[i]) << i;
      }
    }
  }
}

TEST(CublasLt, AnAlgorithmIsChosenOnceForAShape) {
  {
    auto lt = CublasLt::Open(TRELLIS_CUBLASLT_STAND_IN);
    ASSERT_TRUE(lt.ok()) << lt.status();
    const int before = AskStandIn("stand_in_heuristics");
    for (int i = 0; i < 3; ++i) {
      for (const int32_t m : {64, 128}) ASSERT_EQ((*lt)->Prepare({m, 8, 8}), DeviceStatus::kOk);
    }
    EXPECT_EQ(AskStandIn("stand_in_heuristics"), before + 2);
    EXPECT_TRUE((*lt)->IsPrepared({64, 8, 8}));
    EXPECT_FALSE((*lt)->IsPrepared({64, 8, 8, HalfType::kF16}));
    EXPECT_FALSE((*lt)->IsPrepared({64, 8, 8, HalfType::kBf16, GemmBias::kNone}));
    EXPECT_EQ((*lt)->Prepare({13, 8, 8}), DeviceStatus::kInvalid);  // it has none for that
    EXPECT_FALSE((*lt)->IsPrepared({13, 8, 8}));
  }
  EXPECT_EQ(AskStandIn("stand_in_live"), 0);  // everything made was destroyed
}

TEST(CublasLt, AWorkspaceThatIsTooSmallIsRefused) {
  auto lt = CublasLt::Open(TRELLIS_CUBLASLT_STAND_IN);
  ASSERT_TRUE(lt.ok());
  ASSERT_EQ((*lt)->Prepare({1, 1, 1}), DeviceStatus::kOk);
  Matrix one(1, 1);
  const Buffer b = one.buffer();
  EXPECT_EQ((*lt)->Run(nullptr, {{1, 1, 1}, b, b, b, b, b}), DeviceStatus::kInvalid);
}

TEST(CublasLt, WhatIsNotThereIsNamed) {
  const auto missing = CublasLt::Open("no-such-folder/libcublasLt.so.13");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(missing.status().message()).find("no-such-folder/libcublasLt.so.13"),
            std::string::npos)
      << missing.status();
  const auto other = CublasLt::Open("libm.so.6");
  EXPECT_EQ(other.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(other.status().message()).find("libm.so.6 has no cublasLt"), std::string::npos)
      << other.status();
}

}  // namespace
}  // namespace trellis::engine::cuda
