// ValidateSpec's part for normalizers and pre-tokenizers.
#ifndef TRELLIS_SRC_STAGES_SPEC_H_
#define TRELLIS_SRC_STAGES_SPEC_H_

#include "absl/status/status.h"
#include "trellis/spec.h"

namespace trellis::internal {

absl::Status CheckNormalizers(const TokenizerSpec& spec);
// Added tokens that are matched normalized must not normalize to nothing. The
// normalizers must be valid.
absl::Status CheckNormalizedTokens(const TokenizerSpec& spec);
absl::Status CheckPreTokenizers(const TokenizerSpec& spec);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_STAGES_SPEC_H_
