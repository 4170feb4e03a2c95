// Captures and graphs of the fake GPU.
#include <utility>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/fake/fake_device.h"

namespace trellis::engine::cuda {

DeviceStatus FakeDevice::BeginCapture(StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kBeginCapture, InCapture::kForbidden);
  if (status != DeviceStatus::kOk) return status;
  if (!streams_.contains(stream)) {  // the default stream is among those
    Violate("BeginCapture on the default stream");
    return DeviceStatus::kCaptureUnsupported;
  }
  capture_stream_ = stream;
  capture_spoilt_ = false;
  captured_.clear();
  return DeviceStatus::kOk;
}

DeviceStatus FakeDevice::EndCapture(StreamId stream, GraphId* out) {
  const std::lock_guard lock(mutex_);
  if (!capturing() || stream != capture_stream_) {
    TakeNote(FakeCall::kEndCapture, "");
    if (poisoned_) return DeviceStatus::kFatal;
    Violate("EndCapture of a stream that does not capture");
    return DeviceStatus::kInvalid;
  }
  const bool spoilt = capture_spoilt_;
  capture_stream_ = kDefaultStream;
  capture_spoilt_ = false;
  std::vector<Work> nodes = std::exchange(captured_, {});
  if (const auto status = Enter(FakeCall::kEndCapture, InCapture::kAllowed); status != DeviceStatus::kOk) {
    return status;
  }
  if (spoilt) return DeviceStatus::kCaptureInvalidated;
  if (nodes.empty()) Violate("an empty graph: its work went to another stream");
  graphs_[*out = GraphId{next_id_++}] = std::move(nodes);
  return DeviceStatus::kOk;
}

DeviceStatus FakeDevice::Instantiate(GraphId graph, ExecId* out) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kInstantiate, InCapture::kForbidden);
  if (status != DeviceStatus::kOk) return status;
  Exec exec{graphs_.at(graph)};
  exec.bytes = exec.nodes.size() * kExecBytesPerNode;
  if (!memory_.Take(exec.bytes)) return DeviceStatus::kOutOfMemory;
  *out = ExecId{next_id_++};
  for (Work& node : exec.nodes) node.exec = *out;
  execs_[*out] = std::move(exec);
  return DeviceStatus::kOk;
}

void FakeDevice::CheckGraphLaunch(StreamId stream, ExecId id, const Exec& exec) {
  if (work_.Any([&](StreamId other, const Work& work) { return work.exec == id && other != stream; })) {
    Violate("a graph overlaps itself on another stream");
  }
  size_t live_bytes = 0;
  for (const auto& [other, one] : execs_) live_bytes += one.destroyed ? 0 : one.bytes;
  if (live_bytes > exec_budget_) {
    Violate(absl::StrCat("graphs take ", live_bytes, " bytes, expected at most ", exec_budget_));
  }
  // What two streams' graphs both write would be written at the same time.
  for (const Work& node : exec.nodes) {
    for (const Buffer& buffer : node.writes) {
      const auto allocation = memory_.Find(buffer);
      if (!allocation.has_value() || allocation->kind != MemoryKind::kDevice) continue;
      const auto [owner, is_new] = arena_streams_.emplace(allocation->all.data, stream);
      if (owner->second != stream) {
        Violate(absl::StrCat(node.name, ": graphs write one arena on two streams"));
        return;
      }
    }
  }
}

DeviceStatus FakeDevice::EnqueueGraph(StreamId stream, ExecId id) {
  const std::lock_guard lock(mutex_);
  const auto status =
      Enter(FakeCall::kEnqueueGraph, InCapture::kForbidden, absl::StrCat(static_cast<int>(id)));
  if (status != DeviceStatus::kOk) return status;
  const auto found = execs_.find(id);
  if (found == execs_.end() || found->second.destroyed) {
    Violate("EnqueueGraph of one that was destroyed");
    return DeviceStatus::kInvalid;
  }
  CheckGraphLaunch(stream, id, found->second);
  for (const Work& node : found->second.nodes) {
    if (const auto added = Add(stream, node); added != DeviceStatus::kOk) return added;
  }
  return DeviceStatus::kOk;
}

void FakeDevice::DestroyGraph(GraphId graph) {
  const std::lock_guard lock(mutex_);
  TakeNote(FakeCall::kDestroyGraph, "");
  if (graphs_.erase(graph) == 0) Violate("DestroyGraph of what is none");
}

bool FakeDevice::InFlight(ExecId exec) const {
  return work_.Any([exec](StreamId, const Work& work) { return work.exec == exec; });
}

void FakeDevice::FreeDestroyed() {
  for (auto exec = execs_.begin(); exec != execs_.end();) {
    if (!exec->second.destroyed || InFlight(exec->first)) {
      ++exec;
      continue;
    }
    memory_.GiveBack(exec->second.bytes);
    exec = execs_.erase(exec);
  }
}

void FakeDevice::DestroyExec(ExecId exec) {
  const std::lock_guard lock(mutex_);
  TakeNote(FakeCall::kDestroyExec, "");
  const auto found = execs_.find(exec);
  if (found == execs_.end() || found->second.destroyed) return Violate("DestroyExec of what is none");
  found->second.destroyed = true;
  FreeDestroyed();
}

size_t FakeDevice::ExecBytes(ExecId exec) {
  const std::lock_guard lock(mutex_);
  TakeNote(FakeCall::kExecBytes, "");
  return execs_.at(exec).bytes;
}

}  // namespace trellis::engine::cuda
