#include "src/stage/pattern_syntax.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "src/stage/code_point_set.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {
namespace {

// Part of an expression, for RE2.
struct Part {
  std::string text;
  bool can_be_empty = false;
  char letter = 0;  // of an ASCII letter below (?i), in lowercase
};

constexpr size_t kMaxDepth = 50;

std::string InQuotes(std::string_view text) { return std::string("\"").append(text).append("\""); }
bool IsLetter(uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(uint32_t c) { return c >= '0' && c <= '9'; }

// Recursive descent. The first problem ends it: every function then returns
// quickly with whatever it has.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern) {}

  PatternSyntax Run() {
    if (Take("(?i)")) ignores_case_ = true;
    Part whole = Alternatives(0);
    if (problem_.empty() && !rest_.empty()) Refuse("an unmatched \")\"");
    if (problem_.empty() && whole.can_be_empty) Refuse("what can match nothing");
    return {std::move(whole.text), std::move(problem_)};
  }

 private:
  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  bool At(std::string_view text) const { return rest_.starts_with(text); }
  uint32_t TakeCharacter() {
    if (rest_.empty()) return 0;  // also behind a problem
    const Decoded d = DecodeUtf8(rest_);
    rest_.remove_prefix(d.length);
    return d.code_point;
  }
  void Refuse(std::string_view what) {
    if (problem_.empty()) {
      problem_ = std::string(what) + " is not supported in a regular expression (Oniguruma's syntax, run by RE2)";
    }
    rest_ = {};
  }

  Part Alternatives(size_t depth) {
    Part out = Sequence(depth);
    while (Take("|")) {
      Part other = Sequence(depth);
      out.text.append("|").append(other.text);
      out.can_be_empty |= other.can_be_empty;
    }
    return out;
  }

  Part Sequence(size_t depth) {
    Part out{"", true, 0};
    char before = 0;
    while (problem_.empty() && !rest_.empty() && !At("|") && !At(")")) {
      Part part = Quantified(depth);
      // One letter like \u00df or \ufb01 has two letters as its other case.
      for (const std::string_view pair : {"ss", "st", "ff", "fi", "fl"}) {
        if (before == pair[0] && part.letter == pair[1]) Refuse(InQuotes(pair) + " below (?i)");
      }
      before = part.letter;
      out.text += part.text;
      out.can_be_empty &= part.can_be_empty;
    }
    return out;
  }

  Part Quantified(size_t depth) {
    Part part = Atom(depth);
    if (problem_.empty()) Quantify(part);
    return part;
  }

  void Quantify(Part& part) {
    std::string quantifier;
    bool lazy_allowed = true;
    bool may_be_none = false;
    if (At("*") || At("?") || At("+")) {
      may_be_none = !At("+");
      quantifier = static_cast<char>(TakeCharacter());
    } else if (At("{")) {
      quantifier = Interval(may_be_none, lazy_allowed);
    } else {
      return;
    }
    if (part.can_be_empty) return Refuse("repeating what can match nothing");
    if (part.letter != 0) return Refuse("repeating a letter below (?i)");
    if (At("?")) {
      if (!lazy_allowed) return Refuse("\"{n}?\"");
      TakeCharacter();
      quantifier += "?";
    }
    if (At("+") || At("*") || At("?") || At("{")) return Refuse("a quantifier behind a quantifier");
    part.text += quantifier;
    part.can_be_empty = may_be_none;
  }

  // {n}, {n,} or {n,m}.
  std::string Interval(bool& may_be_none, bool& lazy_allowed) {
    TakeCharacter();
    const std::optional<uint32_t> low = Number();
    std::optional<uint32_t> high = low;
    lazy_allowed = At(",");
    if (Take(",")) high = Number();
    const bool sound = low && Take("}") && (!high || (*high >= *low && *high > 0));
    if (!sound) {
      Refuse("a \"{\" other than in {n}, {n,} and {n,m}");
      return "";
    }
    may_be_none = *low == 0;
    std::string out = "{";
    out += std::to_string(*low);
    if (lazy_allowed) out += ",";
    if (lazy_allowed && high) out += std::to_string(*high);
    return out.append("}");
  }

  std::optional<uint32_t> Number() {
    constexpr uint32_t kMost = 1000;  // RE2's
    if (rest_.empty() || !IsDigit(static_cast<uint8_t>(rest_[0]))) return std::nullopt;
    uint32_t number = 0;
    while (!rest_.empty() && IsDigit(static_cast<uint8_t>(rest_[0]))) {
      number = number * 10 + (TakeCharacter() - '0');
      if (number > kMost) {
        Refuse("more than 1000 repetitions");
        return std::nullopt;
      }
    }
    return number;
  }

  Part Atom(size_t depth) {
    if (At("(")) return Group(depth);
    if (At("[")) return ignores_case_ ? Refused("a class below (?i)") : Class();
    if (At(".")) {
      TakeCharacter();
      return {CodePointSet::One('\n').Inverted().ToClass()};
    }
    if (At("\\")) {
      TakeCharacter();
      return Escape();
    }
    for (const std::string_view anchor : {"^", "$"}) {
      if (At(anchor)) return Refused("the anchor " + InQuotes(anchor));
    }
    if (At("*") || At("+") || At("?") || At("{")) return Refused("a quantifier without what it repeats");
    return Literal(TakeCharacter());
  }

  Part Refused(std::string_view what) {
    Refuse(what);
    return {};
  }

  Part Group(size_t depth) {
    if (depth == kMaxDepth) return Refused("more than 50 groups in each other");
    TakeCharacter();
    if (!Take("?:") && At("?")) return Refused("a group beginning with \"(?\"");
    if (At("*")) return Refused("a group beginning with \"(*\"");
    Part part = Alternatives(depth + 1);
    if (problem_.empty() && !Take(")")) Refuse("a \"(\" without \")\"");
    return {std::string("(?:").append(part.text).append(")"), part.can_be_empty, 0};
  }

  Part Literal(uint32_t c) {
    if (!ignores_case_) return {CodePointSet::One(c).ToClass()};
    if (c >= 0x80) return Refused("other than ASCII below (?i)");
    CodePointSet set = CodePointSet::One(c);
    if (!IsLetter(c)) return {set.ToClass()};
    set.Add(c ^ 0x20, c ^ 0x20);
    const auto lower = static_cast<char>(c | 0x20);
    if (lower == 'k') set.Add(0x212A, 0x212A);  // the Kelvin sign
    if (lower == 's') set.Add(0x17F, 0x17F);    // the long s
    return {set.ToClass(), false, lower};
  }

  Part Escape() {
    CodePointSet set;
    if (!EscapedClass(set, CodePointSet::Place::kAlone)) {
      const std::optional<uint32_t> c = EscapedCharacter();
      return c ? Literal(*c) : Part{};
    }
    if (ignores_case_ && !set.IsCaseless()) return Refused("a class of letters below (?i)");
    return {set.ToClass()};
  }

  // Behind a backslash: \s, \p{..} and so on into `set`; false: it is none of these.
  bool EscapedClass(CodePointSet& set, CodePointSet::Place place) {
    const char kind = rest_.empty() ? '\0' : rest_[0];
    if (kind == 'p' || kind == 'P') {
      const size_t end = rest_.find('}');
      const bool braced = rest_.starts_with("p{") || rest_.starts_with("P{");
      const std::string_view name = braced && end != std::string_view::npos ? rest_.substr(2, end - 2) : "";
      const std::optional<CodePointSet> found = CodePointSet::OfCategory(name);
      if (!found) {
        Refuse(InQuotes(rest_.substr(0, end == std::string_view::npos ? 2 : end + 1)) + " (not a general category)");
        return true;
      }
      rest_.remove_prefix(end + 1);
      set = kind == 'p' ? *found : found->Inverted();
      return true;
    }
    for (const char known : {'s', 'd', 'w'}) {
      if ((kind | 0x20) != known) continue;
      TakeCharacter();
      set = CodePointSet::OfEscape(known, place);
      if (kind != known) set = set.Inverted();
      return true;
    }
    return false;
  }

  // Behind a backslash: the character that stands there.
  std::optional<uint32_t> EscapedCharacter() {
    if (rest_.empty()) {
      Refuse("a backslash at the end");
      return std::nullopt;
    }
    const uint32_t c = TakeCharacter();
    switch (c) {
      case 't': return '\t';
      case 'n': return '\n';
      case 'r': return '\r';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'a': return '\a';
      case 'e': return 0x1B;
      case 'u': return Hexadecimal(4);
      default: break;
    }
    if (IsLetter(c) || IsDigit(c)) {
      const char escaped[] = {'\\', static_cast<char>(c), '\0'};
      Refuse(InQuotes(escaped));
      return std::nullopt;
    }
    return c;
  }

  std::optional<uint32_t> Hexadecimal(size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const uint32_t c = rest_.empty() ? 0 : TakeCharacter();
      const uint32_t lower = c | 0x20;
      if (!IsDigit(c) && !(lower >= 'a' && lower <= 'f')) {
        Refuse("\"\\u\" without four digits");
        return std::nullopt;
      }
      value = value * 16 + (IsDigit(c) ? c - '0' : lower - 'a' + 10);
    }
    return value;
  }

  // One character of a class; nullopt: `set` has got a class, or there is a problem.
  std::optional<uint32_t> ClassCharacter(CodePointSet& set) {
    if (At("[") || At("&&")) {
      Refuse("a class inside a class");
      return std::nullopt;
    }
    if (!Take("\\")) return TakeCharacter();
    CodePointSet escaped;
    if (!EscapedClass(escaped, CodePointSet::Place::kInClass)) return EscapedCharacter();
    set.Add(escaped);
    return std::nullopt;
  }

  Part Class() {
    TakeCharacter();
    const bool inverted = Take("^");
    CodePointSet set;
    if (At("]")) return Refused("a class that begins with \"]\"");
    if (Take("-")) set.Add('-', '-');
    while (problem_.empty() && !At("]")) {
      if (rest_.empty()) return Refused("a \"[\" without \"]\"");
      if (At("-") && !At("-]")) return Refused("a \"-\" inside a class, neither in a range nor escaped");
      const std::optional<uint32_t> low = ClassCharacter(set);
      const bool range = low && *low != '-' && At("-") && !At("-]");
      if (!low) {
        if (problem_.empty() && At("-") && !At("-]")) Refuse("a range that begins with a class");
        continue;
      }
      uint32_t high = *low;
      if (range) {
        TakeCharacter();
        const std::optional<uint32_t> last = rest_.empty() ? std::nullopt : ClassCharacter(set);
        if (!last || *last < *low) return Refused("a range that does not end behind its begin");
        high = *last;
      }
      set.Add(*low, high);
    }
    TakeCharacter();
    return problem_.empty() ? Part{(inverted ? set.Inverted() : set).ToClass()} : Part{};
  }

  std::string_view rest_;
  bool ignores_case_ = false;
  std::string problem_;
};

}  // namespace

PatternSyntax TranslatePattern(std::string_view pattern) { return Translator(pattern).Run(); }

}  // namespace trellis::internal
