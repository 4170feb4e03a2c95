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
          using Kind = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<Kind, MetaspaceStep>) {
            const MetaspaceStep::Sizes room = s.Room(view, ranges);
            const auto bytes = carver.Take<char>(room.bytes);
            const auto source = carver.Take<uint32_t>(room.bytes);
            const auto out = carver.Take<PreToken>(room.pre_tokens);
            ok = bytes.size() == room.bytes && source.size() == room.bytes && out.size() == room.pre_tokens;
            if (!ok) return;
            const MetaspaceStep::Sizes sizes = s.Run(view, ranges, {bytes.data(), source.data()}, out);
            ok = sizes.bytes <= kMostBytes;
            view = {{bytes.data(), sizes.bytes}, source.data(), 0};
            ranges = out.first(sizes.pre_tokens);
          } else {
            size_t most = 0;
            for (const PreToken& one : ranges) most += MaxPreTokens(one.end - one.begin);
            if constexpr (kDropsWhereItCuts<Kind>) most = (most + ranges.size()) / 2;
            const auto out = carver.Take<PreToken>(most);
            ok = out.size() == most;
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
  // `both`: bytes of ranges and ranges together. What drops a byte for each cut leaves that as it is; and as no
  // range is empty, at most half of it are ranges.
  size_t both = bytes + 1;
  bool has_blanks = true;  // in ranges
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          using Kind = std::decay_t<decltype(s)>;
          size_t ranges = both / 2;
          if constexpr (std::is_same_v<Kind, MetaspaceStep>) {
            const size_t longer = s.replacement().size();
            room.bytes = std::min(kMostBound, has_blanks ? both * longer : both + ranges * (longer - 1));
            ranges = s.PreTokens(room.bytes, ranges);
            both = room.bytes + ranges;
            has_blanks = has_blanks && s.replacement() == " ";
            room.scratch += TakenBytes<char>(room.bytes) + TakenBytes<uint32_t>(room.bytes);
          } else if constexpr (!kDropsWhereItCuts<Kind>) {
            ranges = both;
            both = std::min(2 * kMostBound, 2 * both);
          }
          if constexpr (std::is_same_v<Kind, WhitespaceSplitStep>) has_blanks = false;
          room.scratch += TakenBytes<PreToken>(ranges);
        },
        step);
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
