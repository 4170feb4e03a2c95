// VocabTable: the Vocab of one tokenizer, over its spec.
#ifndef TRELLIS_SRC_VOCAB_TABLE_H_
#define TRELLIS_SRC_VOCAB_TABLE_H_

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

class VocabTable final : public Vocab {
 public:
  // `spec` must outlive this object. Texts are views of it.
  explicit VocabTable(const TokenizerSpec& spec);

  TokenId size() const override { return static_cast<TokenId>(texts_.size()); }
  std::string_view Text(TokenId id) const override { return Has(id) ? texts_[static_cast<size_t>(id)] : ""; }
  double Score(TokenId id) const override;
  std::optional<TokenId> Find(std::string_view text) const override;
  bool IsSpecial(TokenId id) const override { return Has(id) && special_[static_cast<size_t>(id)] != 0; }
  std::optional<TokenId> unk_id() const override { return spec_.model.unk_id; }

  // Matched in text before the model looks at it.
  bool IsAdded(TokenId id) const { return Has(id) && added_[static_cast<size_t>(id)] != 0; }
  bool Has(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < texts_.size() && known_[static_cast<size_t>(id)]; }

 private:
  const TokenizerSpec& spec_;
  std::vector<std::string_view> texts_;
  std::vector<uint8_t> known_;
  std::vector<uint8_t> special_;
  std::vector<uint8_t> added_;
  // Built when first asked: encoding does not need it.
  mutable std::once_flag once_;
  mutable absl::flat_hash_map<std::string_view, TokenId> ids_;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_VOCAB_TABLE_H_
