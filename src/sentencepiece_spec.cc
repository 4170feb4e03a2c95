#include "src/sentencepiece_spec.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "src/spec_errors.h"
#include "trellis/internal/stage/byte_fallback.h"

namespace trellis::internal {
namespace {

std::string PieceField(size_t id, std::string_view field) {
  return "model.pieces[" + std::to_string(id) + "]." + std::string(field);
}

}  // namespace

absl::Status CheckSentencePieceModel(const UnigramModel& model, const PieceList& pieces) {
  bool has_byte[256] = {};
  bool any_in_lattice = false;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const PieceView piece = pieces[id];
    if (piece.text.empty()) return Invalid(PieceField(id, "text"), "empty", "at least one byte");
    // Sums are float here.
    if (!std::isfinite(static_cast<float>(piece.score))) {
      return Invalid(PieceField(id, "score"), std::to_string(piece.score), "a finite float");
    }
    const bool is_unk = model.unk_id.has_value() && static_cast<size_t>(*model.unk_id) == id;
    if (is_unk != (piece.type == PieceType::kUnknown)) {
      return Invalid("model.unk_id", model.unk_id ? std::to_string(*model.unk_id) : "none",
                     "the one piece of type kUnknown; " + std::to_string(id) + " (" + Quoted(piece.text) + ") contradicts");
    }
    any_in_lattice |= piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined ||
                      piece.type == PieceType::kUnused;
    if (piece.type != PieceType::kByte) continue;
    if (!model.byte_fallback) return Invalid("model.byte_fallback", "false", "true: there are byte pieces");
    const int value = ByteOfPiece(piece.text);
    if (value < 0) return Invalid(PieceField(id, "text"), Quoted(piece.text), "<0x00> to <0xFF>: it is of type kByte");
    has_byte[value] = true;
  }
  if (!any_in_lattice) return Invalid("model.pieces", "none to match", "one of type kNormal, kUserDefined or kUnused");
  if (!model.byte_fallback) {
    return model.unk_id ? absl::OkStatus() : Invalid("model.unk_id", "none", "an id: there are no byte pieces");
  }
  for (int value = 0; value < 256; ++value) {
    if (has_byte[value]) continue;
    return Invalid("model.pieces", "none of type kByte for byte " + std::to_string(value),
                   "all 256: model.byte_fallback is true");
  }
  return absl::OkStatus();
}

}  // namespace trellis::internal
