// Pattern: a string or a regular expression that Replace and Split look for.
//
// The reference's expressions are Oniguruma's. Those that mean the same there
// and here run in RE2, with the reference's own classes (\s, \d, \w, \p{..})
// spelled out, so that results do not hang on RE2's version of Unicode; all
// others are refused by Check. No match is empty.
//
// Find takes no lock of ours and is linear in the text. RE2 keeps states of its
// automaton in memory of its own, which grows with texts of new kinds up to a
// few megabytes a pattern; nothing else is allocated.
#ifndef TRELLIS_INTERNAL_STAGE_PATTERN_H_
#define TRELLIS_INTERNAL_STAGE_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace trellis::internal {

class Pattern {
 public:
  enum class Kind : uint8_t { kString, kRegex };

  // Why there can be no Pattern of `text`; nullopt: there can.
  static std::optional<std::string> Check(Kind kind, std::string_view text);

  // Check must have found nothing.
  Pattern(Kind kind, std::string text);

  struct Match {
    size_t begin;
    size_t end;
  };
  // The leftmost match of well-formed `text` from byte `from` on.
  std::optional<Match> Find(std::string_view text, size_t from) const;

  // Bytes of the shortest match, or less.
  size_t shortest() const { return shortest_; }

 private:
  class Automaton;
  std::string text_;
  std::shared_ptr<const Automaton> automaton_;  // null: a plain string
  size_t shortest_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_STAGE_PATTERN_H_
