// What a step leaves in pinned memory, perhaps still on its way there: asked for at once, read when somebody
// wants it.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_LAZY_TENSOR_H_
#define TRELLIS_SERVE_ENGINE_CUDA_LAZY_TENSOR_H_

#include <cstddef>
#include <span>

#include "serve/engine/cuda/device.h"

namespace trellis::engine::cuda {

class PinnedRing;

// Holds a slot of the ring, from before its input is written until its output has been read: until this is
// destroyed, which any thread may do. The rest is the device thread's, but for bytes() once that has been
// told that it is reached.
class LazyTensor {
 public:
  LazyTensor(LazyTensor&& other) noexcept;
  LazyTensor& operator=(LazyTensor&&) = delete;
  ~LazyTensor();

  Buffer input() const;   // the host writes it before anything is enqueued
  Buffer output() const;  // what the GPU is to copy to

  // Before anything is enqueued that touches the slot.
  void SetOut() { state_ = State::kUnsealed; }
  // Behind the last that does.
  DeviceStatus Seal(StreamId stream);
  // kOk: the output is there.
  DeviceStatus Poll();
  // The stream has been waited for: nothing touches the slot any more, though it has no result.
  void GiveUp() { state_ = State::kNothing; }

  // After Poll said kOk.
  std::span<const std::byte> bytes() const;

 private:
  friend class PinnedRing;
  enum class State : unsigned char { kNothing, kUnsealed, kOnItsWay, kReached };
  LazyTensor(PinnedRing* ring, size_t slot) : ring_(ring), slot_(slot) {}

  PinnedRing* ring_;
  size_t slot_;
  State state_ = State::kNothing;
};

}  // namespace trellis::engine::cuda

#endif  // TRELLIS_SERVE_ENGINE_CUDA_LAZY_TENSOR_H_
