#include "serve/engine/cuda/kernels/attention_backends.h"

#include <set>
#include <string_view>

#include "gtest/gtest.h"

namespace trellis::engine::cuda {
namespace {

std::string_view Chosen(const AttentionShape& shape, std::string_view name = {}) {
  const AttentionBackend* const backend = ChooseAttention(shape, name);
  return backend == nullptr ? "none" : backend->name;
}

TEST(CudaAttentionBackends, TensorCoresWhereTheyCan) {
  for (const int size : {32, 64, 128}) {
    for (const int architecture : {80, 86, 90, 100}) {
      EXPECT_EQ(Chosen({HalfType::kBf16, 12, size, 512, architecture}), "mma");
      EXPECT_EQ(Chosen({HalfType::kF16, 12, size, 8192, architecture}), "mma");
    }
    EXPECT_EQ(Chosen({HalfType::kBf16, 12, size, 512, 75}), "reference") << "no asynchronous copies, no bf16";
  }
  EXPECT_EQ(Chosen({HalfType::kBf16, 12, 48, 512, 90}), "reference");
  EXPECT_EQ(Chosen({HalfType::kBf16, 4, 8, 512, 90}), "reference");
}

TEST(CudaAttentionBackends, NoneForWhatNobodyHas) {
  EXPECT_EQ(Chosen({HalfType::kBf16, 12, kReferenceHeadSize, 512, 90}), "reference");
  EXPECT_EQ(Chosen({HalfType::kBf16, 12, kReferenceHeadSize + 1, 512, 90}), "none");
  EXPECT_EQ(Chosen({HalfType::kBf16, 0, 64, 512, 90}), "none");
  EXPECT_EQ(Chosen({HalfType::kBf16, 65536, 64, 512, 90}), "none")
      << "a grid has at most 65,535 in this direction";
  EXPECT_EQ(Chosen({HalfType::kBf16, 12, 0, 512, 90}), "none");
}

TEST(CudaAttentionBackends, ByName) {
  const AttentionShape shape{HalfType::kBf16, 12, 64, 512, 90};
  EXPECT_EQ(Chosen(shape, "reference"), "reference");
  EXPECT_EQ(Chosen(shape, "mma"), "mma");
  EXPECT_EQ(Chosen(shape, "flash"), "none");
  EXPECT_EQ(Chosen({HalfType::kBf16, 12, 48, 512, 90}, "mma"), "none") << "named, but it cannot";
  std::set<std::string_view> names;
  for (const AttentionBackend& backend : AttentionBackends()) EXPECT_TRUE(names.insert(backend.name).second);
}

}  // namespace
}  // namespace trellis::engine::cuda
