// HashMapPath: the plain path with a hash map for a trie. The library's own
// stages run around the same lattice; only the trie is another.
#ifndef TRELLIS_BENCH_END_TO_END_HASH_MAP_PATH_H_
#define TRELLIS_BENCH_END_TO_END_HASH_MAP_PATH_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bench/end_to_end/hash_map_trie.h"
#include "bench/end_to_end/text_path.h"
#include "src/plain_path.h"

namespace trellis::bench {

class HashMapPath final : public TextPath {
 public:
  // Errors: a tokenizer of the SentencePiece dialect, which has no plain path;
  // what HashMapTrie says.
  static absl::StatusOr<std::unique_ptr<HashMapPath>> Create(const Tokenizer& tokenizer);

  absl::StatusOr<Encoding> Encode(std::string_view text, Scratch& scratch,
                                  const EncodingBuffer& buffer) const override;

 private:
  HashMapPath(const Tokenizer& tokenizer, HashMapTrie trie);

  // PlainPath::Run and what it calls, step by step.
  internal::StageResult RunSegment(const internal::TextSegment& segment, ScratchCarver& carver,
                                   internal::TokenSink& sink) const;
  internal::StageResult RunPart(const internal::TextSegment& segment, const internal::AlignedView& text,
                                uint32_t begin, uint32_t end, ScratchCarver& carver,
                                internal::TokenSink& sink) const;

  const internal::PlainPath& plain_;
  const internal::AddedTokenMatcher& raw_matcher_;
  HashMapTrie trie_;
};

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_HASH_MAP_PATH_H_
