// Knobs, notes, memory, streams and events. What is enqueued: fake_enqueue.cc; graphs: fake_graphs.cc.
#include "serve/engine/cuda/fake/fake_device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::engine::cuda {
namespace {

constexpr const char* kNames[] = {
    "Allocate",     "AllocatePinned", "Free",         "FreeBytes",   "CreateStream", "CreateEvent",
    "Record",       "Query",          "Wait",         "Synchronize", "EnqueueCopy",  "EnqueueKernel",
    "PrepareGemm",  "EnqueueGemm",    "BeginCapture", "EndCapture",  "Instantiate",  "EnqueueGraph",
    "DestroyGraph", "DestroyExec",    "ExecBytes",    "execution"};

const char* NameOf(FakeCall call) { return kNames[static_cast<size_t>(call)]; }

template <typename Id>
std::string Number(Id id) {
  return absl::StrCat(static_cast<int32_t>(id));
}

}  // namespace

void FakeDevice::Fail(FakeCall call, DeviceStatus status, int nth, int count) {
  const std::lock_guard lock(mutex_);
  const int first = counts_[call] + nth;
  faults_.push_back({call, status, first, first + count - 1});
}

void FakeDevice::Hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void FakeDevice::Release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  released_.notify_all();
}

void FakeDevice::set_queries_until_done(int queries) {
  const std::lock_guard lock(mutex_);
  queries_until_done_ = queries;
}

void FakeDevice::set_capacity(size_t bytes) {
  const std::lock_guard lock(mutex_);
  memory_.set_capacity(bytes);
}

void FakeDevice::set_exec_budget(size_t bytes) {
  const std::lock_guard lock(mutex_);
  exec_budget_ = bytes;
}

std::vector<FakeDevice::Note> FakeDevice::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

int FakeDevice::count(FakeCall call) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(call);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::string> FakeDevice::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

size_t FakeDevice::allocations() const {
  const std::lock_guard lock(mutex_);
  return memory_.allocations();
}

size_t FakeDevice::live_execs() const {
  const std::lock_guard lock(mutex_);
  size_t live = 0;
  for (const auto& [id, exec] : execs_) live += exec.destroyed ? 0 : 1;
  return live;
}

void FakeDevice::TakeNote(FakeCall call, const std::string& what) {
  ++counts_[call];
  notes_.push_back({call, what});
  if (owner_ == std::thread::id()) owner_ = std::this_thread::get_id();
  if (owner_ != std::this_thread::get_id()) {
    Violate(absl::StrCat(NameOf(call), " by another thread than the first call's"));
  }
}

DeviceStatus FakeDevice::FaultOf(FakeCall call) {
  const int number = counts_[call];
  for (const Fault& fault : faults_) {
    if (fault.call != call || number < fault.first || number > fault.last) continue;
    if (IsFatal(fault.status)) poisoned_ = true;
    return fault.status;
  }
  return DeviceStatus::kOk;
}

DeviceStatus FakeDevice::Enter(FakeCall call, InCapture in_capture, const std::string& what) {
  TakeNote(call, what);
  if (poisoned_) return DeviceStatus::kFatal;
  if (const DeviceStatus fault = FaultOf(call); fault != DeviceStatus::kOk) {
    capture_spoilt_ = true;
    return fault;
  }
  if (in_capture == InCapture::kForbidden && capturing()) {
    capture_spoilt_ = true;
    Violate(absl::StrCat(NameOf(call), " during a capture"));
    return DeviceStatus::kCaptureUnsupported;
  }
  return DeviceStatus::kOk;
}

// --- memory ---

DeviceStatus FakeDevice::AllocateOf(MemoryKind kind, size_t bytes, Buffer* out) {
  if (bytes == 0) return DeviceStatus::kInvalid;
  *out = memory_.Allocate(bytes, kind);
  return out->data == nullptr ? DeviceStatus::kOutOfMemory : DeviceStatus::kOk;
}

DeviceStatus FakeDevice::Allocate(size_t bytes, Buffer* out) {
  const std::lock_guard lock(mutex_);
  const DeviceStatus status = Enter(FakeCall::kAllocate, InCapture::kForbidden, absl::StrCat(bytes));
  return status != DeviceStatus::kOk ? status : AllocateOf(MemoryKind::kDevice, bytes, out);
}

DeviceStatus FakeDevice::AllocatePinned(size_t bytes, Buffer* out) {
  const std::lock_guard lock(mutex_);
  const DeviceStatus status = Enter(FakeCall::kAllocatePinned, InCapture::kForbidden, absl::StrCat(bytes));
  return status != DeviceStatus::kOk ? status : AllocateOf(MemoryKind::kPinned, bytes, out);
}

DeviceStatus FakeDevice::Free(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  if (const auto status = Enter(FakeCall::kFree, InCapture::kForbidden); status != DeviceStatus::kOk)
    return status;
  for (const auto& [id, exec] : execs_) {
    for (const Work& node : exec.nodes) {
      if (!exec.destroyed && node.Touches(buffer)) {
        Violate(absl::StrCat("Free of memory that graph ", Number(id), " uses in ", node.name));
      }
    }
  }
  work_.Any([&](StreamId, const Work& work) {
    if (work.Touches(buffer)) Violate(absl::StrCat("Free of memory that ", work.name, " waits to use"));
    return false;
  });
  if (memory_.Free(buffer)) return DeviceStatus::kOk;
  Violate("Free of what was not allocated, or not so long");
  return DeviceStatus::kInvalid;
}

size_t FakeDevice::FreeBytes() {
  const std::lock_guard lock(mutex_);
  TakeNote(FakeCall::kFreeBytes, "");
  return memory_.left();
}

// --- streams and events ---

DeviceStatus FakeDevice::CreateStream(StreamId* out) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kCreateStream, InCapture::kForbidden);
  if (status == DeviceStatus::kOk) streams_.insert(*out = StreamId{next_id_++});
  return status;
}

DeviceStatus FakeDevice::CreateEvent(EventId* out) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kCreateEvent, InCapture::kForbidden);
  if (status == DeviceStatus::kOk) events_[*out = EventId{next_id_++}] = {};
  return status;
}

DeviceStatus FakeDevice::Record(StreamId stream, EventId id) {
  const std::lock_guard lock(mutex_);
  const auto status = Enter(FakeCall::kRecord, InCapture::kAllowed, Number(id));
  if (status != DeviceStatus::kOk) return status;
  const bool captured = capturing() && stream == capture_stream_;
  events_.at(id) = {stream, work_.Added(stream), captured, queries_until_done_};
  return DeviceStatus::kOk;
}

DeviceStatus FakeDevice::Query(EventId id) {
  const std::lock_guard lock(mutex_);
  if (const auto status = Enter(FakeCall::kQuery, InCapture::kForbidden, Number(id));
      status != DeviceStatus::kOk) {
    return status;
  }
  Event& event = events_.at(id);
  if (event.captured) {
    Violate("Query of an event that was recorded during a capture");
    return DeviceStatus::kInvalid;
  }
  if (held_ || event.not_ready > 0) {
    if (!held_) --event.not_ready;
    return DeviceStatus::kNotReady;
  }
  work_.RunThrough(event.stream, event.reached_at, [this](Work& work) { Run(work); });
  FreeDestroyed();
  return poisoned_ ? DeviceStatus::kLaunchFailed : DeviceStatus::kOk;
}

DeviceStatus FakeDevice::WaitFor(StreamId stream, uint64_t number, std::unique_lock<std::mutex>& lock) {
  released_.wait(lock, [this] { return !held_; });
  work_.RunThrough(stream, number, [this](Work& work) { Run(work); });
  FreeDestroyed();
  return poisoned_ ? DeviceStatus::kLaunchFailed : DeviceStatus::kOk;
}

DeviceStatus FakeDevice::Wait(EventId id) {
  std::unique_lock lock(mutex_);
  const auto status = Enter(FakeCall::kWait, InCapture::kForbidden, Number(id));
  if (status != DeviceStatus::kOk) return status;
  const Event& event = events_.at(id);
  return WaitFor(event.stream, event.reached_at, lock);
}

DeviceStatus FakeDevice::Synchronize(StreamId stream) {
  std::unique_lock lock(mutex_);
  const auto status = Enter(FakeCall::kSynchronize, InCapture::kForbidden, Number(stream));
  return status != DeviceStatus::kOk ? status : WaitFor(stream, work_.Added(stream), lock);
}

}  // namespace trellis::engine::cuda
