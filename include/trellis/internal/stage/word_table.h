// Word table: raw words that the model is known to make one piece of.
//
// A perfect hash without free probing: a word's hash picks a bucket, the
// bucket's pilot moves the word to its own slot, one comparison tells whether it
// is the word that lives there. Keys are the raw bytes of a whole word (what
// stands between ASCII blanks), so a hit needs no normalization; each entry was
// put in only after the lattice gave exactly that one piece for it.
//
// 32 bytes an entry, two to a cache line. Immutable and position independent.
#ifndef TRELLIS_INTERNAL_STAGE_WORD_TABLE_H_
#define TRELLIS_INTERNAL_STAGE_WORD_TABLE_H_

#include <array>
#include <cstdint>
#include <cstring>

#include "trellis/encoding.h"

namespace trellis::internal {

// The first bytes of a word as three little-endian numbers, zero behind the end.
struct WordKey {
  std::array<uint64_t, 3> part;
  // Not the default, which compilers make a call of memcmp.
  friend bool operator==(const WordKey& a, const WordKey& b) {
    return ((a.part[0] ^ b.part[0]) | (a.part[1] ^ b.part[1]) | (a.part[2] ^ b.part[2])) == 0;
  }
};
inline constexpr uint32_t kMaxWordKey = 24;

// Masks of a key's parts, by length.
inline constexpr auto kWordKeyMasks = [] {
  std::array<std::array<uint64_t, 3>, kMaxWordKey + 1> masks = {};
  for (uint32_t length = 0; length <= kMaxWordKey; ++length) {
    for (uint32_t i = 0; i < length; ++i) masks[length][i / 8] |= uint64_t{0xFF} << (i % 8 * 8);
  }
  return masks;
}();

// text[0, kMaxWordKey) must be readable, whatever the length.
inline WordKey LoadWordKey(const char* text, uint32_t length) {
  WordKey key;
  std::memcpy(key.part.data(), text, kMaxWordKey);
  for (int i = 0; i < 3; ++i) key.part[static_cast<size_t>(i)] &= kWordKeyMasks[length][static_cast<size_t>(i)];
  return key;
}

inline uint64_t FoldedProduct(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashWordKey(const WordKey& key, uint32_t length) {
  // Odd constants with mixed bits; any would do.
  constexpr uint64_t k0 = 0x9E3779B97F4A7C15, k1 = 0xD1B54A32D192ED03, k2 = 0x8CB92BA72F3D8DD7;
  return FoldedProduct((key.part[0] ^ k0) + key.part[2] * k2, (key.part[1] ^ k1) + (key.part[2] >> 29) + length * k0);
}

struct WordEntry {
  WordKey key = {};
  TokenId id = 0;
  uint8_t length = 0;  // bytes of the word; 0: free slot
  // Bit i: the word followed by punctuation i (see WordTable) is this piece and
  // the punctuation's.
  uint8_t punctuation = 0;
  // How far below zero the sum before the word may be for this to hold, in units
  // of kReachUnit; where each word starts from zero that is no question.
  uint16_t reach = 0xFFFF;
  static constexpr float kReachUnit = 2.0F;
};
static_assert(sizeof(WordEntry) == 32);

class WordTable {
 public:
  static constexpr int kPunctuations = 8;

  WordTable() = default;
  // Not owned. `slots` and `buckets` as WordTableBuilder counts them.
  WordTable(const WordEntry* entries, uint32_t slots, const uint16_t* pilots, uint32_t buckets)
      : entries_(entries), pilots_(pilots), slots_(slots), buckets_(buckets) {}

  bool empty() const { return slots_ == 0; }

  // The slot where a word of this hash would be.
  uint32_t Slot(uint64_t hash) const {
    const uint32_t bucket = Scale(static_cast<uint32_t>(hash >> 32), buckets_);
    return SlotWithPilot(hash, pilots_[bucket], slots_);
  }
  static uint32_t Bucket(uint64_t hash, uint32_t buckets) { return Scale(static_cast<uint32_t>(hash >> 32), buckets); }
  // A pilot exchanges the places of its bucket's words with others.
  static uint32_t SlotWithPilot(uint64_t hash, uint32_t pilot, uint32_t slots) {
    return Scale(static_cast<uint32_t>(hash) ^ pilot * 0x9E3779B1u, slots);
  }

  const WordEntry* entry(uint32_t slot) const { return entries_ + slot; }

 private:
  // x / 2^32 * range.
  static uint32_t Scale(uint32_t x, uint32_t range) {
    return static_cast<uint32_t>(static_cast<uint64_t>(x) * range >> 32);
  }

  const WordEntry* entries_ = nullptr;
  const uint16_t* pilots_ = nullptr;
  uint32_t slots_ = 0;
  uint32_t buckets_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_WORD_TABLE_H_
