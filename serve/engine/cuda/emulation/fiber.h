// A function on a stack of its own, which can be left in the middle and gone on with later: one thread of a
// GPU.
#ifndef TRELLIS_SERVE_ENGINE_CUDA_EMULATION_FIBER_H_
#define TRELLIS_SERVE_ENGINE_CUDA_EMULATION_FIBER_H_

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace trellis::engine::cuda::emulation {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next Resume begins with `entry`, which never returns: it suspends a last time. What ran here before
  // is forgotten.
  void Start(void (*entry)());
  // From the stack of who resumes, until the fiber suspends itself.
  void Resume();
  void Suspend();

 private:
#if defined(__x86_64__)
  void* own_ = nullptr;  // stack pointers, while the other one runs
  void* resumer_ = nullptr;
#else
  ucontext_t own_, resumer_;
#endif
  std::byte* memory_ = nullptr;  // a page that nobody may touch, and the stack
};

}  // namespace trellis::engine::cuda::emulation

#endif  // TRELLIS_SERVE_ENGINE_CUDA_EMULATION_FIBER_H_
