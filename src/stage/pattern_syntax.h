// A regular expression in Oniguruma's Ruby syntax, as tokenizer.json files have
// them, to the same expression for RE2.
//
// Taken: characters, ., classes and their ranges, \s \d \w \S \D \W, \p{..} and
// \P{..} of general categories, groups, |, the quantifiers * + ? {n} {n,} {n,m}
// and their lazy forms, and (?i) in front of ASCII letters. Whatever else, and
// what can match nothing, is a problem that names itself.
#ifndef TRELLIS_SRC_STAGE_PATTERN_SYNTAX_H_
#define TRELLIS_SRC_STAGE_PATTERN_SYNTAX_H_

#include <string>
#include <string_view>

namespace trellis::internal {

struct PatternSyntax {
  std::string expression;  // for RE2
  std::string problem;     // not empty: why there is no expression
};

// `pattern` is well formed.
PatternSyntax TranslatePattern(std::string_view pattern);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_STAGE_PATTERN_SYNTAX_H_
