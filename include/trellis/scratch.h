// Scratch: the memory that Encode may scribble on.
//
// One per thread; never shared by two calls at a time. It holds no text between
// calls except the word cache, which is the calling tokenizer's own results and
// is dropped when another tokenizer uses the same Scratch. Encode never grows
// it: a Scratch that is too small gives ResourceExhausted, and `Reserve` (or a
// larger borrowed block) is the caller's answer. Tokenizer::ScratchBytes(n) is
// enough for any text of n bytes.
#ifndef TRELLIS_SCRATCH_H_
#define TRELLIS_SCRATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trellis {

class Scratch {
 public:
  // Owns its memory; empty until Reserve.
  Scratch() = default;
  // Uses `memory`, which must outlive this object; Reserve may still move to
  // memory of its own.
  explicit Scratch(std::span<std::byte> memory);

  Scratch(Scratch&&) noexcept = default;
  Scratch& operator=(Scratch&&) noexcept = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Makes room for `bytes`; allocates only when there is less. The only call
  // here that allocates. Pages are not touched before they are used.
  void Reserve(size_t bytes);

  size_t capacity() const { return memory_.size(); }
  // The most bytes that any call has asked for, also one that did not get them:
  // after ResourceExhausted, Reserve(high_water()) lets the same call go further
  // (it stops at the first region that does not fit, so that takes a few rounds).
  size_t high_water() const { return high_water_; }

  // Forgets the word cache (benchmarks on fresh text; after secrets).
  void ClearCache() { cache_stale_ = true; }

 private:
  friend class ScratchCarver;
  struct Free {
    size_t bytes;  // no initializer here: Scratch() = default would be deleted
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> owned_;
  std::span<std::byte> memory_ = {};
  size_t high_water_ = 0;
  uint64_t cache_owner_ = 0;  // Tokenizer whose words lie in the cache region
  bool cache_stale_ = false;  // and are not to be used any more
};

// How the pipeline takes pieces off a Scratch: a bump pointer over one call.
// `Take` returns an empty span when there is not enough left, and the call then
// ends with ResourceExhausted. Regions are 64-byte aligned and not cleared.
class ScratchCarver {
 public:
  explicit ScratchCarver(Scratch& scratch) : scratch_(scratch) {}

  template <typename T>
  std::span<T> Take(size_t count) {
    const size_t bytes = (count * sizeof(T) + kAlign - 1) & ~(kAlign - 1);
    const size_t begin = used_;
    used_ += bytes;
    if (used_ > scratch_.high_water_) scratch_.high_water_ = used_;
    if (used_ > scratch_.memory_.size()) return {};
    return {reinterpret_cast<T*>(scratch_.memory_.data() + begin), count};
  }
  size_t capacity() const { return scratch_.memory_.size(); }
  size_t left() const { return used_ < capacity() ? capacity() - used_ : 0; }
  // For a call that made do with what there was, and it was not enough: counts as
  // asked for (high_water).
  void AskFor(size_t bytes) { scratch_.high_water_ = std::max(scratch_.high_water_, bytes); }
  // Gives back everything taken since `mark`.
  size_t mark() const { return used_; }
  void Release(size_t mark) { used_ = mark; }

  // The word cache, which lies first: whose words it holds, and whether they
  // have been cleared since.
  bool OwnsCache(uint64_t owner) const { return scratch_.cache_owner_ == owner; }
  bool IsCacheStale() const { return scratch_.cache_stale_; }
  void SetCacheOwner(uint64_t owner) {
    scratch_.cache_owner_ = owner;
    scratch_.cache_stale_ = false;
  }

  static constexpr size_t kAlign = 64;

 private:
  Scratch& scratch_;
  size_t used_ = 0;
};

}  // namespace trellis

#endif  // TRELLIS_SCRATCH_H_
