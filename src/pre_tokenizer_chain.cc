#include "src/pre_tokenizer_chain.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace trellis::internal {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// As in normalizer_chain.cc: of texts, and of bounds.
constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();
constexpr size_t kMostBound = size_t{1} << 40;

template <typename T>
size_t TakenBytes(size_t count) {
  return count * sizeof(T) + ScratchCarver::kAlign;
}

// Pre-tokenizers that drop a character for each pre-token more.
template <typename Step>
constexpr bool kDropsWhereItCuts = std::is_same_v<Step, WhitespaceSplitStep> || std::is_same_v<Step, CharDelimiterStep>;

}  // namespace

PreTokenizerChain::PreTokenizerChain(const std::vector<PreTokenizer>& pre_tokenizers) {
  for (const PreTokenizer& pre_tokenizer : pre_tokenizers) Add(pre_tokenizer);
}

void PreTokenizerChain::Add(const PreTokenizer& pre_tokenizer) {
  const auto add = [this](auto step) { steps_.emplace_back(std::move(step)); };
  std::visit(Overloaded{
                 [&](const WhitespaceSplitPreTokenizer&) { add(WhitespaceSplitStep()); },
                 [&](const MetaspacePreTokenizer& p) { add(MetaspaceStep(p)); },
                 [&](const WhitespacePreTokenizer&) { add(WordRunsStep()); },
                 [&](const PunctuationPreTokenizer& p) { add(PunctuationStep(p.behavior)); },
                 [&](const DigitsPreTokenizer& p) { add(DigitsStep(p)); },
                 [&](const UnicodeScriptsPreTokenizer&) { add(UnicodeScriptsStep()); },
                 [&](const SplitPreTokenizer& p) { add(PatternSplitStep(p)); },
                 [&](const BertPreTokenizer&) {
                   add(WhitespaceSplitStep());
                   add(PunctuationStep(SplitBehavior::kIsolated));
                 },
                 [&](const CharDelimiterPreTokenizer& p) { add(CharDelimiterStep(p.delimiter)); },
                 [&](const FixedLengthPreTokenizer& p) { add(FixedLengthStep(p)); },
             },
             pre_tokenizer);
}

std::optional<PreTokenizerChain::PreTokens> PreTokenizerChain::Run(const AlignedView& text, const PreToken& range,
                                                                   ScratchCarver& carver) const {
  AlignedView view = text;
  const auto whole = carver.Take<PreToken>(1);
  if (whole.empty()) return std::nullopt;
  whole[0] = range;
  std::span<const PreToken> ranges = whole.first(range.begin < range.end ? 1 : 0);
  bool ok = true;
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          if constexpr (std::is_same_v<std::decay_t<decltype(s)>, MetaspaceStep>) {
            const size_t room = s.MaxBytes(view.bytes.size(), ranges.size());
            const auto bytes = carver.Take<char>(room);
            const auto source = carver.Take<uint32_t>(room);
            const auto out = carver.Take<PreToken>(MaxPreTokens(room));
            ok = bytes.size() == room && source.size() == room && out.size() == MaxPreTokens(room);
            if (!ok) return;
            const MetaspaceStep::Sizes sizes = s.Run(view, ranges, {bytes.data(), source.data()}, out);
            ok = sizes.bytes <= kMostBytes;
            view = {{bytes.data(), sizes.bytes}, source.data(), 0};
            ranges = out.first(sizes.pre_tokens);
          } else {
            const auto out = carver.Take<PreToken>(MaxPreTokens(view.bytes.size()));
            ok = out.size() == MaxPreTokens(view.bytes.size());
            if (ok) ranges = out.first(s.Run(view, ranges, out));
          }
        },
        step);
    if (!ok) return std::nullopt;
  }
  return PreTokens{view, ranges};
}

NormalizerChain::Room PreTokenizerChain::MaxRoom(size_t bytes) const {
  NormalizerChain::Room room{bytes, TakenBytes<PreToken>(1)};
  size_t ranges = 1;
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          using Kind = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<Kind, MetaspaceStep>) {
            room.bytes = std::min(kMostBound, s.MaxBytes(room.bytes, ranges));
            room.scratch += TakenBytes<char>(room.bytes) + TakenBytes<uint32_t>(room.bytes);
          }
          ranges = kDropsWhereItCuts<Kind> ? MaxPreTokens(room.bytes) / 2 + 1 : MaxPreTokens(room.bytes);
        },
        step);
    room.scratch += TakenBytes<PreToken>(MaxPreTokens(room.bytes));
  }
  return room;
}

size_t PreTokenizerChain::MaxLength(size_t length, Unit unit, Ranges ranges) const {
  // `both`: characters and ranges together, since markers are put before ranges.
  size_t both = ranges == Ranges::kOneEach ? length + 1 : 2 * length;
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          using Kind = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<Kind, MetaspaceStep>) {
            length = both * (unit == Unit::kBytes ? s.replacement().size() : 1);
            length = std::min(length, kMostBound);
            both = 2 * length;
          } else if (!kDropsWhereItCuts<Kind>) {
            both = 2 * length;
          }
        },
        step);
  }
  return length;
}

}  // namespace trellis::internal
