// What the fake GPU is given to do, and how it does it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/fake/fake_device.h"
#include "serve/engine/cuda/fake/gemm_reference.h"

namespace trellis::engine::cuda {
namespace {

constexpr uint32_t kMostGridYz = 65535;  // CUDA's own limit; x may have 2^31 - 1

}  // namespace

void FakeDevice::CheckPointers(const Work& work) {
  for (const auto* list : {&work.reads, &work.writes}) {
    for (const Buffer& buffer : *list) {
      if (!memory_.Find(buffer).has_value()) {
        Violate(absl::StrCat(work.name, ": touches memory that is not allocated"));
      }
    }
  }
}

DeviceStatus FakeDevice::Add(StreamId stream, Work work) {
  if (!streams_.contains(stream)) {
    Violate(absl::StrCat(work.name, ": on a stream that was not created"));
    return DeviceStatus::kInvalid;
  }
  CheckPointers(work);
  if (!capturing() || stream != capture_stream_) {
    work_.Add(stream, std::move(work));
    return DeviceStatus::kOk;
  }
  if (capture_spoilt_) return DeviceStatus::kCaptureInvalidated;
  captured_.push_back(std::move(work));
  return DeviceStatus::kOk;
}

void FakeDevice::Run(Work& work) {
  TakeNote(FakeCall::kExecution, work.name);
  if (!poisoned_) FaultOf(FakeCall::kExecution);
  if (poisoned_) return;  // what is behind a kernel that died is not done
  CheckPointers(work);
  if (work.reads_host && HashOf(work.reads[0]) != work.host_bytes) {
    Violate(absl::StrCat(work.name, ": the pinned memory changed before it was copied"));
  }
  if (work.run) work.run();
}

DeviceStatus FakeDevice::EnqueueCopy(StreamId stream, Buffer to, Buffer from) {
  const std::lock_guard lock(mutex_);
  if (const auto status = Enter(FakeCall::kEnqueueCopy, InCapture::kAllowed); status != DeviceStatus::kOk) {
    return status;
  }
  const auto target = memory_.Find(to), source = memory_.Find(from);
  if (to.size != from.size || to.size == 0) {
    Violate(absl::StrCat("EnqueueCopy: ", from.size, " bytes to ", to.size));
    return DeviceStatus::kInvalid;
  }
  if (!target.has_value() || !source.has_value()) {
    // CUDA would copy pageable memory through a buffer of its own and wait for it; captured, it is refused.
    Violate("EnqueueCopy: memory that is neither the GPU's nor pinned");
    capture_spoilt_ = true;
    return capturing() ? DeviceStatus::kCaptureUnsupported : DeviceStatus::kInvalid;
  }
  Work copy{"copy", {from}, {to}, [to, from] { std::copy_n(from.data, from.size, to.data); }};
  if (source->kind == MemoryKind::kPinned && !capturing()) {
    copy.reads_host = true;
    copy.host_bytes = HashOf(from);
  }
  // Until it is copied, nobody may count on what is there.
  if (target->kind == MemoryKind::kPinned && !capturing()) std::fill_n(to.data, to.size, std::byte{0xff});
  return Add(stream, std::move(copy));
}

DeviceStatus FakeDevice::EnqueueKernel(StreamId stream, const Launch& launch) {
  const std::lock_guard lock(mutex_);
  const std::string name(launch.kernel);
  if (const auto status = Enter(FakeCall::kEnqueueKernel, InCapture::kAllowed, name);
      status != DeviceStatus::kOk) {
    return status;
  }
  const Grid& grid = launch.grid;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > kMostGridYz ||
      grid.z > kMostGridYz) {
    Violate(absl::StrCat(name, ": grid of ", grid.x, " x ", grid.y, " x ", grid.z));
    return DeviceStatus::kInvalid;
  }
  // CUDA loads a kernel when it is first launched, which a capture may not wait for.
  if (capturing() && !warm_kernels_.contains(name))
    Violate(absl::StrCat(name, ": first launched in a capture"));
  if (!capturing()) warm_kernels_.insert(name);
  return Add(stream, {name, launch.reads, launch.writes, [body = launch.body] { body(nullptr); }});
}

DeviceStatus FakeDevice::PrepareGemm(const GemmShape& shape) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kPrepareGemm, InCapture::kForbidden);
  if (status == DeviceStatus::kOk) prepared_.insert(shape);
  return status;
}

DeviceStatus FakeDevice::EnqueueGemm(StreamId stream, const GemmCall& call) {
  const std::lock_guard lock(mutex_);
  if (const auto status = Enter(FakeCall::kEnqueueGemm, InCapture::kAllowed); status != DeviceStatus::kOk) {
    return status;
  }
  if (const std::string breach = GemmBreach(call); !breach.empty()) {
    Violate(breach);
    return DeviceStatus::kInvalid;
  }
  if (!prepared_.contains(call.shape)) {
    if (capturing()) {
      Violate("gemm: its algorithm would be looked for in a capture");
      capture_spoilt_ = true;
      return DeviceStatus::kCaptureUnsupported;
    }
    prepared_.insert(call.shape);
  }
  const auto [owner, is_new] = workspace_streams_.emplace(call.workspace.data, stream);
  if (owner->second != stream) Violate("gemm: one workspace on two streams");
  Work work{"gemm", {call.input, call.weight}, {call.output, call.workspace}, [call] { RunGemm(call); }};
  if (call.shape.bias == GemmBias::kThere) work.reads.push_back(call.bias);
  return Add(stream, std::move(work));
}

}  // namespace trellis::engine::cuda
