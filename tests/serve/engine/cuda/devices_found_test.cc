#include "serve/engine/cuda/devices_found.h"

#include "gtest/gtest.h"

namespace trellis::engine::cuda {
namespace {

// As a machine with two H200 says it; CUDA's numbers of versions are 1000 * major + 10 * minor.
DevicesFound TwoGpus() { return {13000, 13000, 2, "", 90}; }

void ExpectRefused(int ordinal, const DevicesFound& found, const std::string& expected) {
  const absl::Status status = CheckDevices(ordinal, found);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  const std::string said(status.message());
  EXPECT_NE(said.find(expected), std::string::npos) << said;
  EXPECT_NE(said.find("--device cpu"), std::string::npos) << said;
}

TEST(DevicesFound, WhatThereIsIsFine) {
  EXPECT_TRUE(CheckDevices(0, TwoGpus()).ok());
  EXPECT_TRUE(CheckDevices(1, TwoGpus()).ok());
  DevicesFound found = TwoGpus();
  found.runtime = 13020;  // within a major version an older driver will do
  EXPECT_TRUE(CheckDevices(1, found).ok());
  found.architecture = 80;
  EXPECT_TRUE(CheckDevices(1, found).ok());
}

TEST(DevicesFound, NoDriver) {
  ExpectRefused(0, {0, 13000, 0, "CUDA driver version is insufficient for CUDA runtime version", 0},
                "cuda:0: no NVIDIA driver, expected one for CUDA 13.0 or newer");
}

TEST(DevicesFound, AnOldDriver) {
  ExpectRefused(0, {12080, 13020, 1, "", 90},
                "cuda:0: the driver knows CUDA up to 12.8, expected 13.0 or newer");
}

TEST(DevicesFound, NoGpu) {
  ExpectRefused(1, {13000, 13000, 0, "no CUDA-capable device is detected", 0},
                "cuda:1: the driver shows no GPU: no CUDA-capable device is detected; is "
                "CUDA_VISIBLE_DEVICES right?");
}

TEST(DevicesFound, NoGpuOfThisNumber) {
  ExpectRefused(2, TwoGpus(), "cuda:2: no such GPU, expected 0 to 1");
  ExpectRefused(-1, TwoGpus(), "cuda:-1: no such GPU, expected 0 to 1");
}

TEST(DevicesFound, AGpuThatCannotBeHad) {
  DevicesFound found = TwoGpus();
  found.error = "all CUDA-capable devices are busy or unavailable";
  ExpectRefused(1, found, "cuda:1: all CUDA-capable devices are busy or unavailable");
}

TEST(DevicesFound, AnOldGpu) {
  DevicesFound found = TwoGpus();
  found.architecture = 75;
  ExpectRefused(0, found, "cuda:0: compute capability 7.5, expected 8.0 or newer");
}

}  // namespace
}  // namespace trellis::engine::cuda
