#include "src/vocab_table.h"

#include <algorithm>

namespace trellis::internal {

VocabTable::VocabTable(const TokenizerSpec& spec, const PieceList& pieces) : spec_(spec), pieces_(pieces) {
  size_t size = pieces.size();
  for (const AddedToken& token : spec.added_tokens) size = std::max(size, static_cast<size_t>(token.id) + 1);
  size_ = static_cast<TokenId>(size);
  special_.resize(pieces.size(), 0);
  added_.resize(pieces.size(), 0);
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceType type = pieces.type(id);
    special_[id] = type == PieceType::kControl || type == PieceType::kUnknown;
  }
  for (const AddedToken& token : spec.added_tokens) {
    const auto id = static_cast<size_t>(token.id);
    if (id >= pieces.size()) {
      beyond_.push_back({token.id, token.special, token.content});
      continue;
    }
    added_[id] = 1;
    if (token.special) special_[id] = 1;
  }
  std::sort(beyond_.begin(), beyond_.end(), [](const Beyond& a, const Beyond& b) { return a.id < b.id; });
}

const VocabTable::Beyond* VocabTable::FindBeyond(TokenId id) const {
  if (beyond_.empty() || id < beyond_.front().id) return nullptr;
  // Most have ids that follow one another.
  const auto place = static_cast<size_t>(id - beyond_.front().id);
  if (place < beyond_.size() && beyond_[place].id == id) return &beyond_[place];
  const auto at = std::lower_bound(beyond_.begin(), beyond_.end(), id,
                                   [](const Beyond& token, TokenId wanted) { return token.id < wanted; });
  return at != beyond_.end() && at->id == id ? &*at : nullptr;
}

std::optional<TokenId> VocabTable::Find(std::string_view text) const {
  std::call_once(once_, [this] {
    ids_.reserve(pieces_.size() + beyond_.size());
    // The last of equal pieces, as the reference.
    for (size_t id = 0; id < pieces_.size(); ++id) ids_[pieces_.text(id)] = static_cast<TokenId>(id);
    for (const AddedToken& token : spec_.added_tokens) ids_[token.content] = token.id;
  });
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace trellis::internal
