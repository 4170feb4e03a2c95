#include "serve/engine/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "serve/engine/cuda/cublaslt.h"
#include "serve/engine/cuda/cuda_device_query.h"
#include "serve/engine/cuda/cuda_device_status.h"
#include "serve/engine/cuda/devices_found.h"

namespace trellis::engine::cuda {
namespace {

// Handles by number, counted from 1.
template <typename Id, typename Handle>
class Handles {
 public:
  Id Add(Handle handle) {
    all_.push_back(handle);
    return Id{static_cast<int32_t>(all_.size())};
  }
  Handle& operator[](Id id) { return all_[static_cast<size_t>(id) - 1]; }
  std::vector<Handle>& all() { return all_; }

 private:
  std::vector<Handle> all_;
};

size_t FreeBytesNow() {
  size_t free = 0, total = 0;
  return Checked(cudaMemGetInfo(&free, &total)) == DeviceStatus::kOk ? free : 0;
}

class CudaDevice : public Device {
 public:
  CudaDevice(std::unique_ptr<CublasLt> gemms, int architecture)
      : architecture_(architecture), gemms_(std::move(gemms)) {}
  ~CudaDevice() override;

  int architecture() const override { return architecture_; }

  DeviceStatus Allocate(size_t bytes, Buffer* out) override;
  DeviceStatus AllocatePinned(size_t bytes, Buffer* out) override;
  DeviceStatus Free(Buffer buffer) override;
  size_t FreeBytes() override { return FreeBytesNow(); }

  DeviceStatus CreateStream(StreamId* out) override;
  DeviceStatus CreateEvent(EventId* out) override;
  DeviceStatus Record(StreamId stream, EventId event) override {
    return Checked(cudaEventRecord(events_[event], streams_[stream]));
  }
  DeviceStatus Query(EventId event) override { return Checked(cudaEventQuery(events_[event])); }
  DeviceStatus Wait(EventId event) override { return Checked(cudaEventSynchronize(events_[event])); }
  DeviceStatus Synchronize(StreamId stream) override {
    return Checked(cudaStreamSynchronize(streams_[stream]));
  }

  DeviceStatus EnqueueCopy(StreamId stream, Buffer to, Buffer from) override {
    if (to.size != from.size) return DeviceStatus::kInvalid;
    return Checked(cudaMemcpyAsync(to.data, from.data, from.size, cudaMemcpyDefault, streams_[stream]));
  }
  DeviceStatus EnqueueKernel(StreamId stream, const Launch& launch) override {
    launch.body(streams_[stream]);
    return Checked(cudaGetLastError());
  }
  DeviceStatus PrepareGemm(const GemmShape& shape) override { return gemms_->Prepare(shape); }
  DeviceStatus EnqueueGemm(StreamId stream, const GemmCall& call) override;

  DeviceStatus BeginCapture(StreamId stream) override;
  DeviceStatus EndCapture(StreamId stream, GraphId* out) override;
  DeviceStatus Instantiate(GraphId graph, ExecId* out) override;
  DeviceStatus EnqueueGraph(StreamId stream, ExecId exec) override {
    return Checked(cudaGraphLaunch(execs_[exec].exec, streams_[stream]));
  }
  void DestroyGraph(GraphId graph) override {
    (void)Checked(cudaGraphDestroy(std::exchange(graphs_[graph], nullptr)));
  }
  void DestroyExec(ExecId exec) override {
    (void)Checked(cudaGraphExecDestroy(std::exchange(execs_[exec].exec, nullptr)));
  }
  size_t ExecBytes(ExecId exec) override { return execs_[exec].bytes; }

 private:
  enum class Kind : uint8_t { kDevice, kPinned };
  struct Exec {
    cudaGraphExec_t exec = nullptr;
    size_t bytes = 0;
  };
  DeviceStatus Keep(cudaError_t error, void* data, size_t bytes, Kind kind, Buffer* out);

  const int architecture_;
  std::unique_ptr<CublasLt> gemms_;
  std::map<void*, Kind> memory_;
  Handles<StreamId, cudaStream_t> streams_;
  Handles<EventId, cudaEvent_t> events_;
  Handles<GraphId, cudaGraph_t> graphs_;
  Handles<ExecId, Exec> execs_;
  bool capturing_ = false;
};

CudaDevice::~CudaDevice() {
  // Whoever made graphs and memory has given them back; what a dead device would not take, the process's end
  // takes.
  for (const cudaEvent_t event : events_.all()) (void)cudaEventDestroy(event);
  for (const cudaStream_t stream : streams_.all()) (void)cudaStreamDestroy(stream);
}

DeviceStatus CudaDevice::Keep(cudaError_t error, void* data, size_t bytes, Kind kind, Buffer* out) {
  if (error != cudaSuccess) return Checked(error);
  memory_[data] = kind;
  *out = {static_cast<std::byte*>(data), bytes};
  return DeviceStatus::kOk;
}

DeviceStatus CudaDevice::Allocate(size_t bytes, Buffer* out) {
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, bytes);
  return Keep(error, data, bytes, Kind::kDevice, out);
}

DeviceStatus CudaDevice::AllocatePinned(size_t bytes, Buffer* out) {
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocDefault);
  return Keep(error, data, bytes, Kind::kPinned, out);
}

DeviceStatus CudaDevice::Free(Buffer buffer) {
  const auto found = memory_.find(buffer.data);
  if (found == memory_.end()) return DeviceStatus::kInvalid;
  const Kind kind = found->second;
  memory_.erase(found);
  return Checked(kind == Kind::kPinned ? cudaFreeHost(buffer.data) : cudaFree(buffer.data));
}

DeviceStatus CudaDevice::CreateStream(StreamId* out) {
  cudaStream_t stream = nullptr;
  // One that neither waits for the default stream nor is waited for by it.
  const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) *out = streams_.Add(stream);
  return Checked(error);
}

DeviceStatus CudaDevice::CreateEvent(EventId* out) {
  cudaEvent_t event = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  if (error == cudaSuccess) *out = events_.Add(event);
  return Checked(error);
}

DeviceStatus CudaDevice::EnqueueGemm(StreamId stream, const GemmCall& call) {
  if (!gemms_->IsPrepared(call.shape)) {
    if (capturing_) return DeviceStatus::kCaptureUnsupported;
    if (const auto status = gemms_->Prepare(call.shape); status != DeviceStatus::kOk) return status;
  }
  const DeviceStatus status = gemms_->Run(streams_[stream], call);
  if (status == DeviceStatus::kOk) return status;
  // The library's statuses do not tell what a dead device is from what a bad argument is; the runtime does.
  const DeviceStatus runtime = Checked(cudaGetLastError());
  return runtime == DeviceStatus::kOk ? status : runtime;
}

DeviceStatus CudaDevice::BeginCapture(StreamId stream) {
  // What other threads of the process do with CUDA does not disturb it.
  const auto status = Checked(cudaStreamBeginCapture(streams_[stream], cudaStreamCaptureModeThreadLocal));
  if (status == DeviceStatus::kOk) capturing_ = true;
  return status;
}

DeviceStatus CudaDevice::EndCapture(StreamId stream, GraphId* out) {
  capturing_ = false;
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(streams_[stream], &graph);
  if (error != cudaSuccess) return Checked(error);
  if (graph == nullptr) return DeviceStatus::kCaptureInvalidated;
  *out = graphs_.Add(graph);
  return DeviceStatus::kOk;
}

DeviceStatus CudaDevice::Instantiate(GraphId graph, ExecId* out) {
  const size_t before = FreeBytesNow();
  cudaGraphExec_t exec = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&exec, graphs_[graph], 0);
  if (error != cudaSuccess) return Checked(error);
  const size_t after = FreeBytesNow();
  // Others on the GPU may have taken or given back memory meanwhile: as good as can be told.
  *out = execs_.Add({exec, before > after ? before - after : 0});
  return DeviceStatus::kOk;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> OpenCudaDevice(int ordinal, const std::string& cublaslt) {
  const DevicesFound found = FindCudaDevices(ordinal);
  if (auto status = CheckDevices(ordinal, found); !status.ok()) return status;
  auto gemms = CublasLt::Open(cublaslt);
  if (!gemms.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cuda:", ordinal, ": ", std::string(gemms.status().message()),
                     "; TRELLIS_CUBLASLT may name the library", kWithoutGpu));
  }
  return std::make_shared<CudaDevice>(*std::move(gemms), found.architecture);
}

}  // namespace trellis::engine::cuda
