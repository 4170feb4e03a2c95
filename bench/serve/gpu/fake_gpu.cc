#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/serve/gpu/gpu.h"
#include "serve/engine/cuda/fake/fake_device.h"

namespace trellis::engine::cuda {
namespace {

std::shared_ptr<FakeDevice>& Opened() {
  static std::shared_ptr<FakeDevice> device;
  return device;
}

}  // namespace

const char* const kGpuKind = "fake";

absl::StatusOr<std::shared_ptr<Device>> OpenGpu() {
  Opened() = std::make_shared<FakeDevice>();
  return Opened();
}

absl::Status RulesKept() {
  if (Opened() == nullptr) return absl::OkStatus();
  std::vector<std::string> broken = Opened()->violations();
  if (const size_t left = Opened()->allocations(); left > 0) {
    broken.push_back(absl::StrCat(left, " allocations left"));
  }
  if (broken.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("rules of CUDA broken: ", absl::StrJoin(broken, "; ")));
}

}  // namespace trellis::engine::cuda
