// All that this engine asks of a GPU, a dozen calls. CudaDevice makes them with the runtime, fake/FakeDevice
// with deferred work on this machine's processor, so that what happens around the kernels is tested without a
// GPU.
//
// One thread makes all calls. Enqueue... and Record return before the GPU has done anything; what they name
// stays as it is until an event recorded after them has been reached.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_DEVICE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/container/inlined_vector.h"
#include "serve/engine/cuda/gemm.h"

namespace trellis::engine::cuda {

enum class DeviceStatus : uint8_t {
  kOk,
  kNotReady,  // of Query: the GPU is not there yet
  kOutOfMemory,
  kCaptureUnsupported,  // may not be called during a capture, which is spoilt by it
  kCaptureInvalidated,  // the capture was spoilt before
  kInvalid,             // arguments
  kLaunchFailed,        // a kernel died: the device is poisoned
  kFatal,               // the device is poisoned, or not there
};
const char* NameOf(DeviceStatus status);
// After these, no call will ever succeed again in this process.
inline bool IsFatal(DeviceStatus status) {
  return status == DeviceStatus::kLaunchFailed || status == DeviceStatus::kFatal;
}

enum class StreamId : int32_t {};
enum class EventId : int32_t {};
enum class GraphId : int32_t {};
enum class ExecId : int32_t {};  // an instantiated graph
// Waits for, and is waited for by, every other stream: nothing of ours runs there.
inline constexpr StreamId kDefaultStream{0};

struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

// A kernel with its arguments. The lists name every buffer it touches: the fake checks lifetimes and owners
// with them.
struct Launch {
  const char* kernel = "";  // outlives the device
  absl::InlinedVector<Buffer, 6> reads, writes;
  // Launches the kernel there, with `grid`. The fake passes nullptr.
  std::function<void(void* native_stream)> body = nullptr;
  Grid grid = {};
};

class Device {
 public:
  virtual ~Device() = default;
  virtual int architecture() const = 0;  // compute capability 9.0 is 90

  // Memory. None of these during a capture.
  virtual DeviceStatus Allocate(size_t bytes, Buffer* out) = 0;
  virtual DeviceStatus AllocatePinned(size_t bytes, Buffer* out) = 0;  // the host's, for copies
  virtual DeviceStatus Free(Buffer buffer) = 0;
  virtual size_t FreeBytes() = 0;  // of the GPU's own

  // Streams and events live as long as the device.
  virtual DeviceStatus CreateStream(StreamId* out) = 0;
  virtual DeviceStatus CreateEvent(EventId* out) = 0;
  virtual DeviceStatus Record(StreamId stream, EventId event) = 0;
  virtual DeviceStatus Query(EventId event) = 0;  // never blocks
  virtual DeviceStatus Wait(EventId event) = 0;
  virtual DeviceStatus Synchronize(StreamId stream) = 0;

  // Work. `from` and `to` are of one size; one of them may be pinned memory.
  virtual DeviceStatus EnqueueCopy(StreamId stream, Buffer to, Buffer from) = 0;
  virtual DeviceStatus EnqueueKernel(StreamId stream, const Launch& launch) = 0;
  // A product whose shape was not prepared is prepared first, which a capture does not allow.
  virtual DeviceStatus PrepareGemm(const GemmShape& shape) = 0;
  virtual DeviceStatus EnqueueGemm(StreamId stream, const GemmCall& call) = 0;

  // Graphs. Between Begin and End the stream's work is noted rather than done. EndCapture ends it whatever
  // happened.
  virtual DeviceStatus BeginCapture(StreamId stream) = 0;
  virtual DeviceStatus EndCapture(StreamId stream, GraphId* out) = 0;
  virtual DeviceStatus Instantiate(GraphId graph, ExecId* out) = 0;
  virtual DeviceStatus EnqueueGraph(StreamId stream, ExecId exec) = 0;
  virtual void DestroyGraph(GraphId graph) = 0;
  // One that still runs is freed when it is done.
  virtual void DestroyExec(ExecId exec) = 0;
  virtual size_t ExecBytes(ExecId exec) = 0;  // of GPU memory, as far as that can be told
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_DEVICE_H_
