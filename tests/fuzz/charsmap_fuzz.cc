// Any bytes as a charsmap: sound or an error in words, and of a sound one every walk stays inside, finds only
// rules that ForEach lists, and rewrites within the ratios that it promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "tests/reference/utf8_replacement.h"
#include "trellis/internal/text/charsmap.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using trellis::internal::CharsMap;
  // The end is also the text, so that keys of the array are met.
  const std::string_view blob(reinterpret_cast<const char*>(data), size);
  const auto problem = CharsMap::Check(blob);
  if (problem) {
    Require(!problem->empty());
    return 0;
  }
  const CharsMap charsmap(blob);
  std::map<std::string, std::string, std::less<>> rules;
  charsmap.ForEach(6, [&](std::string_view key, std::string_view replacement) {
    if (rules.size() < 2000) rules.emplace(key, replacement);
  });
  const auto check = [&](std::string_view text) {
    const auto first = charsmap.Shortest(text), last = charsmap.Longest(text);
    Require(first.has_value() == last.has_value());
    if (!first) return;
    Require(first->length > 0 && first->length <= last->length && last->length <= text.size());
    for (const auto& match : {*first, *last}) {
      Require(match.replacement.size() <= charsmap.MaxExpansion() * match.length);
      Require(trellis::reference::ReplaceMalformed(match.replacement).text == match.replacement);
    }
  };
  const std::string_view text = blob.substr(blob.size() - std::min<size_t>(blob.size(), 256));
  for (size_t at = 0; at < text.size(); ++at) check(text.substr(at));
  for (const auto& [key, replacement] : rules) {
    const auto found = charsmap.Longest(key);
    Require(found && found->length == key.size() && found->replacement == replacement &&
            charsmap.StartsKey(key));
    check(key + "x");
  }
  return 0;
}
