#include "serve/engine/cuda/lazy_tensor.h"

#include <utility>

#include "serve/engine/cuda/pinned_ring.h"

namespace trellis::engine::cuda {

LazyTensor::LazyTensor(LazyTensor&& other) noexcept
    : ring_(std::exchange(other.ring_, nullptr)), slot_(other.slot_), state_(other.state_) {}

LazyTensor::~LazyTensor() {
  // Without an event behind the work nobody can say when the GPU is done with the slot: it is lost. Only a
  // dead device leaves one like this.
  if (ring_ == nullptr || state_ == State::kUnsealed) return;
  ring_->GiveBack(slot_, state_ == State::kOnItsWay ? PinnedRing::State::kAdrift : PinnedRing::State::kFree);
}

Buffer LazyTensor::input() const { return ring_->slots_[slot_].input; }
Buffer LazyTensor::output() const { return ring_->slots_[slot_].output; }

DeviceStatus LazyTensor::Seal(StreamId stream) {
  const DeviceStatus status = ring_->device_.Record(stream, ring_->slots_[slot_].done);
  if (status == DeviceStatus::kOk) state_ = State::kOnItsWay;
  return status;
}

DeviceStatus LazyTensor::Poll() {
  if (state_ == State::kReached) return DeviceStatus::kOk;
  const DeviceStatus status = ring_->device_.Query(ring_->slots_[slot_].done);
  if (status == DeviceStatus::kOk) state_ = State::kReached;
  return status;
}

std::span<const std::byte> LazyTensor::bytes() const {
  const Buffer output = ring_->slots_[slot_].output;
  return {output.data, output.size};
}

}  // namespace trellis::engine::cuda
