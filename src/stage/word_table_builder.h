// WordTableBuilder: entries in, a perfect hash out.
#ifndef TRELLIS_SRC_STAGE_WORD_TABLE_BUILDER_H_
#define TRELLIS_SRC_STAGE_WORD_TABLE_BUILDER_H_

#include <cstdint>
#include <vector>

#include "src/trie/table_memory.h"
#include "trellis/internal/stage/word_table.h"

namespace trellis::internal {

struct BuiltWordTable {
  Table<WordEntry> entries;
  Table<uint16_t> pilots;
  WordTable view() const {
    return entries.size() == 0 ? WordTable()
                               : WordTable(entries.data(), static_cast<uint32_t>(entries.size()), pilots.data(),
                                           static_cast<uint32_t>(pilots.size()));
  }
  size_t bytes() const { return entries.bytes() + pilots.bytes(); }
};

// `words` must have different keys. The rare word that finds no place is left
// out: a table without it is right as well. Time about linear.
BuiltWordTable BuildWordTable(const std::vector<WordEntry>& words, PageSize pages);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_STAGE_WORD_TABLE_BUILDER_H_
