// Any bytes as a SentencePiece .model: a spec or an error with a place; what is
// loaded can be made into a tokenizer, which takes any text (the file's own end
// among them) within the room that it promises.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/load.h"
#include "trellis/tokenizer.h"

namespace {

using std::string_view_literals::operator""sv;

void Require(bool holds) {
  if (!holds) std::abort();
}

void EncodeAndDecode(const trellis::Tokenizer& tokenizer, std::string_view text) {
  const std::vector<char> copy(text.begin(), text.end());
  text = {copy.data(), copy.size()};
  trellis::Scratch scratch;
  scratch.Reserve(tokenizer.ScratchBytes(text.size()));
  std::vector<trellis::TokenId> ids(tokenizer.MaxTokens(text.size()));
  std::vector<trellis::Offset> offsets(ids.size());
  const trellis::EncodeOptions options{.add_special_tokens = false, .match_special_tokens = false};
  const auto encoding = tokenizer.Encode({.text = text}, options, scratch, {.ids = ids, .offsets = offsets});
  Require(encoding.ok());
  for (size_t i = 0; i < encoding->ids.size(); ++i) {
    const trellis::TokenId id = encoding->ids[i];
    const trellis::Offset& offset = encoding->offsets[i];
    Require(id >= 0 && id < tokenizer.vocab().size());
    Require(id == tokenizer.vocab().unk_id() || !tokenizer.vocab().IsSpecial(id));
    Require(offset.begin <= offset.end && offset.end <= text.size());
  }
  std::vector<char> decoded(tokenizer.DecodedBytes(encoding->ids));
  Require(tokenizer.Decode(encoding->ids, {}, decoded).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  for (const bool fairseq : {false, true}) {
    const absl::StatusOr<trellis::TokenizerSpec> spec = trellis::ParseSentencePieceModel(file, {.fairseq = fairseq});
    if (!spec.ok()) {
      Require(spec.status().message().find(':') != absl::string_view::npos);
      continue;
    }
    const absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::Tokenizer::Create(*spec);
    Require(tokenizer.ok());
    std::string pieces;
    for (size_t i = 0; i < std::min<size_t>(spec->model.pieces.size(), 40); ++i) pieces += spec->model.pieces[i].text.substr(0, 40);
    constexpr size_t kTail = 200;
    for (const std::string_view text :
         {std::string_view(), " a  b<s>\u2581\u2581\xFF\xE2\x96 \0x"sv, std::string_view(pieces),
          file.substr(size - std::min(size, kTail))}) {
      EncodeAndDecode(*tokenizer, text);
    }
  }
  return 0;
}
