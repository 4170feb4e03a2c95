// Word cache: what the lattice said of words seen lately, inside the caller's
// Scratch.
//
// A log of records in a ring and a small index of it, two places a word. A new
// record overwrites the oldest ones; an index entry whose record has been
// overwritten counts as empty. Bounded, no clean-up, nothing moves. Keys are raw
// bytes, so a hit needs no normalization. Where sums go on from word to word, a
// record says how far from zero it holds.
#ifndef TRELLIS_INTERNAL_STAGE_WORD_CACHE_H_
#define TRELLIS_INTERNAL_STAGE_WORD_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "trellis/encoding.h"
#include "trellis/internal/stage/word_table.h"

namespace trellis::internal {

// Where a piece lies in its word.
struct WordOffset {
  uint16_t begin;
  uint16_t end;
};

class WordCache {
 public:
  static constexpr size_t kIndexEntries = 4096;  // a power of two
  static constexpr size_t kLogBytes = size_t{256} << 10;
  static constexpr size_t kMaxKey = 512;
  static constexpr size_t kMaxTokens = 255;

  struct IndexEntry {
    uint32_t tag;
    uint32_t position;  // in units of kUnit since the last Clear
  };
  // The memory of one cache; any bytes are fine until Clear.
  struct Memory {
    uint64_t head;   // where the next record goes, in units, not wrapped
    uint64_t floor;  // records before have been forgotten
    uint64_t unused[6];
    IndexEntry index[kIndexEntries];
    std::byte log[kLogBytes];
    std::byte slack[64];  // readers may take a few ids too many
  };

  // Of no use before the first Clear.
  explicit WordCache(Memory* memory) : memory_(memory) {}

  // Makes an empty cache of any bytes.
  void Clear() {
    memory_->head = memory_->floor = kLogUnits;
    std::fill_n(memory_->index, kIndexEntries, IndexEntry{0, 0});
  }
  // Empties a cache; costs nothing.
  void Forget() {
    // From the ring's front again, so that little memory is touched.
    memory_->head = memory_->floor = (memory_->head / kLogUnits + 1) * kLogUnits;
    if (memory_->head + kLogUnits > kMaxPosition) Clear();
  }

  // For words of at least 16 bytes; shorter ones have a cheaper hash
  // (word_table.h), and any other of 64 good bits would do.
  static uint64_t Hash(std::string_view word) {
    uint64_t hash = word.size() * uint64_t{0x9E3779B97F4A7C15};
    const char* p = word.data();
    const char* const last = p + word.size() - 16;
    for (; p < last; p += 16) hash = FoldedProduct(Load(p) ^ hash, Load(p + 8) ^ kSecret);
    return FoldedProduct(Load(last) ^ hash, Load(last + 8) ^ kSecret);
  }

  void Prefetch(uint64_t hash) const { __builtin_prefetch(&memory_->index[Place(hash)]); }

  struct Found {
    const TokenId* ids = nullptr;
    const WordOffset* offsets = nullptr;  // nullptr: the record has none
    uint32_t count = 0;
    float reach = 0.0F;  // how far below zero the sum before the word may be for this to hold
  };

  // ids == nullptr: not there.
  Found Find(std::string_view word, uint64_t hash) const {
    const size_t place = Place(hash);
    for (size_t way = 0; way < 2; ++way) {
      const IndexEntry entry = memory_->index[place ^ way];
      if (entry.tag != Tag(hash) || !Alive(entry.position)) continue;
      const Record* record = At(entry.position);
      if (record->key_bytes != word.size() || !SameBytes(Key(record), word.data(), word.size())) continue;
      return {Ids(record), record->has_offsets != 0 ? Offsets(record) : nullptr, record->count, record->reach};
    }
    return {};
  }

  // Remembers a word's tokens; what does not fit is not remembered. `offsets` is
  // empty or as long as `ids`; `reach` comes back from Find.
  void Insert(std::string_view word, uint64_t hash, std::span<const TokenId> ids, std::span<const WordOffset> offsets,
              float reach = std::numeric_limits<float>::max()) {
    if (word.size() > kMaxKey || ids.size() > kMaxTokens || ids.empty()) return;
    const size_t units = (sizeof(Record) + Padded(word.size()) + ids.size() * sizeof(TokenId) +
                          offsets.size() * sizeof(WordOffset) + kUnit - 1) /
                         kUnit;
    // A record does not wrap around the end of the ring.
    const size_t in_ring = memory_->head % kLogUnits;
    if (in_ring + units > kLogUnits) memory_->head += kLogUnits - in_ring;
    if (memory_->head + units > kMaxPosition) Clear();
    const auto position = static_cast<uint32_t>(memory_->head);
    memory_->head += units;
    Record* record = At(position);
    record->key_bytes = static_cast<uint16_t>(word.size());
    record->count = static_cast<uint8_t>(ids.size());
    record->has_offsets = offsets.empty() ? 0 : 1;
    record->reach = reach;
    std::memcpy(Key(record), word.data(), word.size());
    std::memcpy(Ids(record), ids.data(), ids.size_bytes());
    if (!offsets.empty()) std::memcpy(Offsets(record), offsets.data(), offsets.size_bytes());

    IndexEntry* entry = &memory_->index[Place(hash)];
    IndexEntry* other = &memory_->index[Place(hash) ^ 1];
    const bool same = other->tag == Tag(hash);
    const bool first_used = Alive(entry->position) && entry->tag != Tag(hash);
    if (same || (first_used && other->position < entry->position)) entry = other;
    *entry = {Tag(hash), position};
  }

 private:
  static constexpr size_t kUnit = 16;
  static constexpr size_t kLogUnits = kLogBytes / kUnit;
  static constexpr uint64_t kMaxPosition = 0xFFFFFFFF;
  static constexpr uint64_t kSecret = 0xE7037ED1A0B428DB;

  struct Record {
    uint16_t key_bytes;
    uint8_t count;
    uint8_t has_offsets;
    float reach;
    // then: key, padded to 4 bytes; ids; offsets
  };

  static uint64_t Load(const char* p) {
    uint64_t x;
    std::memcpy(&x, p, sizeof x);
    return x;
  }
  static bool SameBytes(const char* a, const char* b, size_t size) {
    if (size < 8) {
      for (size_t i = 0; i < size; ++i) {
        if (a[i] != b[i]) return false;
      }
      return true;
    }
    for (size_t i = 0; i + 8 < size; i += 8) {
      if (Load(a + i) != Load(b + i)) return false;
    }
    return Load(a + size - 8) == Load(b + size - 8);
  }
  static size_t Padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }
  static size_t Place(uint64_t hash) { return hash & (kIndexEntries - 1); }
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  bool Alive(uint32_t position) const {
    return position >= memory_->floor && position + kLogUnits >= memory_->head;
  }

  Record* At(uint32_t position) const {
    return reinterpret_cast<Record*>(memory_->log + position % kLogUnits * kUnit);
  }
  static char* Key(const Record* record) {
    return reinterpret_cast<char*>(const_cast<Record*>(record)) + sizeof(Record);
  }
  static TokenId* Ids(const Record* record) {
    return reinterpret_cast<TokenId*>(Key(record) + Padded(record->key_bytes));
  }
  static WordOffset* Offsets(const Record* record) {
    return reinterpret_cast<WordOffset*>(Ids(record) + record->count);
  }

  Memory* memory_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_WORD_CACHE_H_
