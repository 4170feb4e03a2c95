// A GPU that is none: it notes every call, does the work late (fake_work.h), fails where it is told to, and
// collects what would break a rule of CUDA or of ours, with what a driver would answer to it. Knobs and notes
// may be used by any thread; the calls themselves by one, which is among the rules.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_DEVICE_H_
#define TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_DEVICE_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/fake/fake_memory.h"
#include "serve/engine/cuda/fake/fake_work.h"

namespace trellis::engine::cuda {

enum class FakeCall : uint8_t {
  kAllocate,
  kAllocatePinned,
  kFree,
  kFreeBytes,
  kCreateStream,
  kCreateEvent,
  kRecord,
  kQuery,
  kWait,
  kSynchronize,
  kEnqueueCopy,
  kEnqueueKernel,
  kPrepareGemm,
  kEnqueueGemm,
  kBeginCapture,
  kEndCapture,
  kInstantiate,
  kEnqueueGraph,
  kDestroyGraph,
  kDestroyExec,
  kExecBytes,
  kExecution,  // no call: a piece of work as it is done
};

class FakeDevice : public Device {
 public:
  static constexpr size_t kCapacity = size_t{1} << 30;
  static constexpr size_t kExecBytesPerNode = size_t{64} << 10;

  FakeDevice() : memory_(kCapacity) {}

  // --- knobs ---
  // Of all calls of this kind from now on, those from the nth on, `count` of them, answer `status`.
  void Fail(FakeCall call, DeviceStatus status, int nth = 1, int count = 1);
  // The GPU stands still: Query is not ready, Wait and Synchronize wait for Release.
  void Hold();
  void Release();
  // So often Query is not ready before the work is done; 1 at first.
  void set_queries_until_done(int queries);
  void set_capacity(size_t bytes);
  // More than this in graphs at a time breaks a rule.
  void set_exec_budget(size_t bytes);

  // --- notes ---
  struct Note {
    FakeCall call;
    std::string what;  // a kernel's name, or a number of what is meant
  };
  std::vector<Note> notes() const;
  int count(FakeCall call) const;
  std::vector<std::string> violations() const;
  size_t allocations() const;  // still there
  size_t live_execs() const;

  // --- Device ---
  int architecture() const override { return 90; }
  DeviceStatus Allocate(size_t bytes, Buffer* out) override;
  DeviceStatus AllocatePinned(size_t bytes, Buffer* out) override;
  DeviceStatus Free(Buffer buffer) override;
  size_t FreeBytes() override;
  DeviceStatus CreateStream(StreamId* out) override;
  DeviceStatus CreateEvent(EventId* out) override;
  DeviceStatus Record(StreamId stream, EventId event) override;
  DeviceStatus Query(EventId event) override;
  DeviceStatus Wait(EventId event) override;
  DeviceStatus Synchronize(StreamId stream) override;
  DeviceStatus EnqueueCopy(StreamId stream, Buffer to, Buffer from) override;
  DeviceStatus EnqueueKernel(StreamId stream, const Launch& launch) override;
  DeviceStatus PrepareGemm(const GemmShape& shape) override;
  DeviceStatus EnqueueGemm(StreamId stream, const GemmCall& call) override;
  DeviceStatus BeginCapture(StreamId stream) override;
  DeviceStatus EndCapture(StreamId stream, GraphId* out) override;
  DeviceStatus Instantiate(GraphId graph, ExecId* out) override;
  DeviceStatus EnqueueGraph(StreamId stream, ExecId exec) override;
  void DestroyGraph(GraphId graph) override;
  void DestroyExec(ExecId exec) override;
  size_t ExecBytes(ExecId exec) override;

 private:
  struct Fault {
    FakeCall call;
    DeviceStatus status;
    int first, last;  // numbers of calls
  };
  struct Event {
    StreamId stream{0};
    uint64_t reached_at = 0;  // done once so much of the stream's work is
    bool captured = false;
    int not_ready = 0;  // answers still to give
  };
  struct Exec {
    std::vector<Work> nodes;
    size_t bytes = 0;
    bool destroyed = false;
  };
  enum class InCapture : uint8_t { kAllowed, kForbidden };

  // What every call begins with, as a driver would answer it: poison, then what a test wants, then captures.
  DeviceStatus Enter(FakeCall call, InCapture in_capture, const std::string& what = "");
  void TakeNote(FakeCall call, const std::string& what);
  DeviceStatus FaultOf(FakeCall call);
  void Violate(std::string what) { violations_.push_back(std::move(what)); }
  DeviceStatus AllocateOf(MemoryKind kind, size_t bytes, Buffer* out);
  void CheckPointers(const Work& work);
  DeviceStatus Add(StreamId stream, Work work);
  DeviceStatus WaitFor(StreamId stream, uint64_t number, std::unique_lock<std::mutex>& lock);
  void Run(Work& work);
  void CheckGraphLaunch(StreamId stream, ExecId id, const Exec& exec);
  bool InFlight(ExecId exec) const;
  void FreeDestroyed();
  bool capturing() const { return capture_stream_ != kDefaultStream; }

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::thread::id owner_;
  bool poisoned_ = false, held_ = false;
  int queries_until_done_ = 1;
  size_t exec_budget_ = kCapacity;
  std::vector<Fault> faults_;
  std::map<FakeCall, int> counts_;
  std::vector<Note> notes_;
  std::vector<std::string> violations_;

  int32_t next_id_ = 1;
  FakeMemory memory_;
  FakeWork work_;
  std::set<StreamId> streams_;
  std::map<EventId, Event> events_;
  std::map<GraphId, std::vector<Work>> graphs_;
  std::map<ExecId, Exec> execs_;
  StreamId capture_stream_ = kDefaultStream;  // that: none
  bool capture_spoilt_ = false;
  std::vector<Work> captured_;

  std::set<std::string, std::less<>> warm_kernels_;
  std::set<GemmShape> prepared_;
  std::map<std::byte*, StreamId> workspace_streams_, arena_streams_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_FAKE_FAKE_DEVICE_H_
