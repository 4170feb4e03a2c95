// What any loaded tokenizer must stand, for the targets whose input is a model's file.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "trellis/tokenizer.h"

namespace trellis::fuzz {

inline void Require(bool holds) {
  if (!holds) std::abort();
}

// Encodes text, with special tokens as told and shielded, and decodes what came of it, in exactly the room
// that the tokenizer asks for.
inline void EncodeAndDecode(const Tokenizer& tokenizer, std::string_view text) {
  // Memory of its own, so that a read behind the end is seen.
  const std::vector<char> copy(text.begin(), text.end());
  text = {copy.data(), copy.size()};
  for (const bool shield : {false, true}) {
    Scratch scratch;
    scratch.Reserve(tokenizer.ScratchBytes(text.size()));
    std::vector<TokenId> ids(tokenizer.MaxTokens(text.size()));
    std::vector<Offset> offsets(ids.size());
    const EncodeOptions options{.add_special_tokens = !shield, .match_special_tokens = !shield};
    const auto encoding =
        tokenizer.Encode({.text = text}, options, scratch, {.ids = ids, .offsets = offsets});
    if (absl::IsInvalidArgument(encoding.status())) continue;  // no unknown piece
    Require(encoding.ok());
    for (size_t i = 0; i < encoding->ids.size(); ++i) {
      const TokenId id = encoding->ids[i];
      const Offset& offset = encoding->offsets[i];
      Require(id >= 0 && id < tokenizer.vocab().size());
      Require(!shield || id == tokenizer.vocab().unk_id() || !tokenizer.vocab().IsSpecial(id));
      Require(offset.begin <= offset.end && offset.end <= text.size());
    }
    std::vector<char> decoded(tokenizer.DecodedBytes(encoding->ids));
    Require(!absl::IsResourceExhausted(tokenizer.Decode(encoding->ids, {}, decoded).status()));
  }
}

// Texts that a file's tokenizer is likely to find something in: its pieces, and the file's own end.
inline void EncodeAndDecodeTexts(const Tokenizer& tokenizer, const TokenizerSpec& spec,
                                 std::string_view file) {
  using std::string_view_literals::operator""sv;
  constexpr size_t kPieces = 40, kBytes = 40, kTail = 200;
  std::string pieces;
  for (size_t i = 0; i < std::min(spec.model.pieces.size(), kPieces); ++i)
    pieces += spec.model.pieces[i].text.substr(0, kBytes);
  for (size_t i = 0; i < std::min(spec.added_tokens.size(), kPieces); ++i)
    pieces += spec.added_tokens[i].content.substr(0, kBytes);
  for (const std::string_view text :
       {""sv, " a  b<s>\u2581\u2581\xFF\xE2\x96 \0x"sv, std::string_view(pieces),
        file.substr(file.size() - std::min(file.size(), kTail))}) {
    EncodeAndDecode(tokenizer, text);
  }
}

}  // namespace trellis::fuzz
