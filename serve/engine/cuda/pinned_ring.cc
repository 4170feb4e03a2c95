#include "serve/engine/cuda/pinned_ring.h"

#include <algorithm>

#include "serve/engine/cuda/device_error.h"

namespace trellis::engine::cuda {

absl::StatusOr<std::unique_ptr<PinnedRing>> PinnedRing::Create(Device& device, int slots, size_t input_bytes,
                                                               size_t output_bytes) {
  auto ring = std::unique_ptr<PinnedRing>(new PinnedRing(device));
  if (auto status = ring->Allocate(std::max(slots, kFewestSlots), input_bytes, output_bytes); !status.ok()) {
    return status;
  }
  return ring;
}

absl::Status PinnedRing::Allocate(int slots, size_t input_bytes, size_t output_bytes) {
  for (int i = 0; i < slots; ++i) {
    Slot slot;
    if (auto status = DeviceError(device_.CreateEvent(&slot.done), "a step's event"); !status.ok())
      return status;
    slots_.push_back(slot);
    for (const auto& [bytes, to] :
         {std::pair(input_bytes, &Slot::input), std::pair(output_bytes, &Slot::output)}) {
      Buffer buffer;
      auto status = DeviceError(device_.AllocatePinned(bytes, &buffer), "pinned memory of a step", bytes);
      if (!status.ok()) return status;
      slots_.back().*to = buffer;
    }
  }
  return absl::OkStatus();
}

PinnedRing::~PinnedRing() {
  for (const Slot& slot : slots_) {
    if (slot.state != State::kFree && device_.Wait(slot.done) != DeviceStatus::kOk) continue;
    for (const Buffer& buffer : {slot.input, slot.output}) {
      if (buffer.data != nullptr) (void)device_.Free(buffer);
    }
  }
}

std::optional<LazyTensor> PinnedRing::Take() {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.state == State::kAdrift && device_.Query(slot.done) == DeviceStatus::kOk)
      slot.state = State::kFree;
    if (slot.state != State::kFree) continue;
    slot.state = State::kTaken;
    return LazyTensor(this, static_cast<size_t>(&slot - slots_.data()));
  }
  return std::nullopt;
}

void PinnedRing::GiveBack(size_t slot, State state) {
  const std::lock_guard lock(mutex_);
  slots_[slot].state = state;
}

}  // namespace trellis::engine::cuda
