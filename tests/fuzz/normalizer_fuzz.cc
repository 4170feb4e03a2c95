// Each normalizer and any chain of them on any bytes: within the room that it promises, well-formed UTF-8
// with as many characters at most as it promises, and each byte stands for a character of the source, in
// order.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "src/normalizer_chain.h"
#include "tests/reference/random_spec.h"
#include "tests/reference/utf8_replacement.h"
#include "trellis/internal/text/utf8.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2048) return 0;
  trellis::reference::Choices choices(std::string_view(reinterpret_cast<const char*>(data), size));
  const trellis::TokenizerSpec spec = trellis::reference::RandomSpec(choices).Next();
  if (spec.dialect != trellis::Dialect::kHuggingFace || !trellis::ValidateSpec(spec).ok()) return 0;
  const std::vector<char> memory(choices.rest().begin(), choices.rest().end());
  const std::string_view text(memory.data(), memory.size());

  const trellis::internal::NormalizerChain chain(spec.normalizers);
  const auto room = chain.MaxRoom(text.size());
  trellis::Scratch scratch;
  scratch.Reserve(room.scratch);
  trellis::ScratchCarver carver(scratch);
  const auto normalized = chain.Run({text}, carver);
  Require(normalized.has_value() && normalized->bytes.size() <= room.bytes);
  Require(trellis::reference::ReplaceMalformed(normalized->bytes).text == normalized->bytes);
  size_t characters = 0;
  for (size_t i = 0; i < normalized->bytes.size(); ++i) {
    characters += (static_cast<uint8_t>(normalized->bytes[i]) & 0xC0) != 0x80;
    const uint32_t source = normalized->SourceOf(i);
    Require(source < text.size() && (i == 0 || normalized->SourceOf(i - 1) <= source));
  }
  const auto length = chain.MaxLength(text.size());
  Require(normalized->bytes.size() <= length.bytes && characters <= length.characters);
  return 0;
}
