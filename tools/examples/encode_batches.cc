// Token ids of each line of stdin, a thousand lines at a time, through the C++ interface. All memory is kept
// from batch to batch: once the longest have been seen, encoding allocates nothing.
//
//   c++ -std=c++20 -O2 encode_batches.cc $(pkg-config --cflags --libs --static trellis) -o encode_batches
//   echo "Hello, world!" | ./encode_batches models/multilingual-e5-small
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "trellis/trellis.h"

namespace {

constexpr size_t kRows = 1000;

// What a thread keeps for itself; the tokenizer may be everybody's.
class LineEncoder {
 public:
  explicit LineEncoder(const trellis::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  absl::StatusOr<trellis::Encoding> Encode(const std::vector<std::string>& lines, size_t count) {
    inputs_.clear();
    size_t longest = 0, room = 0;
    for (size_t i = 0; i < count; ++i) {
      inputs_.push_back({lines[i]});
      longest = std::max(longest, lines[i].size());
      room += tokenizer_.MaxTokens(lines[i].size());
    }
    if (ids_.size() < room) ids_.resize(room);
    cu_seqlens_.resize(count + 1);
    trellis::EncodingBuffer buffer;
    buffer.ids = ids_;
    buffer.cu_seqlens = cu_seqlens_;
    return trellis::WithGrowingScratch(tokenizer_, longest, scratch_, [&] {
      return tokenizer_.EncodeBatch(inputs_, trellis::EncodeOptions(), scratch_, buffer);
    });
  }

 private:
  const trellis::Tokenizer& tokenizer_;
  trellis::Scratch scratch_;
  std::vector<trellis::Input> inputs_;
  std::vector<trellis::TokenId> ids_;
  std::vector<int32_t> cu_seqlens_;
};

void Print(const trellis::Encoding& batch) {
  for (size_t row = 0; row + 1 < batch.cu_seqlens.size(); ++row) {
    const char* between = "";
    for (int32_t i = batch.cu_seqlens[row]; i < batch.cu_seqlens[row + 1]; ++i) {
      std::cout << between << batch.ids[static_cast<size_t>(i)];
      between = " ";
    }
    std::cout << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "encode_batches MODEL < texts\n";
    return 2;
  }
  const absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::LoadTokenizer(argv[1]);
  if (!tokenizer.ok()) {
    std::cerr << tokenizer.status().message() << '\n';
    return 1;
  }
  std::ios::sync_with_stdio(false);
  LineEncoder encoder(*tokenizer);
  std::vector<std::string> lines(kRows);
  for (size_t count = kRows; count == kRows;) {
    count = 0;
    while (count < kRows && std::getline(std::cin, lines[count])) ++count;
    const absl::StatusOr<trellis::Encoding> batch = encoder.Encode(lines, count);
    if (!batch.ok()) {
      std::cerr << batch.status() << '\n';
      return 1;
    }
    Print(*batch);
  }
  return std::cout.flush() ? 0 : 1;
}
