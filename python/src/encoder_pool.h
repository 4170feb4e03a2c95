// Encoders that are kept between calls: their scratch remembers words, and their columns have grown already.
#ifndef TRELLIS_PYTHON_ENCODER_POOL_H_
#define TRELLIS_PYTHON_ENCODER_POOL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "tools/cli/text_encoder.h"
#include "trellis/tokenizer.h"

namespace trellis::python {

// A part of a batch.
struct Chunk {
  size_t number;
  size_t begin;
  size_t end;
};

class EncoderPool {
 public:
  // `tokenizer` must outlive this object.
  explicit EncoderPool(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // `work` with an encoder that nobody else uses meanwhile.
  template <typename Work>
  auto With(const Work& work) {
    Lease lease(*this);
    return work(*lease.encoder);
  }

  // Cuts `count` texts into chunks and has them worked on by `threads` threads, which are started for this
  // call (so that a fork never meets them); 0: as many as the process may run on, fewer for little text.
  // `plan` hears the number of chunks first. The error is that of the first chunk that has one. Without the
  // GIL.
  absl::Status ForEachChunk(size_t count, size_t bytes, size_t threads,
                            const std::function<void(size_t)>& plan,
                            const std::function<absl::Status(cli::TextEncoder&, const Chunk&)>& work);

 private:
  struct Lease {
    explicit Lease(EncoderPool& from) : pool(from), encoder(from.Take()) {}
    ~Lease() { pool.Give(std::move(encoder)); }
    EncoderPool& pool;
    std::unique_ptr<cli::TextEncoder> encoder;
  };
  std::unique_ptr<cli::TextEncoder> Take();
  void Give(std::unique_ptr<cli::TextEncoder> encoder);

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<cli::TextEncoder>> idle_;
};

// A tokenizer with what Python keeps beside it; encodings and streams share it.
struct LoadedTokenizer {
  explicit LoadedTokenizer(Tokenizer loaded);
  bool IsAdded(TokenId id) const;

  Tokenizer tokenizer;
  EncoderPool pool;
  std::vector<TokenId> added;  // ids of added tokens, ascending
};

// What 0 threads means: the CPUs that this process may run on.
size_t UsableThreads();

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ENCODER_POOL_H_
