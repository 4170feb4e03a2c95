// A spec without its pieces as bytes, for compiled files.
#ifndef TRELLIS_SRC_COMPILED_SPEC_H_
#define TRELLIS_SRC_COMPILED_SPEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trellis/spec.h"

namespace trellis::internal {

// Unimplemented where a list is longer than ReadSpecBytes takes.
absl::StatusOr<std::string> SpecBytes(const TokenizerSpec& spec);

// Of any bytes. The spec need not be valid: ValidateSpec is still to be asked.
// Errors say at which byte.
absl::StatusOr<TokenizerSpec> ReadSpecBytes(std::string_view bytes);

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_COMPILED_SPEC_H_
