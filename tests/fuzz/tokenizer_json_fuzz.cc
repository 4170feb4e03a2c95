// Any bytes as a tokenizer.json: a spec or an error with a place, and what is
// loaded can be made into a tokenizer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trellis/load.h"
#include "trellis/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<trellis::TokenizerSpec> spec = trellis::ParseTokenizerJson(json);
  if (!spec.ok()) {
    if (spec.status().message().find(':') == absl::string_view::npos) std::abort();
    return 0;
  }
  const absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::Tokenizer::Create(*spec);
  if (!tokenizer.ok()) std::abort();
  (void)tokenizer->Encode("a  b<s>\u2581\xFF");
  return 0;
}
