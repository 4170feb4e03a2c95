// Small specs by hand: the shape of XLM-RoBERTa's with a dozen pieces, and what
// tests vary of it.
#ifndef TRELLIS_TESTS_TOKENIZER_SMALL_SPECS_H_
#define TRELLIS_TESTS_TOKENIZER_SMALL_SPECS_H_

#include <string>
#include <utility>
#include <vector>

#include "trellis/spec.h"

namespace trellis {

inline constexpr TokenId kBos = 0, kPad = 1, kEos = 2, kUnk = 3, kMask = 20;

// <s> A </s>, and <s> A </s> </s> B </s> with type ids 0 and 1.
inline TokenizerSpec SmallSpec() {
  TokenizerSpec spec;
  spec.model.pieces = {{"<s>", 0.0},     {"<pad>", 0.0}, {"</s>", 0.0},  {"<unk>", 0.0},    {"\u2581", -2.0},
                       {"a", -3.0},      {"b", -3.25},   {"c", -3.5},    {"\u2581a", -4.0}, {"\u2581ab", -5.0},
                       {"ab", -4.5},     {"bc", -4.75},  {".", -3.0},    {"\u00e9", -5.5},  {"\u6771", -6.0},
                       {"\u2581b", -4.25}, {"abc", -7.0}, {"\u2581\u6771", -6.5}};
  spec.model.unk_id = kUnk;
  const auto special = [&](const std::string& content, TokenId id) {
    AddedToken token;
    token.content = content;
    token.id = id;
    token.special = true;
    token.lstrip = id == kMask;
    spec.added_tokens.push_back(token);
  };
  special("<s>", kBos);
  special("<pad>", kPad);
  special("</s>", kEos);
  special("<unk>", kUnk);
  special("<mask>", kMask);
  spec.pre_tokenizers = {WhitespaceSplitPreTokenizer{}, MetaspacePreTokenizer{}};
  const TemplateSpecial bos{{kBos}, "<s>", 0}, eos{{kEos}, "</s>", 0}, second_eos{{kEos}, "</s>", 1};
  spec.post_processor.single = {bos, TemplateSequence{Sequence::kA, 0}, eos};
  spec.post_processor.pair = {bos, TemplateSequence{Sequence::kA, 0}, eos, second_eos, TemplateSequence{Sequence::kB, 1}, second_eos};
  spec.decoders = {MetaspaceDecoder{}};
  return spec;
}

}  // namespace trellis

#endif  // TRELLIS_TESTS_TOKENIZER_SMALL_SPECS_H_
