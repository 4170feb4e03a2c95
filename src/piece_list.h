// PieceList: a model's pieces as checks and tables read them: those of a spec, or
// the columns of a compiled file, from which no spec needs to be made for it.
#ifndef TRELLIS_SRC_PIECE_LIST_H_
#define TRELLIS_SRC_PIECE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "trellis/spec.h"

namespace trellis::internal {

// A Piece whose text is kept elsewhere.
struct PieceView {
  std::string_view text;
  double score = 0.0;
  PieceType type = PieceType::kNormal;
};

// Text i is bytes [begins[i], begins[i + 1]) of `texts`.
struct PieceColumns {
  std::span<const uint32_t> begins;  // one more than there are pieces
  std::string_view texts;
  std::span<const double> scores;
  std::span<const PieceType> types;
};

class PieceList {
 public:
  // Views, both.
  explicit PieceList(const std::vector<Piece>& pieces) : pieces_(pieces.data()), size_(pieces.size()) {}
  explicit PieceList(const PieceColumns& columns) : columns_(columns), size_(columns.scores.size()) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PieceView operator[](size_t id) const {
    if (pieces_ != nullptr) return {pieces_[id].text, pieces_[id].score, pieces_[id].type};
    return {text(id), columns_.scores[id], columns_.types[id]};
  }
  std::string_view text(size_t id) const {
    if (pieces_ != nullptr) return pieces_[id].text;
    return columns_.texts.substr(columns_.begins[id], columns_.begins[id + 1] - columns_.begins[id]);
  }
  double score(size_t id) const { return pieces_ != nullptr ? pieces_[id].score : columns_.scores[id]; }
  PieceType type(size_t id) const { return pieces_ != nullptr ? pieces_[id].type : columns_.types[id]; }
  // All scores by id, where they stand together; else empty.
  std::span<const double> scores() const { return columns_.scores; }

 private:
  const Piece* pieces_ = nullptr;
  PieceColumns columns_;
  size_t size_ = 0;
};

// ValidateSpec of a spec whose pieces are `pieces`, whatever it holds itself.
absl::Status CheckSpec(const TokenizerSpec& spec, const PieceList& pieces);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_PIECE_LIST_H_
