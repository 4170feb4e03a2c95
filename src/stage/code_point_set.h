// CodePointSet: what a class of a regular expression matches.
#ifndef TRELLIS_SRC_STAGE_CODE_POINT_SET_H_
#define TRELLIS_SRC_STAGE_CODE_POINT_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis::internal {

class CodePointSet {
 public:
  static CodePointSet One(uint32_t c) {
    CodePointSet set;
    set.Add(c, c);
    return set;
  }
  // \s, \d or \w of the reference, to which it matters for \w where it stands.
  enum class Place : uint8_t { kAlone, kInClass };
  static CodePointSet OfEscape(char escape, Place place);
  // A general category ("Lu") or a group of them ("L"); nullopt: there is none.
  static std::optional<CodePointSet> OfCategory(std::string_view name);

  void Add(uint32_t first, uint32_t last) { ranges_.emplace_back(first, last); }
  void Add(const CodePointSet& other) { ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end()); }
  CodePointSet Inverted() const;
  // None of it has another case.
  bool IsCaseless() const;
  // As a class for RE2.
  std::string ToClass() const;

 private:
  using Range = std::pair<uint32_t, uint32_t>;  // inclusive
  template <typename Has>
  static CodePointSet Where(Has has);
  std::vector<Range> Sorted() const;  // and apart from each other

  std::vector<Range> ranges_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_STAGE_CODE_POINT_SET_H_
