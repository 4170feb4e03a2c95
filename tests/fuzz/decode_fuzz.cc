// Any ids through any decoders, at once and as a stream: DecodedBytes is enough, and texts are well-formed
// UTF-8, each part of a stream too.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tests/reference/random_spec.h"
#include "tests/reference/utf8_replacement.h"
#include "trellis/trellis.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireWellFormed(std::string_view text) {
  Require(trellis::reference::ReplaceMalformed(text).text == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2048) return 0;
  trellis::reference::Choices choices(std::string_view(reinterpret_cast<const char*>(data), size));
  trellis::TokenizerSpec spec = trellis::reference::RandomSpec(choices).Next();
  if (!trellis::ValidateSpec(spec).ok()) return 0;
  const trellis::DecodeOptions options{.skip_special_tokens = choices.Below(2) != 0,
                                       .clean_up = choices.Below(2) != 0};
  const auto limit = static_cast<int>(spec.model.pieces.size() + 8);
  // Decoding knows no shortcuts.
  const trellis::Tokenizer tokenizer =
      trellis::Tokenizer::Create(std::move(spec), {.shortcuts = false}).value();
  std::vector<trellis::TokenId> ids;
  for (const char byte : choices.rest()) ids.push_back(static_cast<uint8_t>(byte) * 37 % (limit + 2) - 1);

  std::vector<char> room(tokenizer.DecodedBytes(ids));
  const auto text = tokenizer.Decode(ids, options, room);
  Require(!absl::IsResourceExhausted(text.status()));
  if (text.ok()) RequireWellFormed(*text);
  if (ids.size() > 48) return 0;  // a stream may keep all its ids
  trellis::DecodeStream stream(tokenizer, options, 1);
  for (const trellis::TokenId id : ids) RequireWellFormed(stream.Step(id).value_or(std::string_view()));
  RequireWellFormed(stream.Finish().value_or(std::string_view()));
  return 0;
}
