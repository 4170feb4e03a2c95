#include "serve/engine/cuda/emulation/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace trellis::engine::cuda::emulation {
namespace {

// Kernels have no recursion; the sanitizers' frames are the largest.
constexpr size_t kStackBytes = size_t{128} << 10;

size_t GuardBytes() {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return page;
}

#if defined(__x86_64__)
// Keeps what a called function must keep, and nothing else: swapcontext makes two system calls for the signal
// mask, a hundred times the cost.
__attribute__((naked, noinline)) void Switch(void** /*from*/, void* /*to*/) {
  asm volatile(
      "pushq %rbp\n\t"
      "pushq %rbx\n\t"
      "pushq %r12\n\t"
      "pushq %r13\n\t"
      "pushq %r14\n\t"
      "pushq %r15\n\t"
      "movq %rsp, (%rdi)\n\t"
      "movq %rsi, %rsp\n\t"
      "popq %r15\n\t"
      "popq %r14\n\t"
      "popq %r13\n\t"
      "popq %r12\n\t"
      "popq %rbx\n\t"
      "popq %rbp\n\t"
      "ret");
}
constexpr int kKeptRegisters = 6;
#endif

}  // namespace

Fiber::Fiber() {
  void* const memory = mmap(nullptr, GuardBytes() + kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, GuardBytes(), PROT_NONE) != 0) {
    std::perror("cuda emulation: the stack of a thread");
    std::abort();
  }
  memory_ = static_cast<std::byte*>(memory);
}

Fiber::~Fiber() {
#if defined(__SANITIZE_ADDRESS__)
  // Whoever gets these addresses next, a mapped file for one, must not be told of frames that were here.
  __asan_unpoison_memory_region(memory_ + GuardBytes(), kStackBytes);
#endif
  munmap(memory_, GuardBytes() + kStackBytes);
}

void Fiber::Start(void (*entry)()) {
  std::byte* const stack = memory_ + GuardBytes();
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack, kStackBytes);  // what was left in the middle
#endif
#if defined(__x86_64__)
  auto* top = reinterpret_cast<void**>(stack + kStackBytes);
  *--top = nullptr;  // entry's return address, and so the alignment that it expects
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kKeptRegisters; ++i) *--top = nullptr;
  own_ = top;
#else
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack;
  own_.uc_stack.ss_size = kStackBytes;
  own_.uc_link = nullptr;
  makecontext(&own_, entry, 0);
#endif
}

void Fiber::Resume() {
#if defined(__x86_64__)
  Switch(&resumer_, own_);
#else
  swapcontext(&resumer_, &own_);
#endif
}

void Fiber::Suspend() {
#if defined(__x86_64__)
  Switch(&own_, resumer_);
#else
  swapcontext(&own_, &resumer_);
#endif
}

}  // namespace trellis::engine::cuda::emulation
