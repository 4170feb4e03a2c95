// TokenList: a list of strings in one block of the caller's memory, for decoders
// that hand lists on (tokenizers 0.22.2, Decoder::decode_chain).
//
// A step reads the list of the step before and writes its own: the one that is
// read lies at the end of the memory, the new one grows at the front, and Turn
// changes over. Both must fit at a time. Each string lies behind its length.
//
// Invariant: writes only the memory it was given; no allocation.
#ifndef TRELLIS_INTERNAL_STAGE_TOKEN_LIST_H_
#define TRELLIS_INTERNAL_STAGE_TOKEN_LIST_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace trellis::internal {

class TokenList {
 public:
  // What a token takes beside its bytes.
  static constexpr size_t kTokenBytes = sizeof(uint32_t);

  explicit TokenList(std::span<char> memory) : memory_(memory), read_(memory.size()), unread_(memory.size()) {}

  // --- the new list; false: no room ---

  bool Begin() {
    if (kTokenBytes > unread_ - written_) return false;
    newest_ = written_;
    written_ += kTokenBytes;
    SetLength(newest_, 0);
    return true;
  }
  // To the token begun last.
  bool Append(std::string_view bytes) {
    if (bytes.size() > unread_ - written_) return false;
    if (!bytes.empty()) std::memcpy(memory_.data() + written_, bytes.data(), bytes.size());
    written_ += bytes.size();
    SetLength(newest_, static_cast<uint32_t>(written_ - newest_ - kTokenBytes));
    return true;
  }
  bool Put(std::string_view token) { return Begin() && Append(token); }
  // The token begun last, as it is so far; it can be made shorter, or taken back.
  std::span<char> newest() const {
    return memory_.subspan(newest_ + kTokenBytes, written_ - newest_ - kTokenBytes);
  }
  void ShortenNewest(size_t bytes) {
    written_ = newest_ + kTokenBytes + bytes;
    SetLength(newest_, static_cast<uint32_t>(bytes));
  }
  void DropNewest() { written_ = newest_; }

  // --- the list before ---

  // What was written is to be read now, and a new list begins.
  void Turn() {
    unread_ = read_ = memory_.size() - written_;
    if (written_ != 0) std::memmove(memory_.data() + read_, memory_.data(), written_);
    written_ = 0;
  }
  bool AtEnd() const { return read_ == memory_.size(); }
  std::string_view Next() {
    const uint32_t length = Length(read_);
    const std::string_view token(memory_.data() + read_ + kTokenBytes, length);
    read_ += kTokenBytes + length;
    return token;
  }

  // All that was written, joined at the front of the memory; the last call.
  std::string_view Join() {
    size_t size = 0;
    for (size_t at = 0; at < written_;) {
      const uint32_t length = Length(at);
      std::memmove(memory_.data() + size, memory_.data() + at + kTokenBytes, length);
      size += length;
      at += kTokenBytes + length;
    }
    return {memory_.data(), size};
  }

 private:
  uint32_t Length(size_t at) const {
    uint32_t length;
    std::memcpy(&length, memory_.data() + at, sizeof length);
    return length;
  }
  void SetLength(size_t at, uint32_t length) { std::memcpy(memory_.data() + at, &length, sizeof length); }

  std::span<char> memory_;
  size_t written_ = 0;  // end of the new list, which begins at the front
  size_t newest_ = 0;   // its last token
  size_t read_;         // the next token of the list before
  size_t unread_;       // where that list began; the new one must not reach it
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_TOKEN_LIST_H_
