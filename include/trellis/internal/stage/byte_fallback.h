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
#include <span>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/stage/unigram.h"
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

  // Rewrites the first `count` of `pieces`, which cover `text` and have room for
  // one a byte of it; returns how many there are then.
  template <typename Allowed>
  size_t Run(std::string_view text, std::span<PieceSpan> pieces, size_t count, Allowed allowed) const {
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) size += Size(text, pieces[i], allowed);
    // From the back, so that nothing is overwritten before it is read.
    for (size_t to = size, i = count; i-- > 0;) {
      const PieceSpan piece = pieces[i];
      if (!Falls(text, piece, allowed)) {
        pieces[--to] = piece;
        continue;
      }
      for (uint32_t at = piece.end; at > piece.begin;) {
        --at;
        pieces[--to] = {piece.begin, piece.end, ids_[static_cast<uint8_t>(text[at])]};
      }
    }
    return size;
  }

 private:
  template <typename Allowed>
  bool Falls(std::string_view text, const PieceSpan& piece, Allowed allowed) const {
    if (piece.id != unk_id_) return false;
    const std::string_view run = text.substr(piece.begin, piece.end - piece.begin);
    if (run == unk_text_ && allowed(unk_id_)) return false;
    for (const char byte : run) {
      const TokenId id = ids_[static_cast<uint8_t>(byte)];
      if (id == kNoPiece || !allowed(id)) return false;
    }
    return true;
  }
  template <typename Allowed>
  size_t Size(std::string_view text, const PieceSpan& piece, Allowed allowed) const {
    return Falls(text, piece, allowed) ? piece.end - piece.begin : 1;
  }

  std::array<TokenId, 256> ids_;
  TokenId unk_id_;
  std::string_view unk_text_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_BYTE_FALLBACK_H_
