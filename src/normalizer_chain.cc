#include "src/normalizer_chain.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace trellis::internal {
namespace {

constexpr size_t kUnknownBytes = 3;  // of U+FFFD
// Positions in normalized text are 32 bits: a longer one is refused.
constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();
// Where bounds end: what no machine has. The worst case of each of many steps
// after that of the one before soon has no number any more.
constexpr size_t kMostBound = size_t{1} << 40;

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// Room for the most that a step can make of its text, and what it has made, in
// no more room than that takes.
class AlignedRoom {
 public:
  AlignedRoom(ScratchCarver& carver, size_t bytes)
      : carver_(carver), mark_(carver.mark()), source_(carver.Take<uint32_t>(bytes)), bytes_(carver.Take<char>(bytes)) {
    ok_ = source_.size() == bytes && bytes_.size() == bytes;
  }

  bool ok() const { return ok_; }
  AlignedBuffer buffer() const { return {bytes_.data(), source_.data()}; }

  AlignedView Keep(size_t size) {
    carver_.Release(mark_);
    carver_.Take<uint32_t>(size);  // the same place
    const auto bytes = carver_.Take<char>(size);
    if (size > 0) std::memmove(bytes.data(), bytes_.data(), size);
    return {{bytes.data(), size}, source_.data(), 0};
  }

 private:
  ScratchCarver& carver_;
  size_t mark_;
  std::span<uint32_t> source_;
  std::span<char> bytes_;
  bool ok_;
};

size_t AlignedBytes(size_t bytes) { return bytes * (1 + sizeof(uint32_t)) + 2 * ScratchCarver::kAlign; }

bool IsAscii(std::string_view text) {
  uint8_t all = 0;
  for (const char byte : text) all |= static_cast<uint8_t>(byte);
  return all < 0x80;
}

// What such a step leaves as it is, without looking closer.
template <typename Step>
constexpr bool kKeepsAscii = std::is_same_v<Step, UnicodeFormStep> || std::is_same_v<Step, RemoveStep>;

}  // namespace

NormalizerChain::NormalizerChain(const std::vector<Normalizer>& normalizers) {
  for (const Normalizer& normalizer : normalizers) Add(normalizer);
}

void NormalizerChain::Add(const Normalizer& normalizer) {
  const auto add = [this](auto step) { steps_.emplace_back(std::move(step)); };
  std::visit(
      Overloaded{
          [&](const PrecompiledNormalizer& n) { add(PrecompiledStep(n.charsmap)); },
          [&](const ReplaceNormalizer& n) {
            // The pattern of most files has a loop of its own.
            if (n.is_regex && n.pattern != " {2,}") return add(PatternReplaceStep(n));
            add(ReplaceStep(n.is_regex ? ReplaceStep::Pattern::kTwoOrMoreBlanks : ReplaceStep::Pattern::kString, n.pattern,
                            n.content));
          },
          [&](const SentencePieceNormalizer&) {},  // of the other dialect
          [&](const UnicodeNormalizer& n) { add(UnicodeFormStep(n.form)); },
          [&](const NmtNormalizer&) { add(NmtStep()); },
          [&](const LowercaseNormalizer&) { add(LowercaseStep()); },
          [&](const StripNormalizer& n) { add(StripStep(n)); },
          [&](const StripAccentsNormalizer&) { add(RemoveStep(&HfProperties::IsMark)); },
          [&](const PrependNormalizer& n) { add(PrependStep(n.prepend)); },
          [&](const BertNormalizer& n) {
            if (n.clean_text) add(CleanTextStep());
            if (n.handle_chinese_chars) add(IdeographStep());
            if (n.strip_accents.value_or(n.lowercase)) {
              add(UnicodeFormStep(UnicodeForm::kNfd));
              add(RemoveStep(&HfProperties::IsNonspacingMark));
            }
            if (n.lowercase) add(LowercaseStep());
          },
      },
      normalizer);
}

std::optional<AlignedView> NormalizerChain::Run(const AlignedView& raw, ScratchCarver& carver) const {
  AlignedView view = raw;
  bool ok = true;
  if (repairs()) {
    AlignedRoom out(carver, view.bytes.size() * kUnknownBytes);
    if (!out.ok()) return std::nullopt;
    view = out.Keep(RunRepair(view, out.buffer()));
  }
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          using Kind = std::decay_t<decltype(s)>;
          if (kKeepsAscii<Kind> && IsAscii(view.bytes)) return;
          AlignedRoom out(carver, s.MaxBytes(view.bytes.size()));
          ok = out.ok();
          if (!ok) return;
          size_t size = 0;
          if constexpr (std::is_same_v<Kind, UnicodeFormStep>) {
            const size_t mark = carver.mark();
            const auto work = carver.Take<uint32_t>(s.WorkSize(view.bytes.size()));
            ok = work.size() == s.WorkSize(view.bytes.size());
            if (!ok) return;
            size = s.Run(view, work, out.buffer());
            carver.Release(mark);
          } else if constexpr (std::is_same_v<Kind, PrecompiledStep>) {
            size = s.Run(view, TextStart::kStart, out.buffer());
          } else {
            size = s.Run(view, out.buffer());
          }
          ok = size <= kMostBytes;
          if (ok) view = out.Keep(size);
        },
        step);
    if (!ok) return std::nullopt;
  }
  return view;
}

NormalizerChain::Room NormalizerChain::MaxRoom(size_t bytes) const {
  Room room{bytes, 0};
  if (repairs()) {
    room.bytes *= kUnknownBytes;
    room.scratch += AlignedBytes(room.bytes);
  }
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          if constexpr (std::is_same_v<std::decay_t<decltype(s)>, UnicodeFormStep>) {
            room.scratch += s.WorkSize(room.bytes) * sizeof(uint32_t) + ScratchCarver::kAlign;
          }
          room.bytes = std::min(kMostBound, std::max(room.bytes, s.MaxBytes(room.bytes)));
        },
        step);
    room.scratch += AlignedBytes(room.bytes);
  }
  return room;
}

NormalizerChain::Length NormalizerChain::MaxLength(size_t bytes) const {
  Length length{bytes * (repairs() ? kUnknownBytes : 1), bytes};  // malformed bytes are a character each
  for (const Step& step : steps_) {
    std::visit(
        [&](const auto& s) {
          size_t longer = s.MaxBytes(length.bytes);
          if constexpr (std::is_same_v<std::decay_t<decltype(s)>, PrependStep>) longer = s.MaxBytesOfTexts(length.bytes);
          length.characters =
              std::min(kMostBound, std::max(length.characters, s.MaxCharacters(length.bytes, length.characters)));
          length.bytes = std::min(kMostBound, std::max(length.bytes, longer));
        },
        step);
  }
  return length;
}

}  // namespace trellis::internal
