#include "tools/cli/parallel_lines.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace trellis::cli {
namespace {

absl::Status AtLine(const LineChunk& chunk, size_t i, std::string_view what) {
  std::string message = chunk.Place(i);
  message += ": ";
  message += what;
  return absl::InvalidArgumentError(message);
}

// A giant line's result is not kept for ever.
constexpr size_t kKeptOutputBytes = size_t{16} << 20;

absl::Status RunChunk(const LineChunk& chunk, LineWorker& worker, std::string& out) {
  if (out.capacity() > kKeptOutputBytes) out = std::string();
  out.clear();
  for (size_t i = 0; i < chunk.line_count(); ++i) {
    const size_t whole = out.size();
    try {
      const absl::Status status = worker.Line(chunk.Line(i), out);
      if (status.ok()) continue;
      out.resize(whole);
      return AtLine(chunk, i, {status.message().data(), status.message().size()});
    } catch (const std::bad_alloc&) {
      out.resize(whole);
      return AtLine(chunk, i, "the line is too long for the memory there is");
    }
  }
  return absl::OkStatus();
}

absl::Status RunLinesHere(LineReader& reader, const LineWork& work) {
  const std::unique_ptr<LineWorker> worker = work.make_worker();
  LineChunk chunk;
  std::string out;
  while (reader.Next(chunk)) {
    const absl::Status failure = RunChunk(chunk, *worker, out);
    const absl::Status written = work.sink(chunk, out);
    if (!written.ok()) return written;
    if (!failure.ok()) return failure;
  }
  return reader.status();
}

struct Slot {
  enum class State { kFree, kFilled, kDone };
  State state = State::kFree;
  LineChunk chunk;
  std::string out;
  absl::Status failure;
};

class Ring {
 public:
  explicit Ring(size_t slots) : slots_(slots) {}

  // Reader's side.
  void Read(LineReader& reader) {
    for (uint64_t turn = 0;; ++turn) {
      Slot& slot = At(turn);
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slot.state == Slot::State::kFree || stopped_; });
        if (stopped_) return;
      }
      absl::Status failure;
      bool more = false;
      try {
        more = reader.Next(slot.chunk);
        failure = reader.status();
      } catch (const std::bad_alloc&) {
        failure = absl::ResourceExhaustedError("the input has a line too long for the memory there is");
      }
      const std::lock_guard lock(mutex_);
      if (more) {
        slot.state = Slot::State::kFilled;
        filled_ = turn + 1;
      } else {
        ended_ = true;
        end_status_ = failure;
      }
      changed_.notify_all();
      if (!more) return;
    }
  }

  void Work(LineWorker& worker) {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return taken_ < filled_ || ended_ || stopped_; });
      if (stopped_ || taken_ == filled_) return;
      Slot& slot = At(taken_++);
      lock.unlock();
      slot.failure = RunChunk(slot.chunk, worker, slot.out);
      lock.lock();
      slot.state = Slot::State::kDone;
      changed_.notify_all();
    }
  }

  absl::Status Write(const LineWork& work) {
    for (uint64_t turn = 0;; ++turn) {
      Slot& slot = At(turn);
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return slot.state == Slot::State::kDone || (ended_ && turn == filled_); });
        if (slot.state != Slot::State::kDone) return end_status_;
      }
      const absl::Status written = work.sink(slot.chunk, slot.out);
      if (!written.ok()) return written;
      if (!slot.failure.ok()) return slot.failure;
      const std::lock_guard lock(mutex_);
      slot.state = Slot::State::kFree;
      changed_.notify_all();
    }
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  Slot& At(uint64_t turn) { return slots_[turn % slots_.size()]; }

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t filled_ = 0;  // chunks read so far
  uint64_t taken_ = 0;   // chunks that workers took
  bool ended_ = false;   // no chunk comes after filled_
  bool stopped_ = false;
  absl::Status end_status_;
};

}  // namespace

absl::Status RunLines(LineReader& reader, unsigned threads, const LineWork& work) {
  if (threads <= 1) return RunLinesHere(reader, work);
  std::vector<std::unique_ptr<LineWorker>> workers;
  for (unsigned i = 0; i < threads; ++i) workers.push_back(work.make_worker());
  Ring ring(2 * size_t{threads} + 1);
  std::vector<std::thread> running;
  running.emplace_back([&] { ring.Read(reader); });
  for (const auto& worker : workers) {
    running.emplace_back([&ring, &worker] { ring.Work(*worker); });
  }
  absl::Status status = ring.Write(work);
  // A reader that waits for a terminal or a pipe must not hold us up.
  ring.Stop();
  reader.Stop();
  for (std::thread& thread : running) thread.join();
  return status;
}

unsigned ThreadCount(unsigned wanted) {
  if (wanted != 0) return wanted;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

}  // namespace trellis::cli
