#include "src/stage/code_point_set.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "src/text/hf_tables.h"
#include "trellis/internal/text/hf_properties.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

// By GeneralCategory.
constexpr std::array<std::string_view, 30> kCategoryNames = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs"};

std::string Hex(uint32_t c) {
  char text[16];
  std::snprintf(text, sizeof text, "\\x{%X}", c);
  return text;
}

}  // namespace

// Of properties in HfProperties: code points of a run have the same ones, and so have those between two runs.
template <typename Has>
CodePointSet CodePointSet::Where(Has has) {
  CodePointSet set;
  uint32_t next = 0;
  const auto add = [&](uint32_t first, uint32_t end) {
    if (first < end && has(first)) set.Add(first, end - 1);
  };
  for (const HfRun& run : kHfRuns) {
    add(next, run.first);
    next = run.last + 1;
    add(run.first, next);
  }
  add(next, kMaxCodePoint + 1);
  return set;
}

CodePointSet CodePointSet::OfEscape(char escape, Place place) {
  const HfProperties& properties = HfProperties::Get();
  return Where([&](uint32_t c) {
    if (escape == 's') return properties.IsPatternSpace(c);
    // Alone, Oniguruma's \w has Latin-1's superscripts and fractions too (whose runs end within Latin-1).
    const bool fraction = c < 0x100 && properties.Category(c) == GeneralCategory::kNo;
    if (escape == 'w') return properties.IsPatternWord(c) && !(fraction && place == Place::kInClass);
    return properties.Category(c) == GeneralCategory::kNd;
  });
}

std::optional<CodePointSet> CodePointSet::OfCategory(std::string_view name) {
  if (name.empty() || name.size() > 2) return std::nullopt;
  std::array<bool, kCategoryNames.size()> wanted = {};
  bool known = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = kCategoryNames[i].starts_with(name);
    known |= wanted[i];
  }
  if (!known) return std::nullopt;
  const HfProperties& properties = HfProperties::Get();
  return Where([&](uint32_t c) { return wanted[static_cast<size_t>(properties.Category(c))]; });
}

std::vector<CodePointSet::Range> CodePointSet::Sorted() const {
  std::vector<Range> sorted = ranges_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<Range> out;
  for (const Range& range : sorted) {
    if (!out.empty() && range.first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, range.second);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

CodePointSet CodePointSet::Inverted() const {
  CodePointSet out;
  uint32_t next = 0;
  for (const auto& [first, last] : Sorted()) {
    if (next < first) out.Add(next, first - 1);
    next = last + 1;
  }
  if (next <= kMaxCodePoint) out.Add(next, kMaxCodePoint);
  return out;
}

bool CodePointSet::IsCaseless() const {
  for (const auto& [first, last] : ranges_) {
    for (uint32_t c = first; c <= last; ++c) {
      // Letters have cases, and so do some marks, numerals and symbols.
      const GeneralCategory category = HfProperties::Get().Category(c);
      const bool sign = category >= GeneralCategory::kPc && category <= GeneralCategory::kSk;
      const bool blank = category >= GeneralCategory::kZs && category <= GeneralCategory::kCc;
      if (!sign && !blank && category != GeneralCategory::kNd) return false;
    }
  }
  return true;
}

std::string CodePointSet::ToClass() const {
  std::string out = "[";
  for (const auto& [first, last] : Sorted()) {
    out += Hex(first);
    if (first != last) out.append("-").append(Hex(last));
  }
  return out.append("]");
}

}  // namespace trellis::internal
