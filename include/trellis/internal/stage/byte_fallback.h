// Byte fallback: what is unknown to the vocabulary, byte by byte (tokenizers
// 0.22.2, models/unigram/model.rs, tokenize).
//
// A run of unknown characters becomes one token a byte, all of them with the
// run's place, when every byte of it has a piece "<0xXX>"; else it stays whole.
#ifndef TRELLIS_INTERNAL_STAGE_BYTE_FALLBACK_H_
#define TRELLIS_INTERNAL_STAGE_BYTE_FALLBACK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/trie/trie.h"

namespace trellis::internal {

// "<0xHH>" with upper-case digits to its value; -1: it is none.
inline int ByteOfPiece(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const size_t high = kDigits.find(text[3]);
  const size_t low = kDigits.find(text[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int>(high * 16 + low);
}

class ByteFallback {
 public:
  // `ids` by byte; kNoPiece where there is none. `unk_text` is the unknown
  // piece's own string: spelled out in a text it is known.
  ByteFallback(const std::array<TokenId, 256>& ids, TokenId unk_id, std::string_view unk_text)
      : ids_(ids), unk_id_(unk_id), unk_text_(unk_text) {}

  // Whether the piece `id`, which covers `run`, is spelled out in bytes. `allowed(id)` is
  // false for pieces that must not come out of text.
  template <typename Allowed>
  bool Falls(std::string_view run, TokenId id, Allowed allowed) const {
    if (id != unk_id_) return false;
    if (run == unk_text_ && allowed(unk_id_)) return false;
    for (const char byte : run) {
      if (Id(byte) == kNoPiece || !allowed(Id(byte))) return false;
    }
    return true;
  }
  TokenId Id(char byte) const { return ids_[static_cast<uint8_t>(byte)]; }

 private:
  std::array<TokenId, 256> ids_;
  TokenId unk_id_;
  std::string_view unk_text_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_BYTE_FALLBACK_H_
