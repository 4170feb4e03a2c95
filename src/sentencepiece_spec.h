// What the SentencePiece dialect asks of a spec's model beyond ValidateSpec's
// general rules.
#ifndef TRELLIS_SRC_SENTENCEPIECE_SPEC_H_
#define TRELLIS_SRC_SENTENCEPIECE_SPEC_H_

#include "absl/status/status.h"
#include "src/piece_list.h"
#include "trellis/spec.h"

namespace trellis::internal {

absl::Status CheckSentencePieceModel(const UnigramModel& model, const PieceList& pieces);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_SENTENCEPIECE_SPEC_H_
