// Memory for vectors: cache-line aligned, zeroed, only ever growing.
#ifndef TRELLIS_SERVE_ENGINE_CPU_ALIGNED_H_
#define TRELLIS_SERVE_ENGINE_CPU_ALIGNED_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace trellis::engine::cpu {

inline constexpr size_t kAlignment = 64;

template <typename T>
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(size_t size) { Reserve(size); }

  // What was there is lost when it grows. Zeroed, so that rows that only fill up a kernel's shape are
  // numbers.
  T* Reserve(size_t size) {
    if (size > size_) {
      memory_.reset();
      size_ = 0;
      memory_.reset(static_cast<T*>(::operator new (size * sizeof(T), std::align_val_t{kAlignment})));
      std::memset(static_cast<void*>(memory_.get()), 0, size * sizeof(T));
      size_ = size;
    }
    return memory_.get();
  }

  T* get() const { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (static_cast<void*>(p), std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Free> memory_;
  size_t size_ = 0;
};

}  // namespace trellis::engine::cpu

#endif  // TRELLIS_SERVE_ENGINE_CPU_ALIGNED_H_
