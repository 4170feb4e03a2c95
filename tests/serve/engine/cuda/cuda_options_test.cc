#include "serve/engine/cuda/cuda_options.h"

#include "gtest/gtest.h"

namespace trellis::engine::cuda {
namespace {

TEST(CudaOptions, FolderAloneIsEnough) {
  const auto options = ParseCudaEngineOptions("some/folder");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->folder, "some/folder");
  EXPECT_EQ(options->device, 0);
  EXPECT_EQ(options->type, HalfType::kBf16);
  EXPECT_TRUE(options->warm_up.empty());
}

TEST(CudaOptions, AllSettings) {
  const auto options = ParseCudaEngineOptions(
      "f,device=3,dtype=fp16,max_batch_tokens=8192,attention=mma,warm_up=1x128+32x4096");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->device, 3);
  EXPECT_EQ(options->type, HalfType::kF16);
  EXPECT_EQ(options->max_batch_tokens, 8192);
  EXPECT_EQ(options->attention, "mma");
  EXPECT_EQ(options->warm_up, (std::vector<Bucket>{{1, 128}, {32, 4096}}));
  EXPECT_EQ(ParseCudaEngineOptions("f,dtype=auto")->type, HalfType::kBf16);
  EXPECT_EQ(ParseCudaEngineOptions("f,dtype=bf16")->type, HalfType::kBf16);
}

TEST(CudaOptions, ErrorsNameKeyValueAndExpectation) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "cuda: folder: \"\", expected a model's folder"},
      {"f,dtype=f32", "cuda: dtype: \"f32\", expected auto, bf16 or fp16"},
      {"f,device=-1", "cuda: device: \"-1\", expected a whole number from 0 to 1023"},
      {"f,device=0x1", "cuda: device: \"0x1\", expected a whole number from 0 to 1023"},
      {"f,device=", "cuda: device: \"\", expected a whole number from 0 to 1023"},
      {"f,max_batch_tokens=0", "cuda: max_batch_tokens: \"0\", expected a whole number from 1 to 1048576"},
      {"f,device=1,device=2", "cuda: device: \"2\", expected each key once"},
      {"f,threads=2",
       "cuda: key: \"threads\", expected device, dtype, max_batch_tokens, attention or warm_up"},
      {"f,fast", "cuda: setting: \"fast\", expected key=value"},
      {"f,warm_up=128", "cuda: warm_up: \"128\", expected ROWSxTOKENS"},
      {"f,warm_up=1x128+", "cuda: warm_up: \"1x128+\", expected ROWSxTOKENS"},
      {"f,warm_up=8x4", "cuda: warm_up: \"8x4\", expected ROWSxTOKENS"},
      {"f,warm_up=x4", "cuda: warm_up: \"x4\", expected ROWSxTOKENS"},
      {"f,warm_up=1x99999999", "cuda: warm_up: \"1x99999999\", expected ROWSxTOKENS"},
  };
  for (const auto& [spec, expected] : cases) {
    const auto options = ParseCudaEngineOptions(spec);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_NE(std::string(options.status().message()).find(expected), std::string::npos) << options.status();
  }
}

}  // namespace
}  // namespace trellis::engine::cuda
