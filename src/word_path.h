// WordPath: the way with shortcuts, for pipelines that treat words apart.
//
// A word is what stands between ASCII blanks of the raw text. Where the spec has
// the properties that FindObstacle checks, each word's tokens depend on
// its own bytes alone, so that
//   1. one SIMD pass finds the words (blank_scan),
//   2. most are found in a table of words the model makes one piece of
//      (word_table), with the usual punctuation behind or not,
//   3. others in the caller's cache of words seen lately (word_cache),
//   4. the rest become symbols (code_points) and go through the fast lattice
//      (symbol_lattice), and when a comparison there is too close to call,
//      through the exact one.
// Words that hold a token added with normalization go through the plain path
// alone, and into the cache.
//
// What is rare and odd (marks after characters that rules touch, malformed
// bytes) takes the exact normalizer first. Results are those of PlainPath.
//
// Where Metaspace stands alone (T5), each blank becomes a marker: the one right
// before a word is its word's, others are pre-tokens of their own ("lone").
//
// In SentencePiece's dialect sums go on from word to word: what is known of a
// word holds while the sum before it is no further from zero than its "reach"
// (float_symbol_lattice.h); beyond, the word takes the exact lattice from the
// sum that the reference has there (word_path_sums.cc). Results are those of
// SentencePiecePipeline.
#ifndef TRELLIS_SRC_WORD_PATH_H_
#define TRELLIS_SRC_WORD_PATH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/compiled_file.h"
#include "src/piece_list.h"
#include "src/plain_path.h"
#include "src/sentencepiece_pipeline.h"
#include "src/stage/word_table_builder.h"
#include "src/trie/char_trie_builder.h"
#include "trellis/internal/stage/added_tokens.h"
#include "trellis/internal/stage/float_symbol_lattice.h"
#include "trellis/internal/stage/symbol_lattice.h"
#include "trellis/internal/stage/word_cache.h"
#include "trellis/internal/text/blank_scan.h"
#include "trellis/internal/text/code_points.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

class WordPath {
 public:
  // Why this spec must take the plain path, in words; nullopt: it need not.
  // `normalized`: what is matched in normalized text.
  static std::optional<std::string> FindObstacle(const TokenizerSpec& spec, const PieceList& pieces,
                                                 const AddedTokenMatcher& normalized);
  // The first part of it, which looks at no piece and at no rule.
  static std::optional<std::string> FindFieldObstacle(const TokenizerSpec& spec, const AddedTokenMatcher& normalized);

  // `spec` without obstacle; the path of its dialect must outlive this object.
  // nullptr when the tables would not fit their fields (then that path serves).
  static std::unique_ptr<WordPath> Create(const TokenizerSpec& spec, const PieceList& pieces, const PlainPath& plain,
                                          const TokenizerOptions& options);
  static std::unique_ptr<WordPath> Create(const TokenizerSpec& spec, const PieceList& pieces,
                                          const SentencePiecePipeline& plain, const TokenizerOptions& options);

  // The same of what Save wrote (word_path_compiled.cc), where no field is in the
  // way. Whatever the sections
  // say, no text can lead outside of them.
  static absl::StatusOr<std::unique_ptr<WordPath>> Open(const TokenizerSpec& spec, const PieceList& pieces,
                                                        const PlainPath& plain, const CompiledFile& file);
  static absl::StatusOr<std::unique_ptr<WordPath>> Open(const PieceList& pieces, const SentencePiecePipeline& plain,
                                                        const CompiledFile& file);
  // Adds the tables' sections, as views of them.
  void Save(CompiledWriter& writer) const;

  StageResult Run(const TextSegment& segment, MatchSpecial special, ScratchCarver& carver,
                  WordCache::Memory* cache, TokenSink& sink) const;

  size_t ScratchBytes(size_t bytes) const;

  // Whether some texts take the path without shortcuts: its tables must be there.
  bool MayNeedPlain() const {
    return !normalized_->empty() ||
           (summed_ != nullptr && (code_points_[kMarkerCharacter] & CodePointTable::kMarker) != 0);
  }

  std::vector<TableFact> Facts() const;
  // Bytes of tables on 2 MB pages now.
  size_t HugeBytes() const;

 private:
  static constexpr uint32_t kMarkerCharacter = 0x2581;  // SentencePiece's
  struct WordColumns;
  struct Batch;
  struct Job;  // one Run's text, columns and sink
  struct Words {
    uint32_t begin;
    uint32_t end;
  };

  WordPath(const TokenizerSpec& spec, const PlainPath& plain);
  explicit WordPath(const SentencePiecePipeline& plain);
  bool Build(const PieceList& pieces, std::string_view marker, PageSize page_size);
  absl::Status OpenTables(const PieceList& pieces, std::string_view marker, const CompiledFile& file);
  absl::Status OpenCodePoints(const CompiledFile& file);
  absl::Status OpenTrie(const PieceList& pieces, const CompiledFile& file);
  absl::Status OpenWords(const PieceList& pieces, const CompiledFile& file);
  void FindBlanks();
  std::optional<std::string_view> Normal(std::string_view character) const;
  bool NumberAlphabet(const PieceList& pieces);
  bool FindMarker(std::string_view marker);
  bool FindCosts(const PieceList& pieces);
  std::span<const double> LatticeScores(const PieceList& pieces, std::vector<double>& list) const;
  // To the nearest whole number, ties to the even one; costs are far below 2^51.
  double RoundedCost(double score) const { return (-score * unit_ + 0x1p52) - 0x1p52; }
  uint32_t CostOf(double score) const { return static_cast<uint32_t>(RoundedCost(score)); }
  bool BuildTrie(const PieceList& pieces, PageSize page_size);
  bool HasRuleFor(std::string_view bytes) const;
  template <typename F>
  void ForEachWithEntry(F&& f) const;
  void BuildCodePoints();
  void FindRuleMarks();
  void FindKeyCharacters();
  void FindMaxSymbols();
  void FindPunctuation();
  void BuildWords(const PieceList& pieces, std::string_view marker, PageSize page_size);
  std::optional<uint16_t> ReachOfWordAlone(std::string_view word, TokenId id, Scratch& scratch) const;
  std::optional<uint16_t> ReachOfWord(std::string_view word, TokenId id, Scratch& scratch) const;
  // SentencePiece matches normal pieces only; to Hugging Face all are.
  bool IsInLattice(PieceType type) const { return summed_ == nullptr || type == PieceType::kNormal; }
  double ScoreOf(double score) const {
    return summed_ == nullptr ? score : static_cast<double>(static_cast<float>(score));
  }
  TokenId UnkId() const;
  double UnkScore() const;

  StageResult RunWords(Job& job, std::span<const Words> words) const;
  void ProbeTable(const Job& job, Batch& batch) const;
  enum class Kind : uint8_t { kApart, kMarked, kSummed };
  template <Kind kKind>
  void LookUp(Job& job, Batch& batch) const;
  void RunLattices(Job& job, Batch& batch) const;
  bool IsUsable(const Job& job, const WordCache::Found& found) const;
  size_t EmitKnown(const Job& job, const Batch& batch, size_t i, size_t end) const;
  StageResult EmitBatch(Job& job, Batch& batch) const;
  StageResult EncodeNewWord(Job& job, const Batch& batch, size_t i) const;
  bool SeeGap(Job& job, Batch& batch, size_t i) const;
  uint32_t LastBlank(const Job& job, uint32_t begin, uint32_t end) const;
  StageResult EmitLoneMarkers(Job& job, uint32_t begin, uint32_t end) const;
  // What a mark at the start means depends on the blank before it.
  bool StartsWithMark(std::string_view source, Words word) const {
    const Decoded d = DecodeUtf8(source.substr(word.begin, word.end - word.begin));
    return (code_points_[d.code_point] & CodePointTable::kMark) != 0;
  }
  StageResult EncodeWord(Job& job, uint32_t gap_begin, Words word) const;

  // --- words with added tokens in them (word_path_added_tokens.cc) ---
  static std::optional<std::string> FindAddedTokenObstacle(const TokenizerSpec& spec,
                                                           const AddedTokenMatcher& normalized);
  bool MayHoldAddedToken(std::string_view word) const;
  enum class Held : uint8_t { kNone, kDone, kNoRoom };
  Held RunAddedTokens(Job& job, Words word) const;

  // kWholeText: nothing but the plain path can say what becomes of such a text.
  enum class Reading : uint8_t { kOneWord, kCuts, kStrange, kWholeText };
  Reading ReadSymbols(std::string_view source, uint32_t begin, uint32_t end, Symbol* symbols, uint32_t* positions,
                      uint32_t& count) const;
  std::optional<AlignedView> NormalizeStrange(Job& job, uint32_t begin, uint32_t end) const;
  bool ReadStrange(Job& job, uint32_t begin, uint32_t end, uint32_t& count) const;
  StageResult RunSymbols(Job& job, uint32_t count) const;
  StageResult RunMarkedSymbols(Job& job, uint32_t count, bool has_blank) const;
  // Where a symbol's character ends: where the next symbol's begins (there is one position more), or to be read.
  enum class CharacterEnds : uint8_t { kNextBegins, kInSource };
  StageResult RunPreToken(Job& job, uint32_t begin, uint32_t end, CharacterEnds ends) const;
  StageResult FinishPreToken(Job& job, const WordColumns& all, const SymbolRange& range, CharacterEnds ends) const;
  bool EmitPath(Job& job, const SymbolColumns& columns, const uint32_t* positions, uint32_t count,
                CharacterEnds ends) const;

  // --- SentencePiece's dialect (word_path_sums.cc) ---
  int ClassOf(const Job& job, uint32_t count) const;
  static void StartWord(Job& job);
  size_t EmitKnownSums(Job& job, const Batch& batch, size_t i) const;
  void FindFirst(Job& job, std::span<const Words> words) const;
  StageResult SumWord(Job& job, Words word) const;
  Reading ReadSummed(std::string_view source, uint32_t begin, uint32_t& end, Symbol* symbols, uint32_t* positions,
                     uint32_t& count) const;
  bool ReadStrangeSummed(Job& job, uint32_t begin, uint32_t& end, uint32_t& count) const;
  StageResult FinishSummed(Job& job, const WordColumns& all, const SymbolRange& range, double reach,
                           uint32_t source_end) const;
  bool EmitSummed(Job& job, const WordColumns& all, const SymbolRange& range, uint32_t source_end) const;

  void ShiftLostCharacters(const TextSegment& segment, Offset* offsets, size_t count) const;
  // Once normalized.
  bool BlanksAreExact() const { return lead_ != 0 || summed_ != nullptr; }
  bool IsBlankCharacter(uint32_t c) const { return BlanksAreExact() ? c == ' ' : IsWhitespace(c); }
  size_t MaxSymbols(size_t bytes) const { return bytes * max_symbols_per_byte_ + 2; }
  bool TakeColumns(WordColumns& columns, ScratchCarver& carver, size_t word_bytes) const;
  size_t ColumnBytes(size_t word_bytes) const;

  // The path of the dialect, without shortcuts; the other is null.
  const PlainPath* plain_ = nullptr;
  const SentencePiecePipeline* summed_ = nullptr;
  const AddedTokenMatcher* normalized_ = nullptr;  // in normalized words
  const PrecompiledStep* precompiled_ = nullptr;  // that path's
  AsciiSet blanks_;
  // Bytes of the blank that belongs to the word behind it: 1 where blanks become
  // markers.
  uint32_t lead_ = 0;
  bool line_end_is_one_ = false;  // "\r\n" is a single blank
  Symbol marker_ = kUnknownSymbol;  // the blank's replacement
  bool split_at_marker_ = true;
  std::array<uint8_t, 256> punctuation_ = {};  // 1 + index; 0: none
  std::array<TokenId, WordTable::kPunctuations + 1> punctuation_ids_ = {};  // by 1 + index

  uint32_t alphabet_ = 0;  // symbols are 1 to this
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
  FloatCosts float_costs_;  // of SentencePiece's dialect
  std::vector<TokenId> shielded_;
  BuiltWordTable words_;
  WordTable word_table_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_WORD_PATH_H_
