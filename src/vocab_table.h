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

  TokenId size() const override { return static_cast<TokenId>(special_.size()); }
  // An added token that is a piece has the piece's text (ValidateSpec).
  std::string_view Text(TokenId id) const override {
    if (IsPiece(id)) return pieces_.text(static_cast<size_t>(id));
    return Has(id) ? beyond_[static_cast<size_t>(id) - pieces_.size()] : std::string_view();
  }
  double Score(TokenId id) const override { return IsPiece(id) ? pieces_.score(static_cast<size_t>(id)) : 0.0; }
  std::optional<TokenId> Find(std::string_view text) const override;
  bool IsSpecial(TokenId id) const override { return Has(id) && special_[static_cast<size_t>(id)] != 0; }
  std::optional<TokenId> unk_id() const override { return spec_.model.unk_id; }

  // Matched in text before the model looks at it.
  bool IsAdded(TokenId id) const { return Has(id) && added_[static_cast<size_t>(id)] != 0; }
  bool Has(TokenId id) const {
    return id >= 0 && id < size() && (IsPiece(id) || beyond_[static_cast<size_t>(id) - pieces_.size()].data() != nullptr);
  }

 private:
  bool IsPiece(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < pieces_.size(); }

  const TokenizerSpec& spec_;
  const PieceList& pieces_;
  std::vector<std::string_view> beyond_;  // added tokens beyond the model, by id; null: none of that id
  std::vector<uint8_t> special_;
  std::vector<uint8_t> added_;
  // Built when first asked: encoding does not need it.
  mutable std::once_flag once_;
  mutable absl::flat_hash_map<std::string_view, TokenId> ids_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_VOCAB_TABLE_H_
