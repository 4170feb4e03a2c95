// What must hold of any pipeline on any text: ScratchBytes, MaxTokens and DecodedBytes
// are enough, offsets lie in the text, the paths with and without shortcuts, with either
// trie and with compiled tables agree, and behind the shield no special or control id
// comes out.
#ifndef TRELLIS_TESTS_REFERENCE_PIPELINE_CHECK_H_
#define TRELLIS_TESTS_REFERENCE_PIPELINE_CHECK_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trellis/internal/compiled.h"
#include "trellis/trellis.h"

namespace trellis::reference {

class PipelineCheck {
 public:
  // `spec` must be valid.
  explicit PipelineCheck(const TokenizerSpec& spec)
      : plain_(Tokenizer::Create(spec, {.shortcuts = false}).value()),
        other_(Tokenizer::Create(spec, {.shortcuts = false, .trie = TokenizerOptions::TrieKind::kDoubleArray}).value()),
        fast_(Tokenizer::Create(spec).value()),
        compiled_(internal::TokenizerOfCompiledBytes(internal::CompiledBytes(spec).value()).value()) {}

  // What is wrong, in words; empty: nothing.
  std::string Fault(std::string_view text, bool shield) {
    std::string fault;
    const EncodeOptions options{.add_special_tokens = false, .match_special_tokens = !shield};
    const Row want = Encode(plain_, text, options, fault);
    for (size_t i = 0; i < want.ids.size(); ++i) {
      const TokenId id = want.ids[i];
      if (want.offsets[i].begin > want.offsets[i].end || want.offsets[i].end > text.size()) {
        fault += "an offset outside the text; ";
      }
      if (id < 0 || id >= plain_.vocab().size()) fault += "an id of nothing; ";
      if (shield && id != plain_.vocab().unk_id() && plain_.vocab().IsSpecial(id)) {
        fault += "special " + std::to_string(id) + " behind the shield; ";
      }
    }
    if (!(Encode(other_, text, options, fault) == want)) fault += "the other trie differs; ";
    if (!(Encode(compiled_, text, options, fault) == want)) fault += "compiled tables differ; ";
    // The second time with the words of the first in the scratch's cache.
    Scratch scratch = ScratchFor(fast_, text);
    for (const char* again : {"shortcuts differ; ", "shortcuts differ the second time; "}) {
      if (!(Encode(fast_, text, options, scratch, fault) == want)) fault += again;
    }
    std::vector<char> room(plain_.DecodedBytes(want.ids));
    const DecodeOptions decoding{.skip_special_tokens = shield, .clean_up = shield};
    const auto decoded = plain_.Decode(want.ids, decoding, room);
    if (absl::IsResourceExhausted(decoded.status())) fault += "DecodedBytes are too few; ";
    std::vector<char> other_room(room.size());
    const auto other = compiled_.Decode(want.ids, decoding, other_room);
    if (other.status() != decoded.status() || (other.ok() && *other != *decoded)) fault += "compiled decoding differs; ";
    return fault;
  }

  // As much of the front of a text as the bounds have memory for: several steps after another can promise to
  // make millions of bytes of each.
  std::string_view Feasible(std::string_view text) const {
    constexpr size_t kMostTokens = size_t{1} << 20, kMostScratch = size_t{1} << 34;
    while (!text.empty() &&
           (plain_.MaxTokens(text.size()) > kMostTokens || plain_.ScratchBytes(text.size()) > kMostScratch)) {
      text = text.substr(0, text.size() / 2);
    }
    return text;
  }

  // The largest part of a bound that any text has used.
  double most_scratch() const { return most_scratch_; }
  double most_tokens() const { return most_tokens_; }

 private:
  struct Row {
    std::vector<TokenId> ids;
    std::vector<Offset> offsets;
    bool ok = false;
    friend bool operator==(const Row&, const Row&) = default;
  };

  static Scratch ScratchFor(const Tokenizer& tokenizer, std::string_view text) {
    Scratch scratch;
    scratch.Reserve(tokenizer.ScratchBytes(text.size()));
    return scratch;
  }

  Row Encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options,
             std::string& fault) {
    Scratch scratch = ScratchFor(tokenizer, text);
    return Encode(tokenizer, text, options, scratch, fault);
  }

  Row Encode(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options,
             Scratch& scratch, std::string& fault) {
    Row row;
    row.ids.resize(tokenizer.MaxTokens(text.size()));
    row.offsets.resize(row.ids.size());
    const auto encoding =
        tokenizer.Encode({.text = text}, options, scratch, {.ids = row.ids, .offsets = row.offsets});
    if (absl::IsResourceExhausted(encoding.status())) fault += "ScratchBytes or MaxTokens are too few; ";
    most_scratch_ = std::max(most_scratch_, Part(scratch.high_water(), scratch.capacity()));
    // A model without an unknown piece refuses texts.
    row.ok = encoding.ok();
    const size_t size = encoding.ok() ? encoding->ids.size() : 0;
    most_tokens_ = std::max(most_tokens_, Part(size, row.ids.size()));
    row.ids.resize(size);
    row.offsets.resize(size);
    return row;
  }

  static double Part(size_t used, size_t of) {
    return of == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(of);
  }

  Tokenizer plain_, other_, fast_, compiled_;
  double most_scratch_ = 0.0, most_tokens_ = 0.0;
};

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_PIPELINE_CHECK_H_
