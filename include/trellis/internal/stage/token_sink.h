// TokenSink: where pieces become tokens, and how a stage says that it stopped.
#ifndef TRELLIS_INTERNAL_STAGE_TOKEN_SINK_H_
#define TRELLIS_INTERNAL_STAGE_TOKEN_SINK_H_

#include <cstddef>
#include <cstdint>

#include "trellis/encoding.h"

namespace trellis::internal {

enum class StageResult : uint8_t {
  kOk,
  kNoRoom,  // scratch or output is too small
  kNoUnk,   // an unknown character, and the model has no unk
};

// A bounded column of ids and, when wanted, one of offsets. Not owned.
class TokenSink {
 public:
  TokenSink(TokenId* ids, Offset* offsets, size_t capacity) : ids_(ids), offsets_(offsets), capacity_(capacity) {}

  bool Push(TokenId id, Offset offset) {
    if (size_ == capacity_) return false;
    ids_[size_] = id;
    if (offsets_ != nullptr) offsets_[size_] = offset;
    ++size_;
    return true;
  }

  bool wants_offsets() const { return offsets_ != nullptr; }
  size_t size() const { return size_; }
  size_t room() const { return capacity_ - size_; }
  // For stages that write several at once: the next free places. Wrote(n) says
  // that n <= room() were filled.
  TokenId* next_ids() const { return ids_ + size_; }
  Offset* next_offsets() const { return offsets_ == nullptr ? nullptr : offsets_ + size_; }
  void Wrote(size_t count) { size_ += count; }

 private:
  TokenId* ids_;
  Offset* offsets_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_TOKEN_SINK_H_
