#include "serve/engine_choice.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace trellis::program {
namespace {

TEST(ChoiceOf, AModelOnTheProcessor) {
  EXPECT_EQ(*ChoiceOf({"some/folder"}), "cpu:some/folder,dtype=auto");
  EXPECT_EQ(*ChoiceOf({"f", "cpu", "float32", 3}), "cpu:f,dtype=f32,threads=3");
  EXPECT_EQ(*ChoiceOf({"f", "cpu", "bfloat16"}), "cpu:f,dtype=bf16");
  EXPECT_EQ(*ChoiceOf({"f", "cpu", "int8"}), "cpu:f,dtype=int8");
}

TEST(ChoiceOf, AModelOnAGpu) {
  EXPECT_EQ(*ChoiceOf({"some/folder", "cuda"}), "cuda:some/folder,device=0,dtype=auto");
  EXPECT_EQ(*ChoiceOf({"f", "cuda:3", "float16"}), "cuda:f,device=3,dtype=fp16");
  EXPECT_EQ(*ChoiceOf({"f", "cuda:12", "bf16", 4}), "cuda:f,device=12,dtype=bf16");  // threads are the CPU's
}

TEST(ChoiceOf, ErrorsNameFlagValueAndExpectation) {
  const std::pair<ModelOnDevice, const char*> cases[] = {
      {{"f", "gpu"}, "--device: 'gpu', expected cpu, cuda or cuda:N"},
      {{"f", "cuda:"}, "--device: 'cuda:', expected cpu, cuda or cuda:N"},
      {{"f", "cuda:one"}, "--device: 'cuda:one', expected cpu, cuda or cuda:N"},
      {{"f", "cuda:-1"}, "--device: 'cuda:-1', expected cpu, cuda or cuda:N"},
      {{"f", "cuda:0,dtype=fp16"}, "--device: 'cuda:0,dtype=fp16', expected cpu, cuda or cuda:N"},
      {{"f", "cuda:99999"}, "--device: 'cuda:99999', expected cpu, cuda or cuda:N"},
      {{"f", "cuda", "float32"}, "--dtype: float32, expected auto, bf16 or fp16 with --device cuda"},
      {{"f", "cuda", "int8"}, "--dtype: int8, expected auto, bf16 or fp16 with --device cuda"},
      {{"f", "", "fp16"}, "--dtype: fp16, expected auto, f32, bf16 or int8 with --device cpu"},
  };
  for (const auto& [model, expected] : cases) {
    const auto choice = ChoiceOf(model);
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kInvalidArgument) << expected;
    EXPECT_NE(std::string(choice.status().message()).find(expected), std::string::npos) << choice.status();
  }
}

TEST(MakeEngine, AnEngineThatNeedsNoWarmUpHasNone) {
  const auto chosen = MakeEngine("synthetic:depth=1");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->name, "synthetic");
  EXPECT_EQ(chosen->warm_up, nullptr);
  EXPECT_EQ(chosen->graphs, nullptr);
  EXPECT_EQ(MakeEngine("abacus").status().code(), absl::StatusCode::kNotFound);
}

TEST(MakeEngine, WhereThereIsNoGpuItSaysWhatIsMissing) {
  EXPECT_EQ(MakeEngine("cuda:f,device=x").status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status status = MakeEngine("cuda:f,device=1023").status();  // of which no machine has so many
  const std::string said(status.message());
#ifdef TRELLIS_CUDA
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(said.find("cuda:1023: "), std::string::npos) << said;
#else
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_NE(said.find("cuda:1023: this program was built without CUDA, expected one that was built with "
                      "cmake -DTRELLIS_CUDA=ON"),
            std::string::npos)
      << said;
#endif
  EXPECT_NE(said.find("--device cpu (or --engine cpu:FOLDER)"), std::string::npos) << said;
}

}  // namespace
}  // namespace trellis::program
