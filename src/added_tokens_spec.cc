// AddTokens: AddedVocabulary::add_tokens of tokenizers 0.22.2.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "trellis/spec.h"

namespace trellis {
namespace {

// The flags that two AddedTokens of one content can differ in.
uint32_t FlagBits(const AddedToken& token) {
  return static_cast<uint32_t>(token.single_word) | static_cast<uint32_t>(token.lstrip) << 1 |
         static_cast<uint32_t>(token.rstrip) << 2 | static_cast<uint32_t>(token.normalized) << 3 |
         static_cast<uint32_t>(token.special) << 4;
}

// All tokens of one content.
struct AddedContent {
  std::optional<TokenId> id;               // nothing: not in the model, none given yet
  std::optional<bool> special_normalized;  // of the first special one
  uint32_t seen_flags = 0;                 // bit FlagBits(token), of this call
  std::vector<size_t> resolved;            // where in the spec; two when only `normalized` differs
};

using AddedContents = absl::flat_hash_map<std::string, AddedContent>;

// The ids of those contents that are pieces; of equal pieces the last counts.
void FindInModel(const UnigramModel& model, AddedContents& contents) {
  std::array<bool, 256> first_bytes = {};  // keeps most pieces away from the hash map
  for (const auto& [content, found] : contents) {
    if (!found.id) first_bytes[static_cast<uint8_t>(content[0])] = true;
  }
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const std::string& text = model.pieces[i].text;
    if (text.empty() || !first_bytes[static_cast<uint8_t>(text[0])]) continue;
    const auto found = contents.find(text);
    if (found != contents.end() && found->second.resolved.empty()) found->second.id = static_cast<TokenId>(i);
  }
}

}  // namespace

void AddTokens(const std::vector<AddedToken>& tokens, TokenizerSpec& spec) {
  std::vector<AddedToken>& resolved = spec.added_tokens;
  AddedContents contents;
  auto next_id = static_cast<TokenId>(spec.model.pieces.size());
  for (size_t i = 0; i < resolved.size(); ++i) {
    AddedContent& content = contents[resolved[i].content];
    content.id = resolved[i].id;
    if (resolved[i].special && !content.special_normalized) content.special_normalized = resolved[i].normalized;
    content.resolved.push_back(i);
    next_id = std::max(next_id, resolved[i].id + 1);
  }
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    AddedContent& content = contents[token.content];
    if (token.special && !content.special_normalized) content.special_normalized = token.normalized;
  }
  FindInModel(spec.model, contents);

  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    AddedContent& content = contents[token.content];
    const uint32_t flags = uint32_t{1} << FlagBits(token);
    if ((content.seen_flags & flags) != 0) continue;
    content.seen_flags |= flags;
    if (!content.id) content.id = next_id++;

    // Special for good once special, and then matched as the first special one
    // says (and as it was before); the strip flags are those of the last.
    AddedToken merged = token;
    merged.id = *content.id;
    merged.special = content.special_normalized.has_value();
    merged.normalized = content.special_normalized.value_or(token.normalized);
    bool is_new = true;
    for (const size_t at : content.resolved) {
      AddedToken& earlier = resolved[at];
      earlier.single_word = merged.single_word;
      earlier.lstrip = merged.lstrip;
      earlier.rstrip = merged.rstrip;
      earlier.special = merged.special;
      is_new = is_new && earlier.normalized != merged.normalized;
    }
    if (!is_new) continue;
    content.resolved.push_back(resolved.size());
    resolved.push_back(std::move(merged));
  }
}

}  // namespace trellis
