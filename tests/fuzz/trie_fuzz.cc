// Any keys and any text: both byte tries find what a map finds, and the lattice over them what the plain
// definition finds (tests/reference/unigram.h), with pieces left out and without. Keys are the input's parts
// between zeros.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/trie/trie_builder.h"
#include "tests/reference/unigram.h"
#include "tests/reference/utf8_replacement.h"
#include "trellis/internal/stage/unigram.h"
#include "trellis/internal/trie/bitmap_trie.h"
#include "trellis/internal/trie/double_array_trie.h"

namespace {

using namespace trellis::internal;
using trellis::TokenId;

void Require(bool holds) {
  if (!holds) std::abort();
}

using Found = std::vector<std::pair<size_t, int32_t>>;

template <ByteTrie Trie>
Found Walk(const Trie& trie, std::string_view text) {
  Found found;
  auto node = trie.root();
  for (size_t i = 0; i < text.size() && trie.Step(node, static_cast<uint8_t>(text[i])); ++i) {
    if (trie.Id(node) != kNoPiece) found.emplace_back(i + 1, trie.Id(node));
  }
  return found;
}

// Scores on a coarse grid: sums are exact, so ties are ties.
double ScoreOf(std::string_view key, size_t id) {
  return -0.5 * static_cast<double>(1 + (key.size() * 7 + id * 5) % 16);
}

template <ByteTrie Trie>
void RequireLattice(const Trie& trie, const std::vector<trellis::reference::UnigramPiece>& pieces,
                    const std::string& text) {
  std::vector<double> scores;
  double lowest = 0;
  for (const auto& piece : pieces) {
    scores.push_back(piece.score);
    lowest = std::min(lowest, piece.score);
  }
  const auto allowed = [&](TokenId id) { return id % 5 != 4; };
  std::vector<LatticeNode> lattice(text.size() + 1);
  Require(RunUnigram(trie, {scores, lowest - 10.0, 0}, text, lattice, allowed) == UnigramResult::kOk);
  const auto want = trellis::reference::SegmentUnigram(pieces, 0, text, allowed);
  size_t i = 0;
  ForEachUnigramPiece(lattice, static_cast<uint32_t>(text.size()),
                      [&](uint32_t begin, uint32_t end, TokenId id) {
                        Require(i < want.tokens.size() && id == want.tokens[i].id &&
                                begin == want.tokens[i].begin && end == want.tokens[i].end);
                        ++i;
                      });
  Require(i == want.tokens.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 512) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> parts(1);
  for (const char byte : bytes) {
    if (byte == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += byte;
    }
  }
  const std::string text = trellis::reference::ReplaceMalformed(parts.back()).text;
  parts.back() = "<unk>";
  std::vector<trellis::reference::UnigramPiece> pieces = {{"<unk>", -3.0}};
  for (std::string& part : parts) {
    if (part.empty()) continue;
    pieces.push_back({trellis::reference::ReplaceMalformed(part).text, ScoreOf(part, pieces.size())});
  }
  std::vector<TrieKey> keys;
  std::map<std::string, int32_t, std::less<>> map;
  for (size_t i = 0; i < pieces.size(); ++i) {
    keys.push_back({pieces[i].text, static_cast<int32_t>(i), pieces[i].score});
    map[pieces[i].text] = static_cast<int32_t>(i);
  }
  const auto bitmap_table = BuildBitmapTrie(keys, PageSize::kDefault);
  const auto array_table = BuildDoubleArrayTrie(keys, PageSize::kDefault);
  const BitmapTrie bitmap(bitmap_table.span());
  const DoubleArrayTrie array(array_table.span());
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::string_view tail = bytes.substr(at);
    Found want;
    for (size_t length = 1; length <= tail.size(); ++length) {
      const auto it = map.find(tail.substr(0, length));
      if (it != map.end()) want.emplace_back(length, it->second);
    }
    Require(Walk(bitmap, tail) == want && Walk(array, tail) == want);
  }
  if (text.empty()) return 0;
  RequireLattice(bitmap, pieces, text);
  RequireLattice(array, pieces, text);
  return 0;
}
