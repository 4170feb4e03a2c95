// The order of the library's stages, and the only carve of scratch.
//
// A row: the template's steps in order; at each text the added tokens cut it,
// and each plain segment between them goes through a path (plain_path.h: all
// stages one by one; later ones are shortcuts with the same results). Without
// truncation tokens go straight into the caller's columns; with it they wait in
// scratch until it is known how many stay.
#include "trellis/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "src/tokenizer_impl.h"

namespace trellis {

using internal::AddedTokenMatch;
using internal::AddedTokenMatcher;
using internal::AddedTokenRule;
using internal::BitmapTrieNode;
using internal::CodeOnly;
using internal::ColumnFits;
using internal::ColumnsFit;
using internal::MatchSpecial;
using internal::PostProcessor;
using internal::StageResult;
using internal::Table;
using internal::TextSegment;
using internal::TokenSink;
using internal::WordCache;
using internal::WordPath;

namespace {

std::vector<AddedTokenRule> RawRules(const TokenizerSpec& spec) {
  std::vector<AddedTokenRule> rules;
  for (const AddedToken& token : spec.added_tokens) {
    if (token.normalized) continue;
    rules.push_back({token.content, token.id, token.single_word, token.lstrip, token.rstrip, token.special});
  }
  // The reference lists special tokens before others.
  std::stable_partition(rules.begin(), rules.end(), [](const AddedTokenRule& rule) { return rule.special; });
  return rules;
}

constexpr char kUnsuited[] = "the alphabet or the pieces do not suit the symbol trie";

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Tokenizer::Impl::Impl(TokenizerSpec spec, const TokenizerOptions& options)
    : spec_(std::move(spec)),
      pieces_(spec_.model.pieces),
      vocab_(spec_, pieces_),
      plain_(spec_, pieces_, options, nullptr),
      id_(NextId()),
      raw_matcher_(RawRules(spec_)),
      post_processor_(spec_.post_processor) {
  if (spec_.dialect == Dialect::kSentencePiece) {
    sentencepiece_ = std::make_unique<const internal::SentencePiecePipeline>(spec_, pieces_, options, Table<BitmapTrieNode>());
  }
  FindObstacle(options, WordPath::FindObstacle(spec_, pieces_, plain_.normalized_matcher()));
  if (obstacle_.empty()) {
    words_ = sentencepiece_ != nullptr ? WordPath::Create(spec_, pieces_, *sentencepiece_, options)
                                       : WordPath::Create(spec_, pieces_, plain_, options);
    if (words_ == nullptr) obstacle_ = kUnsuited;
  }
  BuildTries();
}

Tokenizer::Impl::Impl(internal::StoredTokenizer stored, const TokenizerOptions& options, absl::Status& status)
    : file_(std::move(stored.file)),
      spec_(std::move(stored.spec)),
      pieces_(stored.pieces),
      vocab_(spec_, pieces_),
      plain_(spec_, pieces_, options, &stored.plain),
      id_(NextId()),
      raw_matcher_(RawRules(spec_)),
      post_processor_(spec_.post_processor) {
  if (spec_.dialect == Dialect::kSentencePiece) {
    sentencepiece_ = std::make_unique<const internal::SentencePiecePipeline>(spec_, pieces_, options,
                                                                             std::move(stored.summed_trie));
  }
  // Where there are words, nothing was in their way but what the options say.
  const bool has_words = file_->Has(internal::SectionId::kWords);
  const internal::AddedTokenMatcher& normalized = plain_.normalized_matcher();
  FindObstacle(options, has_words ? WordPath::FindFieldObstacle(spec_, normalized)
                                  : WordPath::FindObstacle(spec_, pieces_, normalized));
  if (obstacle_.empty() && !has_words) obstacle_ = kUnsuited;
  if (obstacle_.empty()) {
    auto words = sentencepiece_ != nullptr ? WordPath::Open(pieces_, *sentencepiece_, *file_)
                                           : WordPath::Open(spec_, pieces_, plain_, *file_);
    status = words.status();
    if (!words.ok()) return;
    words_ = *std::move(words);
  }
  BuildTries();
}

absl::StatusOr<Tokenizer> Tokenizer::Impl::OfStored(internal::StoredTokenizer stored, const TokenizerOptions& options) {
  absl::Status status;
  std::shared_ptr<const Impl> impl(new Impl(std::move(stored), options, status));
  if (!status.ok()) return status;
  return Tokenizer(std::move(impl));
}

void Tokenizer::Impl::FindObstacle(const TokenizerOptions& options, const std::optional<std::string>& obstacle) {
  if (obstacle) {
    obstacle_ = *obstacle;
  } else if (!options.shortcuts) {
    obstacle_ = "shortcuts are off";
  }
}

void Tokenizer::Impl::BuildTries() {
  // Encode must not be the one that builds it.
  if (words_ == nullptr || words_->MayNeedPlain() || ShieldNeedsPlain()) {
    sentencepiece_ != nullptr ? sentencepiece_->BuildTrie() : plain_.BuildTrie();
  }
  if (spec_.dialect == Dialect::kHuggingFace) BuildDecoders();
}

const TokenizerSpec& Tokenizer::Impl::spec() const {
  if (!file_) return spec_;
  std::call_once(spec_once_, [this] {
    whole_spec_ = spec_;
    std::vector<Piece>& pieces = whole_spec_->model.pieces;
    pieces.reserve(pieces_.size());
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const internal::PieceView piece = pieces_[id];
      pieces.push_back({std::string(piece.text), piece.score, piece.type});
    }
  });
  return *whole_spec_;
}

StageResult Tokenizer::Impl::EncodeText(std::string_view text, const EncodeOptions& options, ScratchCarver& carver,
                                        WordCache::Memory* cache, TokenSink& sink) const {
  const MatchSpecial special = internal::MatchSpecialOf(options);
  uint32_t begin = 0;
  const auto segment = [&](size_t end) {
    const TextSegment plain{text, begin, static_cast<uint32_t>(end)};
    if (begin >= end) return StageResult::kOk;
    if (words_ != nullptr && (special != MatchSpecial::kNo || !ShieldNeedsPlain())) {
      return words_->Run(plain, special, carver, cache, sink);
    }
    return sentencepiece_ != nullptr ? sentencepiece_->Run(plain, special, carver, sink)
                                     : plain_.Run(plain, special, carver, sink);
  };
  AddedTokenMatcher::Pass pass(raw_matcher_, text, special);
  AddedTokenMatch match;
  while (!raw_matcher_.empty() && pass.Next(match)) {
    if (const StageResult r = segment(match.begin); r != StageResult::kOk) return r;
    const Offset offset{static_cast<uint32_t>(match.begin), static_cast<uint32_t>(match.end)};
    if (!sink.Push(match.id, offset)) return StageResult::kNoRoom;
    begin = static_cast<uint32_t>(match.end);
  }
  return segment(text.size());
}

WordCache::Memory* Tokenizer::Impl::TakeCache(ScratchCarver& carver) const {
  if (words_ == nullptr) {
    carver.SetCacheOwner(id_);  // what follows scribbles over another tokenizer's words
    return nullptr;
  }
  const auto memory = carver.Take<WordCache::Memory>(1);
  if (memory.empty()) return nullptr;
  if (!carver.OwnsCache(id_)) {
    WordCache(memory.data()).Clear();
    carver.SetCacheOwner(id_);
  } else if (carver.IsCacheStale()) {
    WordCache(memory.data()).Forget();
    carver.SetCacheOwner(id_);
  }
  return memory.data();
}

absl::StatusOr<Encoding> Tokenizer::Impl::Encode(std::span<const Input> inputs, const EncodeOptions& options,
                                                 Scratch& scratch, const EncodingBuffer& buffer) const {
  if (!ColumnsFit(buffer) || !ColumnFits(buffer.cu_seqlens.size(), inputs.size() + 1)) {
    return CodeOnly(absl::StatusCode::kInvalidArgument);
  }
  size_t num_truncated = 0;
  size_t at = 0;
  if (!buffer.cu_seqlens.empty()) buffer.cu_seqlens[0] = 0;
  for (size_t row = 0; row < inputs.size(); ++row) {
    // The cache comes first, at the same place in each call.
    ScratchCarver carver(scratch);
    WordCache::Memory* const cache = TakeCache(carver);
    if (words_ != nullptr && cache == nullptr) return CodeOnly(absl::StatusCode::kResourceExhausted);
    size_t size = 0;
    const absl::StatusCode code = EncodeRow(inputs[row], options, carver, cache, buffer, at, size, num_truncated);
    if (code != absl::StatusCode::kOk) return CodeOnly(code);
    at += size;
    if (!buffer.cu_seqlens.empty()) {
      if (at > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
        return CodeOnly(absl::StatusCode::kResourceExhausted);
      }
      buffer.cu_seqlens[row + 1] = static_cast<int32_t>(at);
    }
  }
  return internal::Written(buffer, at, inputs.size(), num_truncated);
}

size_t Tokenizer::Impl::MaxTextTokens(size_t bytes) const {
  // An added token of one byte gives a token, and the segment after it one more marker.
  const size_t most = sentencepiece_ != nullptr ? sentencepiece_->MaxTokens(bytes) : plain_.MaxTokens(bytes);
  return most + (raw_matcher_.shortest() == 1 ? bytes : 0);
}

size_t Tokenizer::Impl::MaxTokens(size_t input_bytes) const {
  const size_t added =
      std::max(post_processor_.NumAdded(PostProcessor::Shape::kSingle), post_processor_.NumAdded(PostProcessor::Shape::kPair));
  // Two texts: one more marker.
  return post_processor_.MaxRepeats() * (MaxTextTokens(input_bytes) + 1) + added;
}

size_t Tokenizer::Impl::ScratchBytes(size_t input_bytes) const {
  const size_t tokens = MaxTextTokens(input_bytes) + 1;
  size_t path = 0;
  if (words_ != nullptr) {
    path = words_->ScratchBytes(input_bytes);
    if (ShieldNeedsPlain()) path = std::max(path, sentencepiece_->ScratchBytes(input_bytes));
    path += sizeof(WordCache::Memory) + ScratchCarver::kAlign;
  } else if (sentencepiece_ != nullptr) {
    path = sentencepiece_->ScratchBytes(input_bytes);
  } else {
    path = plain_.ScratchBytes(input_bytes);
  }
  return path + tokens * (sizeof(TokenId) + sizeof(Offset)) + 4 * ScratchCarver::kAlign;
}

std::vector<TableFact> Tokenizer::Impl::Facts() const {
  std::vector<TableFact> facts;
  if (file_) {
    facts.push_back({"compiled file", std::to_string(file_->bytes().bytes().size()) + " bytes, " +
                                          (file_->bytes().is_mapped() ? "mapped" : "a copy of its own")});
  }
  if (words_ != nullptr) {
    facts.push_back({"path", sentencepiece_ != nullptr ? "words (table, cache, symbol lattice; sums go on)"
                                                       : "words (table, cache, symbol lattice)"});
    const auto more = words_->Facts();
    facts.insert(facts.end(), more.begin(), more.end());
  } else {
    facts.push_back({"path", "plain: " + obstacle_});
  }
  const bool summed = sentencepiece_ != nullptr;
  facts.push_back({"byte trie bytes", std::to_string(summed ? sentencepiece_->TrieBytes() : plain_.TrieBytes())});
  size_t huge = file_ ? file_->bytes().HugeBytes() : 0;
  huge += (summed ? sentencepiece_->TrieHugeBytes() : plain_.TrieHugeBytes()) + (words_ != nullptr ? words_->HugeBytes() : 0);
  facts.push_back({"huge page bytes", std::to_string(huge)});
  facts.push_back({"instruction set", std::string(internal::IsaName(internal::ActiveIsa()))});
  return facts;
}

absl::StatusOr<Tokenizer> Tokenizer::Create(TokenizerSpec spec, const TokenizerOptions& options) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  return Tokenizer(std::make_shared<const Impl>(std::move(spec), options));
}

// Longer texts are refused, so their bounds need not be larger (and do not wrap).
size_t Tokenizer::ScratchBytes(size_t input_bytes) const {
  return impl_->ScratchBytes(std::min(input_bytes, 2 * internal::kMaxTextBytes));
}
size_t Tokenizer::MaxTokens(size_t input_bytes) const {
  return impl_->MaxTokens(std::min(input_bytes, 2 * internal::kMaxTextBytes));
}

absl::StatusOr<Encoding> Tokenizer::Encode(const Input& input, const EncodeOptions& options, Scratch& scratch,
                                           const EncodingBuffer& buffer) const {
  EncodingBuffer row = buffer;
  row.cu_seqlens = {};
  return impl_->Encode({&input, 1}, options, scratch, row);
}

absl::StatusOr<Encoding> Tokenizer::EncodeBatch(std::span<const Input> inputs, const EncodeOptions& options,
                                                Scratch& scratch, const EncodingBuffer& buffer) const {
  if (buffer.cu_seqlens.empty()) return CodeOnly(absl::StatusCode::kInvalidArgument);
  return impl_->Encode(inputs, options, scratch, buffer);
}

absl::StatusOr<Encoding> Tokenizer::EncodeWindows(const Input& input, const EncodeOptions& options, Scratch& scratch,
                                                  const EncodingBuffer& buffer, WindowRoom* needed) const {
  WindowRoom room;
  return impl_->EncodeWindows(input, options, scratch, buffer, needed != nullptr ? *needed : room);
}

absl::StatusOr<std::string_view> Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                                   std::span<char> out) const {
  return impl_->Decode(ids, options, out);
}

size_t Tokenizer::DecodedBytes(std::span<const TokenId> ids) const { return impl_->DecodedBytes(ids); }

const Vocab& Tokenizer::vocab() const { return impl_->vocab(); }
const TokenizerSpec& Tokenizer::spec() const { return impl_->spec(); }
const TokenizerSpec& Tokenizer::spec_without_pieces() const { return impl_->spec_without_pieces(); }
std::vector<TableFact> Tokenizer::Facts() const { return impl_->Facts(); }

}  // namespace trellis
