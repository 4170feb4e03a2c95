#include "src/vocab_table.h"

#include <algorithm>

namespace trellis::internal {

VocabTable::VocabTable(const TokenizerSpec& spec) : spec_(spec) {
  size_t size = spec.model.pieces.size();
  for (const AddedToken& token : spec.added_tokens) size = std::max(size, static_cast<size_t>(token.id) + 1);
  texts_.resize(size);
  known_.resize(size, 0);
  special_.resize(size, 0);
  added_.resize(size, 0);
  for (size_t id = 0; id < spec.model.pieces.size(); ++id) {
    texts_[id] = spec.model.pieces[id].text;
    known_[id] = 1;
    special_[id] = spec.model.pieces[id].type == PieceType::kControl || spec.model.pieces[id].type == PieceType::kUnknown;
  }
  for (const AddedToken& token : spec.added_tokens) {
    const auto id = static_cast<size_t>(token.id);
    texts_[id] = token.content;
    known_[id] = 1;
    added_[id] = 1;
    if (token.special) special_[id] = 1;
  }
}

double VocabTable::Score(TokenId id) const {
  return id >= 0 && static_cast<size_t>(id) < spec_.model.pieces.size() ? spec_.model.pieces[static_cast<size_t>(id)].score
                                                                        : 0.0;
}

std::optional<TokenId> VocabTable::Find(std::string_view text) const {
  std::call_once(once_, [this] {
    ids_.reserve(texts_.size());
    for (size_t id = 0; id < texts_.size(); ++id) {
      if (known_[id]) ids_[texts_[id]] = static_cast<TokenId>(id);  // the last of equal pieces, as the reference
    }
    for (const AddedToken& token : spec_.added_tokens) ids_[token.content] = token.id;
  });
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace trellis::internal
