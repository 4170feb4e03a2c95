// VocabTable: the Vocab of one tokenizer, over its pieces and added tokens.
#ifndef TRELLIS_SRC_VOCAB_TABLE_H_
#define TRELLIS_SRC_VOCAB_TABLE_H_

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/piece_list.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

class VocabTable final : public Vocab {
 public:
  // Both must outlive this object. Texts are views of them.
  VocabTable(const TokenizerSpec& spec, const PieceList& pieces);

  TokenId size() const override { return size_; }
  // An added token that is a piece has the piece's text (ValidateSpec).
  std::string_view Text(TokenId id) const override {
    if (IsPiece(id)) return pieces_.text(static_cast<size_t>(id));
    const Beyond* const token = FindBeyond(id);
    return token != nullptr ? token->content : std::string_view();
  }
  double Score(TokenId id) const override { return IsPiece(id) ? pieces_.score(static_cast<size_t>(id)) : 0.0; }
  std::optional<TokenId> Find(std::string_view text) const override;
  bool IsSpecial(TokenId id) const override {
    if (IsPiece(id)) return special_[static_cast<size_t>(id)] != 0;
    const Beyond* const token = FindBeyond(id);
    return token != nullptr && token->special;
  }
  std::optional<TokenId> unk_id() const override { return spec_.model.unk_id; }

  // Matched in text before the model looks at it.
  bool IsAdded(TokenId id) const {
    return IsPiece(id) ? added_[static_cast<size_t>(id)] != 0 : FindBeyond(id) != nullptr;
  }
  bool Has(TokenId id) const { return IsPiece(id) || FindBeyond(id) != nullptr; }

 private:
  // An added token beyond the model. A file may give it any id up to the highest: what is kept is by token.
  struct Beyond {
    TokenId id;
    bool special;
    std::string_view content;
  };
  const Beyond* FindBeyond(TokenId id) const;
  bool IsPiece(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < pieces_.size(); }

  const TokenizerSpec& spec_;
  const PieceList& pieces_;
  TokenId size_;
  std::vector<Beyond> beyond_;  // sorted by id
  std::vector<uint8_t> special_;  // of pieces
  std::vector<uint8_t> added_;
  // Built when first asked: encoding does not need it.
  mutable std::once_flag once_;
  mutable absl::flat_hash_map<std::string_view, TokenId> ids_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_VOCAB_TABLE_H_
