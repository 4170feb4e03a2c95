#include "src/vocab_table.h"

#include <algorithm>

namespace trellis::internal {

VocabTable::VocabTable(const TokenizerSpec& spec, const PieceList& pieces) : spec_(spec), pieces_(pieces) {
  size_t size = pieces.size();
  for (const AddedToken& token : spec.added_tokens) size = std::max(size, static_cast<size_t>(token.id) + 1);
  beyond_.resize(size - pieces.size());
  special_.resize(size, 0);
  added_.resize(size, 0);
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceType type = pieces.type(id);
    special_[id] = type == PieceType::kControl || type == PieceType::kUnknown;
  }
  for (const AddedToken& token : spec.added_tokens) {
    const auto id = static_cast<size_t>(token.id);
    if (id >= pieces.size()) beyond_[id - pieces.size()] = token.content;
    added_[id] = 1;
    if (token.special) special_[id] = 1;
  }
}

std::optional<TokenId> VocabTable::Find(std::string_view text) const {
  std::call_once(once_, [this] {
    ids_.reserve(special_.size());
    // The last of equal pieces, as the reference.
    for (size_t id = 0; id < pieces_.size(); ++id) ids_[pieces_.text(id)] = static_cast<TokenId>(id);
    for (const AddedToken& token : spec_.added_tokens) ids_[token.content] = token.id;
  });
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace trellis::internal
