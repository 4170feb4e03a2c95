// Any bytes as a SentencePiece .model: a spec or an error with a place; what is loaded can be made into a
// tokenizer, which takes any text within the room that it promises.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/encode_and_decode.h"
#include "trellis/load.h"
#include "trellis/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  for (const bool fairseq : {false, true}) {
    const absl::StatusOr<trellis::TokenizerSpec> spec =
        trellis::ParseSentencePieceModel(file, {.fairseq = fairseq});
    if (!spec.ok()) {
      trellis::fuzz::Require(spec.status().message().find(':') != absl::string_view::npos);
      continue;
    }
    const absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::Tokenizer::Create(*spec);
    trellis::fuzz::Require(tokenizer.ok());
    trellis::fuzz::EncodeAndDecodeTexts(*tokenizer, *spec, file);
  }
  return 0;
}
