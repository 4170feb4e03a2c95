#include "trellis/internal/stage/pattern.h"

#include <re2/re2.h>

#include <utility>

#include "src/stage/pattern_syntax.h"
#include "trellis/internal/text/utf8.h"

namespace trellis::internal {

class Pattern::Automaton {
 public:
  explicit Automaton(const std::string& expression) : re_(expression, Options()) {}
  const re2::RE2& re() const { return re_; }

 private:
  static re2::RE2::Options Options() {
    re2::RE2::Options options;  // UTF-8, and the first alternative that matches
    options.set_log_errors(false);
    return options;
  }
  re2::RE2 re_;
};

std::optional<std::string> Pattern::Check(Kind kind, std::string_view text) {
  if (text.empty()) return "empty, expected something to look for";
  if (!IsWellFormedUtf8(text)) return "malformed UTF-8, expected well-formed UTF-8";
  if (kind == Kind::kString) return std::nullopt;
  const PatternSyntax syntax = TranslatePattern(text);
  if (!syntax.problem.empty()) return syntax.problem;
  const Automaton automaton(syntax.expression);
  if (!automaton.re().ok()) return "RE2: " + automaton.re().error();
  return std::nullopt;
}

Pattern::Pattern(Kind kind, std::string text) : text_(std::move(text)), shortest_(text_.size()) {
  if (kind == Kind::kString) return;
  automaton_ = std::make_shared<const Automaton>(TranslatePattern(text_).expression);
  shortest_ = 1;
}

std::optional<Pattern::Match> Pattern::Find(std::string_view text, size_t from) const {
  if (automaton_ == nullptr) {
    const size_t at = text.find(text_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{at, at + text_.size()};
  }
  re2::StringPiece found;
  if (!automaton_->re().Match(re2::StringPiece(text.data(), text.size()), from, text.size(), re2::RE2::UNANCHORED, &found, 1)) {
    return std::nullopt;
  }
  const auto begin = static_cast<size_t>(found.data() - text.data());
  return Match{begin, begin + found.size()};
}

}  // namespace trellis::internal
