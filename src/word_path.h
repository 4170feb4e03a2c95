// WordPath: the way with shortcuts, for pipelines that treat words apart.
//
// A word is what stands between ASCII blanks of the raw text. Where the spec has
// the properties that FindWordPathObstacle checks, each word's tokens depend on
// its own bytes alone, so that
//   1. one SIMD pass finds the words (blank_scan),
//   2. most are found in a table of words the model makes one piece of
//      (word_table), with the usual punctuation behind or not,
//   3. others in the caller's cache of words seen lately (word_cache),
//   4. the rest become symbols (code_points) and go through the fast lattice
//      (symbol_lattice), and when a comparison there is too close to call,
//      through the exact one.
// What is rare and odd (marks after characters that rules touch, malformed
// bytes) takes the exact normalizer first. Results are those of PlainPath.
#ifndef TRELLIS_SRC_WORD_PATH_H_
#define TRELLIS_SRC_WORD_PATH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/plain_path.h"
#include "src/stage/word_table_builder.h"
#include "src/trie/char_trie_builder.h"
#include "trellis/internal/stage/symbol_lattice.h"
#include "trellis/internal/stage/word_cache.h"
#include "trellis/internal/text/blank_scan.h"
#include "trellis/internal/text/code_points.h"

namespace trellis::internal {

class WordPath {
 public:
  // Why this spec must take the plain path, in words; nullopt: it need not.
  static std::optional<std::string> FindObstacle(const TokenizerSpec& spec);

  // `spec` without obstacle; it and `plain` must outlive this object. nullptr
  // when the tables would not fit their fields (then the plain path serves).
  static std::unique_ptr<WordPath> Create(const TokenizerSpec& spec, const PlainPath& plain,
                                          const TokenizerOptions& options);

  StageResult Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                  WordCache::Memory* cache, TokenSink& sink) const;

  size_t ScratchBytes(size_t bytes) const;
  size_t MaxTokens(size_t bytes) const;

  std::vector<TableFact> Facts() const;
  // Bytes of tables on 2 MB pages now.
  size_t HugeBytes() const;

 private:
  struct WordColumns;
  struct Batch;
  struct Job;  // one Run's text, columns and sink
  struct Words {
    uint32_t begin;
    uint32_t end;
  };

  WordPath(const TokenizerSpec& spec, const PlainPath& plain);
  bool BuildSymbols(const TokenizerSpec& spec, PageSize pages);
  void BuildCodePoints();
  void BuildWords(const TokenizerSpec& spec, PageSize pages);

  StageResult RunWords(Job& job, std::span<const Words> words) const;
  void ProbeTable(const Job& job, Batch& batch) const;
  void LookUp(Job& job, Batch& batch) const;
  void RunLattices(Job& job, Batch& batch) const;
  bool IsUsable(const Job& job, const WordCache::Found& found) const;
  size_t EmitKnown(TokenSink& sink, const Batch& batch, size_t i) const;
  StageResult EmitBatch(Job& job, Batch& batch) const;
  StageResult EncodeWord(Job& job, uint32_t begin, uint32_t end) const;
  enum class Reading : uint8_t { kOneWord, kCuts, kStrange };
  Reading ReadSymbols(std::string_view source, uint32_t begin, uint32_t end, Symbol* symbols, uint32_t* positions,
                      uint32_t& count) const;
  bool ReadStrange(Job& job, uint32_t begin, uint32_t end, uint32_t& count) const;
  StageResult RunSymbols(Job& job, uint32_t count) const;
  StageResult RunPreToken(Job& job, uint32_t begin, uint32_t end) const;
  StageResult FinishPreToken(Job& job, const WordColumns& all, const SymbolRange& range) const;
  bool EmitPath(Job& job, const SymbolColumns& columns, const uint32_t* positions, uint32_t count) const;
  void ShiftLostCharacters(const TextSegment& segment, Offset* offsets, size_t count) const;
  size_t MaxSymbols(size_t bytes) const { return bytes * max_symbols_per_byte_ + 2; }
  bool TakeColumns(WordColumns& columns, ScratchCarver& carver, size_t word_bytes) const;
  size_t ColumnBytes(size_t word_bytes) const;

  const PlainPath& plain_;
  std::optional<PrecompiledStep> precompiled_;
  AsciiSet blanks_;
  Symbol marker_ = kUnknownSymbol;  // the blank's replacement
  bool split_at_marker_ = true;
  std::array<uint8_t, 256> punctuation_ = {};  // 1 + index; 0: none
  std::array<TokenId, WordTable::kPunctuations + 1> punctuation_ids_ = {};  // by 1 + index

  uint32_t alphabet_ = 0;
  CodePointTable code_points_;
  CodePointTable raw_symbols_;  // of characters that are normal already
  struct Replacement {
    uint32_t begin;
    uint32_t count;
  };
  std::vector<Replacement> replacements_;
  std::vector<Symbol> replacement_symbols_;
  size_t max_symbols_per_byte_ = 1;

  BuiltCharTrie trie_;
  double unit_ = 1.0;  // costs per score
  int64_t margin_ = 0;
  std::vector<TokenId> shielded_;
  BuiltWordTable words_;
  WordTable word_table_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_WORD_PATH_H_
