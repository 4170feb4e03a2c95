// A program outside the library that needs only the hot path: a spec made by
// hand, borrowed memory, no loader. Expected values: the wheel tokenizers 0.22.2
// with Unigram(pieces below, unk_id=0), Metaspace, a TemplateProcessing.
#include <array>
#include <cstdio>
#include <vector>

#include "trellis/encoding.h"
#include "trellis/scratch.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace {

trellis::TokenizerSpec TeaSpec() {
  trellis::TokenizerSpec spec;
  spec.model.pieces = {{"<unk>", 0.0},   {"<s>", 0.0},          {"</s>", 0.0},
                       {"\u2581", -2.0}, {"\u2581green", -3.0}, {"\u2581tea", -3.5},
                       {"s", -4.0},      {"\u2581gre", -3.2},   {"en", -3.1}};
  spec.model.unk_id = 0;
  for (const trellis::TokenId id : {0, 1, 2}) {
    spec.added_tokens.push_back(
        {.content = spec.model.pieces[static_cast<size_t>(id)].text, .id = id, .special = true});
  }
  spec.pre_tokenizers = {trellis::MetaspacePreTokenizer{}};
  spec.decoders = {trellis::MetaspaceDecoder{}};
  spec.post_processor.single = {trellis::TemplateSpecial{{1}, "<s>", 0},
                                trellis::TemplateSequence{trellis::Sequence::kA, 0},
                                trellis::TemplateSpecial{{2}, "</s>", 0}};
  return spec;
}

template <typename Got, typename Want>
bool Same(const char* what, const Got& got, const Want& want) {
  bool same = got.size() == want.size();
  for (size_t i = 0; same && i < want.size(); ++i) same = got[i] == want[i];
  if (!same) std::printf("%s differ from the reference\n", what);
  return same;
}

}  // namespace

int main() {
  const absl::StatusOr<trellis::Tokenizer> tokenizer = trellis::Tokenizer::Create(TeaSpec());
  if (!tokenizer.ok()) {
    std::printf("%s\n", tokenizer.status().ToString().c_str());
    return 1;
  }
  const std::string_view text = "green teas x";
  std::vector<std::byte> memory(tokenizer->ScratchBytes(text.size()) + trellis::ScratchCarver::kAlign);
  trellis::Scratch scratch{std::span(memory)};
  std::array<trellis::TokenId, 64> ids;
  std::array<trellis::Offset, 64> offsets;
  const auto encoding = tokenizer->Encode({.text = text}, {}, scratch, {.ids = ids, .offsets = offsets});
  if (!encoding.ok()) {
    std::printf("%s\n", encoding.status().ToString().c_str());
    return 1;
  }
  const std::vector<trellis::TokenId> want_ids = {1, 4, 5, 6, 3, 0, 2};
  const std::vector<trellis::Offset> want_offsets = {{0, 0},   {0, 5},   {5, 9}, {9, 10},
                                                     {10, 11}, {11, 12}, {0, 0}};
  const std::string decoded = tokenizer->Decode(encoding->ids);
  bool same = Same("ids", encoding->ids, want_ids);
  same = Same("offsets", encoding->offsets, want_offsets) && same;
  same = Same("decoded bytes", decoded, std::string_view("green teas ")) && same;
  if (same) std::puts("headers and library are enough");
  return same ? 0 : 1;
}
