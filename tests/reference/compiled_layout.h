// Where things lie in a compiled file, by the numbers, and its checksums anew:
// for tests that put harm behind checksums that are right.
//
//   0   mark, 8 bytes            24  number of sections, u32
//   8   byte order, u32          28  zero, u32
//   12  version, u32             32  XXH3 of the list, seeded with that of these
//   16  bytes of the file, u64       40 bytes where this field is 0
//   40  the list: id u32, revision u32, begin u64, bytes u64, XXH3 u64 a section
#ifndef TRELLIS_TESTS_REFERENCE_COMPILED_LAYOUT_H_
#define TRELLIS_TESTS_REFERENCE_COMPILED_LAYOUT_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::reference {

inline constexpr size_t kVersionAt = 12, kFileBytesAt = 16, kSectionCountAt = 24, kHeadChecksumAt = 32,
                        kListAt = 40;
inline constexpr size_t kEntryBytes = 32, kRevisionInEntry = 4, kBeginInEntry = 8, kBytesInEntry = 16,
                        kChecksumInEntry = 24;

template <typename T>
T LoadAt(std::string_view file, size_t at) {
  T value;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}
template <typename T>
void StoreAt(std::string& file, size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

struct CompiledSection {
  uint32_t id;
  size_t entry;  // where its place in the list begins
  uint64_t begin;
  uint64_t bytes;
};

// As far as the file has them.
inline std::vector<CompiledSection> SectionsOf(std::string_view file) {
  std::vector<CompiledSection> sections;
  if (file.size() < kListAt) return sections;
  const uint64_t count = LoadAt<uint32_t>(file, kSectionCountAt);
  for (size_t at = kListAt; sections.size() < count && at + kEntryBytes <= file.size(); at += kEntryBytes) {
    sections.push_back({LoadAt<uint32_t>(file, at), at, LoadAt<uint64_t>(file, at + kBeginInEntry),
                        LoadAt<uint64_t>(file, at + kBytesInEntry)});
  }
  return sections;
}

// The section of this id, which must be there.
inline CompiledSection SectionOf(std::string_view file, uint32_t id) {
  const std::vector<CompiledSection> sections = SectionsOf(file);
  return *std::find_if(sections.begin(), sections.end(),
                       [id](const CompiledSection& s) { return s.id == id; });
}

// Makes all checksums right again.
inline void Reseal(std::string& file) {
  if (file.size() < kListAt) return;
  const std::vector<CompiledSection> sections = SectionsOf(file);
  for (const CompiledSection& section : sections) {
    if (section.begin > file.size() || section.bytes > file.size() - section.begin) continue;
    StoreAt(file, section.entry + kChecksumInEntry, XXH3_64bits(file.data() + section.begin, section.bytes));
  }
  StoreAt(file, kHeadChecksumAt, uint64_t{0});
  const uint64_t seed = XXH3_64bits(file.data(), kListAt);
  StoreAt(file, kHeadChecksumAt,
          XXH3_64bits_withSeed(file.data() + kListAt, sections.size() * kEntryBytes, seed));
}

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_COMPILED_LAYOUT_H_
