// SentencePiece's detokenizer: ids to text.
//
// Whose truth: sentencepiece 0.2.3, sentencepiece_processor.cc, DecodeOptimized
// (what Decode of ids calls). Control pieces leave nothing; the unknown piece
// leaves its surface; runs of byte pieces are read as UTF-8, each byte that is
// not part of a character as U+FFFD; the blank that the normalizer put in front
// is taken off again; a denormalizer, when there is one, has the last word.
//
// Invariant: writes only `out`, no allocation; the sum of ShownBytes over the ids
// is enough room for joining them.
#ifndef TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_DECODER_H_
#define TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/text/meta_space.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

// What one id leaves in the text.
struct SentencePieceShown {
  enum class As : uint8_t { kNothing, kText, kUnknown, kByte };
  As as = As::kNothing;
  std::string_view piece = {};
  uint8_t byte = 0;
};

struct SentencePieceJoin {
  // The normalizer's flags: they say which blanks at the start were made up.
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  std::string_view unk_surface;
};

// The most bytes that `shown` adds before denormalization.
inline size_t ShownBytes(const SentencePieceJoin& join, const SentencePieceShown& shown) {
  switch (shown.as) {
    case SentencePieceShown::As::kText: return shown.piece.size();
    case SentencePieceShown::As::kUnknown: return join.unk_surface.size();
    case SentencePieceShown::As::kByte: return kReplacementUtf8.size();
    case SentencePieceShown::As::kNothing: break;
  }
  return 0;
}

// Bytes that are written one after the other until there is no more room.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> out) : out_(out) {}

  void Put(std::string_view bytes) {
    full_ |= out_.size() - size_ < bytes.size();
    if (full_ || bytes.empty()) return;  // out_ may have no memory at all
    std::memcpy(out_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // `piece` with every U+2581 as a blank.
  void PutPiece(std::string_view piece) {
    for (size_t at; (at = piece.find(kMetaSpace)) != std::string_view::npos;) {
      Put(piece.substr(0, at));
      Put(" ");
      piece.remove_prefix(at + kMetaSpace.size());
    }
    Put(piece);
  }
  bool empty() const { return size_ == 0; }
  std::optional<size_t> size() const { return full_ ? std::nullopt : std::optional<size_t>(size_); }

 private:
  std::span<char> out_;
  size_t size_ = 0;
  bool full_ = false;
};

// Joins ids to text, not yet denormalized; returns its length, nullopt when
// `out` is too small. `shown_of(id)` gives a SentencePieceShown.
template <typename ShownOf>
std::optional<size_t> JoinSentencePieces(const SentencePieceJoin& join, std::span<const TokenId> ids,
                                         const ShownOf& shown_of, std::span<char> out) {
  using As = SentencePieceShown::As;
  TextWriter text(out);
  bool at_start = true;  // a blank found now is the normalizer's
  for (size_t i = 0; i < ids.size();) {
    SentencePieceShown shown = shown_of(ids[i]);
    if (shown.as == As::kByte) {
      // A window of one character over the run of byte pieces.
      char window[kMaxUtf8Bytes];
      size_t held = 0;
      for (; held < kMaxUtf8Bytes && i + held < ids.size(); ++held) {
        const SentencePieceShown next = shown_of(ids[i + held]);
        if (next.as != As::kByte) break;
        window[held] = static_cast<char>(next.byte);
      }
      const Decoded decoded = DecodeUtf8(std::string_view(window, held));
      text.Put(decoded.well_formed ? std::string_view(window, decoded.length) : kReplacementUtf8);
      i += decoded.well_formed ? decoded.length : 1;
      continue;
    }
    ++i;
    if (!text.empty()) at_start = false;
    if (shown.as == As::kNothing) continue;
    bool took_blank = false;
    if (at_start && (join.add_dummy_prefix || join.remove_extra_whitespaces) && shown.piece.starts_with(kMetaSpace)) {
      shown.piece.remove_prefix(kMetaSpace.size());
      took_blank = true;
    }
    if (shown.as == As::kUnknown) {
      text.Put(join.unk_surface);
    } else {
      text.PutPiece(shown.piece);
    }
    // One made-up blank goes; where blanks are squeezed, all at the start do.
    if ((took_blank && !join.remove_extra_whitespaces) || !text.empty()) at_start = false;
  }
  return text.size();
}

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_SENTENCEPIECE_DECODER_H_
