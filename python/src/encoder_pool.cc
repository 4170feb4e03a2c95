#include "python/src/encoder_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

namespace trellis::python {
namespace {

// A thread costs some tens of microseconds to start.
constexpr size_t kBytesWorthAThread = 32768;
constexpr size_t kMostThreads = 1024;
constexpr size_t kMostTextsOfAChunk = 256;
// So that no thread waits long for the last one.
constexpr size_t kChunksOfAThread = 8;

}  // namespace

size_t UsableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
}

LoadedTokenizer::LoadedTokenizer(Tokenizer loaded) : tokenizer(std::move(loaded)), pool(tokenizer) {
  for (const AddedToken& token : tokenizer.spec_without_pieces().added_tokens) added.push_back(token.id);
  std::sort(added.begin(), added.end());
}

bool LoadedTokenizer::IsAdded(TokenId id) const { return std::binary_search(added.begin(), added.end(), id); }

std::unique_ptr<cli::TextEncoder> EncoderPool::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return std::make_unique<cli::TextEncoder>(tokenizer_, cli::TextEncoder::Columns::kAll);
  std::unique_ptr<cli::TextEncoder> encoder = std::move(idle_.back());
  idle_.pop_back();
  return encoder;
}

void EncoderPool::Give(std::unique_ptr<cli::TextEncoder> encoder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(encoder));
}

absl::Status EncoderPool::ForEachChunk(
    size_t count, size_t bytes, size_t threads, const std::function<void(size_t)>& plan,
    const std::function<absl::Status(cli::TextEncoder&, const Chunk&)>& work) {
  if (threads == 0) threads = std::min(UsableThreads(), 1 + bytes / kBytesWorthAThread);
  threads = std::clamp<size_t>(threads, 1, std::clamp<size_t>(count, 1, kMostThreads));
  const size_t size = std::clamp<size_t>(count / (threads * kChunksOfAThread), 1, kMostTextsOfAChunk);
  const size_t chunks = (count + size - 1) / size;
  plan(chunks);
  std::vector<absl::Status> statuses(chunks);
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto run = [&] {
    With([&](cli::TextEncoder& encoder) {
      for (size_t i; !failed && (i = next++) < chunks;) {
        // An exception must not leave a thread.
        try {
          statuses[i] = work(encoder, {i, i * size, std::min(count, (i + 1) * size)});
        } catch (const std::bad_alloc&) {
          statuses[i] = absl::ResourceExhaustedError("there is no memory for the result");
        }
        if (!statuses[i].ok()) failed = true;
      }
    });
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < threads; ++i) others.emplace_back(run);
  run();
  others.clear();
  for (absl::Status& status : statuses) {
    if (!status.ok()) return std::move(status);
  }
  return absl::OkStatus();
}

}  // namespace trellis::python
