// Compiled files in memory, for tests, fuzzers and Python's pickles: programs map
// files (trellis/load.h).
#ifndef TRELLIS_INTERNAL_COMPILED_H_
#define TRELLIS_INTERNAL_COMPILED_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis::internal {

// What CompileTokenizer writes.
absl::StatusOr<std::string> CompiledBytes(const TokenizerSpec& spec);

// What MapTokenizer makes of a file of these bytes, which are copied.
absl::StatusOr<Tokenizer> TokenizerOfCompiledBytes(std::string_view bytes,
                                                   const TokenizerOptions& options = {});

}  // namespace trellis::internal

#endif  // TRELLIS_INTERNAL_COMPILED_H_
