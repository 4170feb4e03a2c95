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
#include "trellis/internal/stage/truncation.h"

namespace trellis {

using internal::AddedTokenMatch;
using internal::AddedTokenMatcher;
using internal::AddedTokenRule;
using internal::KeptTokens;
using internal::MatchSpecial;
using internal::PostProcessor;
using internal::StageResult;
using internal::TemplateStep;
using internal::TextSegment;
using internal::TokenPlace;
using internal::TokenSink;
using internal::WordCache;
using internal::WordPath;

namespace {

// A status without a message does not allocate.
absl::Status CodeOnly(absl::StatusCode code) { return absl::Status(code, ""); }

absl::StatusCode ToCode(StageResult result) {
  switch (result) {
    case StageResult::kOk:
      return absl::StatusCode::kOk;
    case StageResult::kNoRoom:
      return absl::StatusCode::kResourceExhausted;
    case StageResult::kNoUnk:
      return absl::StatusCode::kInvalidArgument;
  }
  return absl::StatusCode::kInternal;
}

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

// The columns of `buffer` at [at, at + size) get one value or row of tokens.
void FillColumns(const EncodingBuffer& buffer, size_t at, size_t size, uint8_t type_id, uint8_t special) {
  if (!buffer.type_ids.empty()) std::fill_n(buffer.type_ids.begin() + static_cast<std::ptrdiff_t>(at), size, type_id);
  if (!buffer.special_tokens_mask.empty()) {
    std::fill_n(buffer.special_tokens_mask.begin() + static_cast<std::ptrdiff_t>(at), size, special);
  }
}

bool ColumnFits(size_t column, size_t ids) { return column == 0 || column >= ids; }

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

constexpr size_t kMaxTextBytes = std::numeric_limits<uint32_t>::max();

}  // namespace

Tokenizer::Impl::Impl(TokenizerSpec spec, const TokenizerOptions& options)
    : spec_(std::move(spec)),
      vocab_(spec_),
      plain_(spec_, options),
      id_(NextId()),
      raw_matcher_(RawRules(spec_)),
      post_processor_(spec_.post_processor) {
  if (spec_.dialect == Dialect::kSentencePiece) {
    sentencepiece_ = std::make_unique<const internal::SentencePiecePipeline>(spec_, options);
  }
  if (const auto obstacle = WordPath::FindObstacle(spec_)) {
    obstacle_ = *obstacle;
  } else if (!options.shortcuts) {
    obstacle_ = "shortcuts are off";
  } else {
    words_ = sentencepiece_ != nullptr ? WordPath::Create(spec_, *sentencepiece_, options)
                                       : WordPath::Create(spec_, plain_, options);
    if (words_ == nullptr) obstacle_ = "the alphabet or the pieces do not suit the symbol trie";
  }
  // Encode must not be the one that builds it.
  if (words_ == nullptr || words_->MayNeedPlain()) {
    sentencepiece_ != nullptr ? sentencepiece_->BuildTrie() : plain_.BuildTrie();
  }
  for (const Decoder& decoder : spec_.decoders) {
    if (const auto* metaspace = std::get_if<MetaspaceDecoder>(&decoder)) decoder_.emplace(*metaspace);
  }
}

StageResult Tokenizer::Impl::EncodeText(std::string_view text, const EncodeOptions& options, ScratchCarver& carver,
                                        WordCache::Memory* cache, TokenSink& sink) const {
  const MatchSpecial special = options.match_special_tokens ? MatchSpecial::kYes : MatchSpecial::kNo;
  uint32_t begin = 0;
  const auto segment = [&](size_t end) {
    const TextSegment plain{text, begin, static_cast<uint32_t>(end)};
    if (begin >= end) return StageResult::kOk;
    if (words_ != nullptr) return words_->Run(plain, special, carver, cache, sink);
    return sentencepiece_ != nullptr ? sentencepiece_->Run(plain, carver, sink)
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

absl::StatusCode Tokenizer::Impl::EncodeRow(const Input& input, const EncodeOptions& options, ScratchCarver& carver,
                                            WordCache::Memory* cache, const EncodingBuffer& buffer, size_t at, size_t& size,
                                            size_t& num_truncated) const {
  const std::string_view second = input.pair.value_or(std::string_view());
  if (input.text.size() > kMaxTextBytes || second.size() > kMaxTextBytes) return absl::StatusCode::kResourceExhausted;
  const auto shape = input.pair ? PostProcessor::Shape::kPair : PostProcessor::Shape::kSingle;
  const auto sink_at = [&](size_t position) {
    return TokenSink(buffer.ids.data() + position, buffer.offsets.empty() ? nullptr : buffer.offsets.data() + position,
                     buffer.ids.size() - position);
  };

  // With truncation: both texts first, into scratch, and how much of them stays.
  std::span<TokenId> ids[2];
  std::span<Offset> offsets[2];
  if (options.truncate != Truncate::kNever) {
    const size_t added = options.add_special_tokens ? post_processor_.NumAdded(shape) : 0;
    if (options.max_length < added) return absl::StatusCode::kInvalidArgument;
    for (int i = 0; i < (input.pair ? 2 : 1); ++i) {
      const std::string_view text = i == 0 ? input.text : second;
      const size_t room = MaxTextTokens(text.size());
      ids[i] = carver.Take<TokenId>(room);
      offsets[i] = buffer.offsets.empty() ? std::span<Offset>() : carver.Take<Offset>(room);
      if (ids[i].size() < room || (!buffer.offsets.empty() && offsets[i].size() < room)) {
        return absl::StatusCode::kResourceExhausted;
      }
      TokenSink sink(ids[i].data(), offsets[i].empty() ? nullptr : offsets[i].data(), room);
      if (const StageResult r = EncodeText(text, options, carver, cache, sink); r != StageResult::kOk) return ToCode(r);
      ids[i] = ids[i].first(sink.size());
    }
    const auto kept = internal::RunTruncation(
        options.truncate, options.max_length - added, ids[0].size(),
        input.pair ? std::optional<size_t>(ids[1].size()) : std::nullopt);
    if (!kept) return absl::StatusCode::kInvalidArgument;
    for (int i = 0; i < 2; ++i) {
      const size_t keep = i == 0 ? kept->first : kept->second;
      const size_t removed = ids[i].size() - keep;
      const size_t from = options.truncation_side == Side::kLeft ? removed : 0;
      num_truncated += removed;
      ids[i] = ids[i].subspan(from, keep);
      if (!offsets[i].empty()) offsets[i] = offsets[i].subspan(from, keep);
    }
  }

  size = 0;
  for (const TemplateStep& step : post_processor_.steps(shape)) {
    TokenSink sink = sink_at(at + size);
    if (step.kind == TemplateStep::Kind::kSpecial) {
      if (!options.add_special_tokens) continue;
      if (!sink.Push(step.id, Offset{})) return absl::StatusCode::kResourceExhausted;
      FillColumns(buffer, at + size, 1, step.type_id, 1);
      ++size;
      continue;
    }
    const int i = step.kind == TemplateStep::Kind::kFirst ? 0 : 1;
    if (options.truncate != Truncate::kNever) {
      if (ids[i].size() > sink.room()) return absl::StatusCode::kResourceExhausted;
      std::copy(ids[i].begin(), ids[i].end(), sink.next_ids());
      if (sink.wants_offsets()) {
        std::copy_n(offsets[i].begin(), ids[i].size(), sink.next_offsets());
      }
      sink.Wrote(ids[i].size());
    } else {
      const StageResult r = EncodeText(i == 0 ? input.text : second, options, carver, cache, sink);
      if (r != StageResult::kOk) return ToCode(r);
    }
    FillColumns(buffer, at + size, sink.size(), step.type_id, 0);
    size += sink.size();
  }
  return absl::StatusCode::kOk;
}

absl::StatusOr<Encoding> Tokenizer::Impl::Encode(std::span<const Input> inputs, const EncodeOptions& options,
                                                 Scratch& scratch, const EncodingBuffer& buffer) const {
  const size_t capacity = buffer.ids.size();
  if (!ColumnFits(buffer.offsets.size(), capacity) || !ColumnFits(buffer.type_ids.size(), capacity) ||
      !ColumnFits(buffer.special_tokens_mask.size(), capacity) ||
      !ColumnFits(buffer.cu_seqlens.size(), inputs.size() + 1)) {
    return CodeOnly(absl::StatusCode::kInvalidArgument);
  }
  Encoding encoding;
  size_t at = 0;
  if (!buffer.cu_seqlens.empty()) buffer.cu_seqlens[0] = 0;
  for (size_t row = 0; row < inputs.size(); ++row) {
    // The cache comes first, at the same place in each call.
    ScratchCarver carver(scratch);
    WordCache::Memory* cache = nullptr;
    if (words_ == nullptr) {
      carver.SetCacheOwner(id_);  // what follows scribbles over another tokenizer's words
    } else {
      const auto memory = carver.Take<WordCache::Memory>(1);
      if (memory.empty()) return CodeOnly(absl::StatusCode::kResourceExhausted);
      cache = memory.data();
      if (!carver.OwnsCache(id_)) {
        WordCache(cache).Clear();
        carver.SetCacheOwner(id_);
      } else if (carver.IsCacheStale()) {
        WordCache(cache).Forget();
        carver.SetCacheOwner(id_);
      }
    }
    size_t size = 0;
    const absl::StatusCode code =
        EncodeRow(inputs[row], options, carver, cache, buffer, at, size, encoding.num_truncated);
    if (code != absl::StatusCode::kOk) return CodeOnly(code);
    at += size;
    if (!buffer.cu_seqlens.empty()) {
      if (at > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
        return CodeOnly(absl::StatusCode::kResourceExhausted);
      }
      buffer.cu_seqlens[row + 1] = static_cast<int32_t>(at);
    }
  }
  encoding.ids = buffer.ids.first(at);
  if (!buffer.offsets.empty()) encoding.offsets = buffer.offsets.first(at);
  if (!buffer.type_ids.empty()) encoding.type_ids = buffer.type_ids.first(at);
  if (!buffer.special_tokens_mask.empty()) encoding.special_tokens_mask = buffer.special_tokens_mask.first(at);
  if (!buffer.cu_seqlens.empty()) encoding.cu_seqlens = buffer.cu_seqlens.first(inputs.size() + 1);
  return encoding;
}

absl::StatusOr<std::string_view> Tokenizer::Impl::Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                                         std::span<char> out) const {
  if (sentencepiece_) {
    using Controls = internal::SentencePiecePipeline::Controls;
    const auto text = sentencepiece_->Decode(
        ids, options.skip_special_tokens ? Controls::kLeaveOut : Controls::kSpellOut, out);
    if (!text) return CodeOnly(absl::StatusCode::kResourceExhausted);
    return *text;
  }
  internal::TextSink sink(out);
  TokenPlace place = TokenPlace::kFirst;
  for (const TokenId id : ids) {
    if (!vocab_.Has(id)) continue;
    if (options.skip_special_tokens && vocab_.IsSpecial(id)) continue;
    const std::string_view text = vocab_.Text(id);
    const bool fits = decoder_ ? decoder_->Run(text, place, sink) : internal::RunJoin(text, place, sink);
    if (!fits) return CodeOnly(absl::StatusCode::kResourceExhausted);
    place = TokenPlace::kLater;
  }
  return sink.text();
}

size_t Tokenizer::Impl::DecodedBytes(std::span<const TokenId> ids) const {
  if (sentencepiece_) return sentencepiece_->DecodedBytes(ids);
  size_t bytes = 0;
  for (const TokenId id : ids) bytes += vocab_.Text(id).size() + 1;  // a blank between, at most
  return bytes;
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
    path = words_->ScratchBytes(input_bytes) + sizeof(WordCache::Memory) + ScratchCarver::kAlign;
  } else if (sentencepiece_ != nullptr) {
    path = sentencepiece_->ScratchBytes(input_bytes);
  } else {
    path = plain_.ScratchBytes(input_bytes);
  }
  return path + tokens * (sizeof(TokenId) + sizeof(Offset)) + 4 * ScratchCarver::kAlign;
}

std::vector<TableFact> Tokenizer::Impl::Facts() const {
  std::vector<TableFact> facts;
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
  const size_t huge = (summed ? sentencepiece_->TrieHugeBytes() : plain_.TrieHugeBytes()) + (words_ != nullptr ? words_->HugeBytes() : 0);
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
  return impl_->ScratchBytes(std::min(input_bytes, 2 * kMaxTextBytes));
}
size_t Tokenizer::MaxTokens(size_t input_bytes) const {
  return impl_->MaxTokens(std::min(input_bytes, 2 * kMaxTextBytes));
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

absl::StatusOr<std::string_view> Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options,
                                                   std::span<char> out) const {
  return impl_->Decode(ids, options, out);
}

size_t Tokenizer::DecodedBytes(std::span<const TokenId> ids) const { return impl_->DecodedBytes(ids); }

absl::StatusOr<EncodedText> Tokenizer::Encode(const Input& input, const EncodeOptions& options) const {
  thread_local Scratch scratch;
  const size_t bytes = input.text.size() + input.pair.value_or(std::string_view()).size();
  scratch.Reserve(ScratchBytes(bytes));
  EncodedText text;
  // What the bound allows is far more than nearly all texts need: begin with
  // less and grow when that proves too little.
  const size_t most = MaxTokens(bytes);
  for (size_t room = std::min(most, bytes / 2 + 16);; room = std::min(most, room * 4)) {
    text.ids.resize(room);
    text.offsets.resize(room);
    text.type_ids.resize(room);
    text.special_tokens_mask.resize(room);
    const auto encoding = Encode(input, options, scratch,
                                 {text.ids, text.offsets, text.type_ids, text.special_tokens_mask, {}});
    if (!encoding.ok()) {
      if (absl::IsResourceExhausted(encoding.status()) && room < most) continue;
      return encoding.status();
    }
    const size_t size = encoding->ids.size();
    text.ids.resize(size);
    text.offsets.resize(size);
    text.type_ids.resize(size);
    text.special_tokens_mask.resize(size);
    text.num_truncated = encoding->num_truncated;
    return text;
  }
}

absl::StatusOr<EncodedText> Tokenizer::Encode(std::string_view text) const { return Encode(Input{text}); }

std::string Tokenizer::Decode(std::span<const TokenId> ids, const DecodeOptions& options) const {
  std::string text(DecodedBytes(ids), '\0');
  text.resize(Decode(ids, options, std::span<char>(text)).value_or(std::string_view()).size());
  return text;
}

const Vocab& Tokenizer::vocab() const { return impl_->vocab(); }
const TokenizerSpec& Tokenizer::spec() const { return impl_->spec(); }
std::vector<TableFact> Tokenizer::Facts() const { return impl_->Facts(); }

}  // namespace trellis
