#include "serve/engine/cuda/weight_upload.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serve/engine/cuda/emulation/half_rounding.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "serve/engine/cuda/kernels/kernels.h"
#include "tests/serve/model_files.h"

namespace trellis::engine::cuda {
namespace {

constexpr int kRows = 1100, kColumns = 1000;  // more than is sent in one piece

// Whole numbers that both 16 bit types have.
float NumberAt(size_t i, int of) {
  return static_cast<float>((i * 7 + i / 1000) % 251) - 100.0f + static_cast<float>(of);
}

class WeightUploadTest : public ::testing::Test {
 protected:
  WeightUploadTest() {
    std::string bytes;
    for (int of = 0; of < 2; ++of) {
      std::vector<float> numbers(kRows * kColumns);
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = NumberAt(i, of);
      bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
    }
    const size_t each = bytes.size() / 2;
    const auto entry = [](const char* name, size_t begin, size_t end) {
      return absl::StrCat("\"", name, R"(":{"dtype":"F32","shape":[)", kRows, ",", kColumns,
                          R"(],"data_offsets":[)", begin, ",", end, "]}");
    };
    folder_.Write(
        "model.safetensors",
        testing::Safetensors(
            absl::StrCat("{", entry("first", 0, each), ",", entry("second", each, 2 * each), "}"), bytes));
    EXPECT_EQ(fake_.CreateStream(&stream_), DeviceStatus::kOk);
  }
  absl::Status Read(const std::vector<std::string>& names, WeightUpload::As as, HalfType type,
                    DeviceMemory& memory, Buffer& out) {
    const auto weights = Weights::Open(folder_.path());
    if (!weights.ok()) return weights.status();
    WeightUpload upload(fake_, stream_, type, memory);
    return upload.Read(*weights, names, kRows, kColumns, as, out);
  }
  void TearDown() override {
    EXPECT_EQ(fake_.violations(), std::vector<std::string>());
    EXPECT_EQ(fake_.allocations(), 0u);
  }

  const testing::TemporaryFolder folder_;
  FakeDevice fake_;
  StreamId stream_{};
};

TEST_F(WeightUploadTest, FloatsOfSeveralPiecesEndToEnd) {
  DeviceMemory memory(fake_);
  Buffer out;
  const auto status = Read({"first", "second"}, WeightUpload::As::kFloat, HalfType::kBf16, memory, out);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(out.size, 2 * kRows * kColumns * sizeof(float));
  for (size_t i = 0; i < 2 * kRows * kColumns; ++i) {
    const size_t each = kRows * kColumns;
    ASSERT_EQ(out.as<float>()[i], NumberAt(i % each, static_cast<int>(i / each))) << i;
  }
}

TEST_F(WeightUploadTest, HalvesOfSeveralPieces) {
  for (const HalfType type : {HalfType::kBf16, HalfType::kF16}) {
    DeviceMemory memory(fake_);
    Buffer out;
    const auto status = Read({"second"}, WeightUpload::As::kHalf, type, memory, out);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(out.size, kRows * kColumns * sizeof(Bits16));
    for (size_t i = 0; i < kRows * kColumns; ++i) {
      const Bits16 bits = out.as<Bits16>()[i];
      const float number =
          type == HalfType::kBf16 ? emulation::FloatOfBf16(bits) : emulation::FloatOfF16(bits);
      ASSERT_EQ(number, NumberAt(i, 1)) << i;
    }
  }
}

TEST_F(WeightUploadTest, NoMemoryAndNoTensorAreNamed) {
  DeviceMemory memory(fake_);
  Buffer out;
  const auto absent = Read({"third"}, WeightUpload::As::kHalf, HalfType::kBf16, memory, out);
  EXPECT_NE(std::string(absent.message()).find("third"), std::string::npos) << absent;
  fake_.set_capacity(1 << 20);
  const auto full = Read({"first"}, WeightUpload::As::kFloat, HalfType::kBf16, memory, out);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
}

}  // namespace
}  // namespace trellis::engine::cuda
