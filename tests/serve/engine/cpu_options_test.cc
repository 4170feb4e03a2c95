#include "serve/engine/cpu/cpu_options.h"

#include "gtest/gtest.h"

namespace trellis::engine {
namespace {

TEST(CpuOptions, FolderAloneIsEnough) {
  const auto options = ParseCpuEngineOptions("some/folder");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->folder, "some/folder");
  EXPECT_FALSE(options->precision.has_value());
  EXPECT_EQ(options->threads, 0);
}

TEST(CpuOptions, AllSettings) {
  const auto options = ParseCpuEngineOptions("f,threads=3,dtype=int8");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->precision, cpu::Precision::kInt8);
  EXPECT_EQ(options->threads, 3);
  EXPECT_EQ(ParseCpuEngineOptions("f,dtype=bf16")->precision, cpu::Precision::kBf16);
  EXPECT_EQ(ParseCpuEngineOptions("f,dtype=f32")->precision, cpu::Precision::kF32);
  EXPECT_FALSE(ParseCpuEngineOptions("f,dtype=auto")->precision.has_value());
}

TEST(CpuOptions, ErrorsNameKeyValueAndExpectation) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "cpu: folder: \"\", expected a model's folder"},
      {",dtype=f32", "cpu: folder: \"\", expected a model's folder"},
      {"f,dtype=fp8", "cpu: dtype: \"fp8\", expected auto, f32, bf16 or int8"},
      {"f,threads=0", "cpu: threads: \"0\", expected a whole number from 1 to"},
      {"f,threads=2x", "cpu: threads: \"2x\", expected a whole number from 1 to"},
      {"f,threads=99999999999", "cpu: threads: \"99999999999\", expected a whole number from 1 to"},
      {"f,threads=1,threads=2", "cpu: threads: \"2\", expected each key once"},
      {"f,colour=red", "cpu: key: \"colour\", expected dtype or threads"},
      {"f,fast", "cpu: setting: \"fast\", expected key=value, as in dtype="},
  };
  for (const auto& [spec, expected] : cases) {
    const auto options = ParseCpuEngineOptions(spec);
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_NE(std::string(options.status().message()).find(expected), std::string::npos) << options.status();
  }
}

TEST(CpuOptions, DefaultsAreWhatTheMachineHas) {
  EXPECT_GE(DefaultThreads(), 1);
  EXPECT_TRUE(cpu::Supports(DefaultPrecision()).ok());
  EXPECT_NE(DefaultPrecision(), cpu::Precision::kInt8);
}

}  // namespace
}  // namespace trellis::engine
