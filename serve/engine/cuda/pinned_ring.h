// Pinned host memory for a few steps at a time, so that the next batch is packed while this one is on the
// GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_PINNED_RING_H_
#define TRELLIS_SERVE_ENGINE_CUDA_PINNED_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/engine/cuda/device.h"
#include "serve/engine/cuda/lazy_tensor.h"

namespace trellis::engine::cuda {

// A slot has memory for a step's input and its output, and an event. It is given away again only when whoever
// had it has let go of it, and the GPU has too.
class PinnedRing {
 public:
  static constexpr int kFewestSlots = 2;

  // ResourceExhausted or Unavailable: the device would not give the memory.
  static absl::StatusOr<std::unique_ptr<PinnedRing>> Create(Device& device, int slots, size_t input_bytes,
                                                            size_t output_bytes);
  // On the device's thread, when no slot is taken. Frees what the GPU is done with; memory that it may still
  // write to is left to the end of the process.
  ~PinnedRing();
  PinnedRing(const PinnedRing&) = delete;
  PinnedRing& operator=(const PinnedRing&) = delete;

  // On the device's thread. Nothing: every slot is taken.
  std::optional<LazyTensor> Take();

  int slots() const { return static_cast<int>(slots_.size()); }

 private:
  friend class LazyTensor;
  enum class State : uint8_t {
    kFree,
    kTaken,
    kAdrift,  // nobody's, but the GPU has not been seen to be done with it
  };
  struct Slot {
    Buffer input, output;
    EventId done{};
    State state = State::kFree;
  };

  explicit PinnedRing(Device& device) : device_(device) {}
  absl::Status Allocate(int slots, size_t input_bytes, size_t output_bytes);
  void GiveBack(size_t slot, State state);  // any thread

  Device& device_;
  std::mutex mutex_;  // of the states
  std::vector<Slot> slots_;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_PINNED_RING_H_
