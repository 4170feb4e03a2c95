// What a compiled file holds for a Tokenizer beside the word path's tables.
#ifndef TRELLIS_SRC_COMPILED_TOKENIZER_H_
#define TRELLIS_SRC_COMPILED_TOKENIZER_H_

#include "absl/status/statusor.h"
#include "src/compiled_file.h"
#include "src/piece_list.h"
#include "src/plain_path.h"
#include "src/trie/table_memory.h"
#include "trellis/spec.h"

namespace trellis::internal {

struct StoredTokenizer {
  CompiledFile file;
  TokenizerSpec spec;  // without pieces; with them it is valid
  PieceList pieces;    // views the file, as do the tries
  PlainPath::Stored plain;
  Table<BitmapTrieNode> summed_trie;  // of SentencePiece's dialect
};

// Whatever the file says, nothing that it gives leads outside of it.
absl::StatusOr<StoredTokenizer> ReadStored(CompiledFile file);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_COMPILED_TOKENIZER_H_
