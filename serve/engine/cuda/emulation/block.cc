#include "serve/engine/cuda/emulation/block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace trellis::engine::cuda::emulation {
namespace {

thread_local Block* running = nullptr;

// Stacks are kept for the next launch: making one costs more than most kernels.
Fiber* FiberOf(size_t thread) {
  thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  while (fibers.size() <= thread) fibers.push_back(std::make_unique<Fiber>());
  return fibers[thread].get();
}

// All bits set: not a number, in each of our types.
void Poison(void* memory, size_t bytes) { std::memset(memory, 0xff, bytes); }

Block& Running() {
  if (running == nullptr) {
    std::fputs("cuda emulation: a kernel's function was called outside of a launch\n", stderr);
    std::abort();
  }
  return *running;
}

}  // namespace

Block::Block(const char* kernel, int threads, unsigned schedule, const std::function<void()>& body)
    : kernel_(kernel), schedule_(schedule), body_(body) {
  threads_.resize(static_cast<size_t>(threads));
  for (size_t t = 0; t < threads_.size(); ++t) threads_[t].fiber = FiberOf(t);
  warps_.resize((threads_.size() + kWarpLanes - 1) / kWarpLanes);
  warp_order_.resize(warps_.size());
  lane_order_.resize(kWarpLanes);
  for (auto* order : {&warp_order_, &lane_order_}) {
    std::iota(order->begin(), order->end(), 0);
    if (schedule == 1) std::reverse(order->begin(), order->end());
  }
}

void Block::Entry() {
  Block& block = *running;
  block.body_();
  Thread& thread = block.current();
  const bool copies = std::any_of(thread.groups.begin(), thread.groups.end(),
                                  [](const auto& group) { return !group.empty(); });
  if (copies || !thread.uncommitted.empty()) {
    block.Die("a thread ends with copies that it has not waited for", thread.site);
  }
  thread.groups.clear();
  block.Suspend(State::kDone, thread.site);
}

void Block::Run(unsigned x, unsigned y) {
  x_ = x;
  y_ = y;
  arrays_.clear();
  random_.seed(schedule_ * 7919u + x + 31u * y);
  for (Thread& thread : threads_) {
    thread.state = State::kReady;
    thread.shared_arrays = thread.exchanges = 0;
    thread.fiber->Start(Entry);
  }
  running = this;
  for (;;) {
    bool ran = false;
    if (schedule_ > 1) std::shuffle(warp_order_.begin(), warp_order_.end(), random_);
    for (const int warp : warp_order_) ran |= RunWarp(warp);
    if (!ran && !ReleaseBarrier()) break;
  }
  running = nullptr;
}

// As far as it can go: with all warps in step a barrier that is missing would not be missed.
bool Block::RunWarp(int warp) {
  const int first = warp * kWarpLanes, end = std::min(first + kWarpLanes, threads());
  bool ran = false;
  for (;;) {
    if (schedule_ > 1) std::shuffle(lane_order_.begin(), lane_order_.end(), random_);
    for (const int lane : lane_order_) {
      current_ = first + lane;
      if (current_ >= end || current().state != State::kReady) continue;
      current().fiber->Resume();
      ran = true;
    }
    if (!ReleaseWarp(first, end)) return ran;
    ran = true;
    if (schedule_ > 1 && random_() % 4 == 0) return true;
  }
}

bool Block::ReleaseWarp(int first, int end) {
  const auto in_warp = [](const Thread& thread) { return thread.state == State::kInWarp; };
  const auto from = threads_.begin() + first, to = threads_.begin() + end;
  const auto waiting = std::find_if(from, to, in_warp);
  if (waiting == to) return false;
  current_ = static_cast<int>(waiting - threads_.begin());
  if (end - first < kWarpLanes) Die("a warp's function in a warp that is not full", waiting->site);
  for (auto thread = from; thread != to; ++thread) {
    if (thread->state == State::kDone) Die("a warp's function after some lanes have ended", waiting->site);
    if (in_warp(*thread) && thread->site.line != waiting->site.line) {
      Die("lanes of a warp wait at different places", waiting->site);
    }
  }
  if (!std::all_of(from, to, in_warp)) return false;
  for (auto thread = from; thread != to; ++thread) thread->state = State::kReady;
  return true;
}

// When no warp can go on, all threads are at one barrier, or have ended, or something is wrong.
bool Block::ReleaseBarrier() {
  const Thread* waiting = nullptr;
  bool ended = false;
  for (int t = 0; t < threads(); ++t) {
    current_ = t;
    const Thread& thread = current();
    if (thread.state == State::kInWarp) {
      Die("deadlock: a warp's function waits for lanes at a barrier", thread.site);
    }
    ended |= thread.state == State::kDone;
    if (thread.state != State::kAtBarrier) continue;
    if (waiting != nullptr && waiting->site.line != thread.site.line) {
      Die("threads of a block wait at different barriers", thread.site);
    }
    waiting = &thread;
  }
  if (waiting == nullptr) return false;
  if (ended) Die("a barrier after some threads have ended", waiting->site);
  for (Thread& thread : threads_) thread.state = State::kReady;
  return true;
}

void Block::Suspend(State state, Site site) {
  current().state = state;
  current().site = site;
  current().fiber->Suspend();
}

void Block::Barrier(Site site) { Suspend(State::kAtBarrier, site); }

void* Block::SharedArray(size_t bytes, Site site) {
  const size_t index = current().shared_arrays++;
  if (index == arrays_.size()) {
    arrays_.push_back({bytes, std::make_unique_for_overwrite<std::byte[]>(bytes)});
    Poison(arrays_[index].memory.get(), bytes);
  }
  if (arrays_[index].bytes != bytes) Die("threads of a block have different shared arrays", site);
  return arrays_[index].memory.get();
}

bool Block::IsShared(const void* begin, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  return std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& array) {
    const auto from = reinterpret_cast<uintptr_t>(array.memory.get());
    return at >= from && at + bytes <= from + array.bytes;
  });
}

const std::byte* Block::Exchange(const void* value, size_t size, Site site) {
  Thread& thread = current();
  auto& values = warps_[static_cast<size_t>(current_ / kWarpLanes)].values[thread.exchanges++ % 2];
  std::memcpy(values[current_ % kWarpLanes], value, size);
  Suspend(State::kInWarp, site);
  return values[0];
}

void Block::CopyLater(const Copy& copy, Site site) {
  if (!IsShared(copy.to, copy.bytes)) Die("an asynchronous copy to memory that is not shared", site);
  if ((reinterpret_cast<uintptr_t>(copy.to) | reinterpret_cast<uintptr_t>(copy.from)) % copy.bytes != 0) {
    Die("an asynchronous copy that is not aligned", site);
  }
  Poison(copy.to, copy.bytes);
  current().uncommitted.push_back(copy);
  current().site = site;
}

void Block::CommitCopies() {
  current().groups.push_back(std::move(current().uncommitted));
  current().uncommitted.clear();
}

void Block::WaitForCopies(int groups_left, Site site) {
  auto& groups = current().groups;
  while (groups.size() > static_cast<size_t>(groups_left)) {
    for (const Copy& copy : groups.front()) {
      if (!IsShared(copy.to, copy.bytes)) Die("an asynchronous copy to memory that is gone", site);
      if (copy.from == nullptr) {
        std::memset(copy.to, 0, copy.bytes);
      } else {
        std::memcpy(copy.to, copy.from, copy.bytes);
      }
    }
    groups.pop_front();
  }
}

void Block::Die(const char* what, Site site) const {
  std::fprintf(stderr, "cuda emulation: %s, line %d, block (%u, %u), thread %d: %s\n", kernel_, site.line, x_,
               y_, current_, what);
  std::abort();
}

unsigned BlockX() { return Running().x(); }
unsigned BlockY() { return Running().y(); }
int Thread() { return Running().thread(); }
void Die(const char* what, Site site) { Running().Die(what, site); }
void Barrier(Site site) { Running().Barrier(site); }
void* SharedArray(size_t bytes, Site site) { return Running().SharedArray(bytes, site); }
bool IsShared(const void* begin, size_t bytes) { return Running().IsShared(begin, bytes); }
const std::byte* ExchangeBytes(const void* value, size_t size, Site site) {
  return Running().Exchange(value, size, site);
}
void CopyLater(void* to, const void* from, size_t bytes, Site site) {
  Running().CopyLater({to, from, bytes}, site);
}
void CommitCopies() { Running().CommitCopies(); }
void WaitForCopies(int groups_left, Site site) { Running().WaitForCopies(groups_left, site); }

}  // namespace trellis::engine::cuda::emulation
