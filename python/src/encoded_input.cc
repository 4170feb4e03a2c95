#include "python/src/encoded_input.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tools/cli/template_layout.h"
#include "trellis/internal/explain.h"

namespace trellis::python {
namespace {

using internal::Explanation;
using internal::TextWindows;

// The vocabulary's name of a byte, whatever byte that is: <0x0A>.
bool NamesByte(std::string_view piece) {
  return piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
}

}  // namespace

EncodeOptions EncodedInput::Alone() const {
  EncodeOptions alone = options_;
  alone.add_special_tokens = false;
  alone.truncate = Truncate::kNever;
  return alone;
}

absl::Status EncodedInput::Count(cli::TextEncoder& encoder) {
  if (counted_) return absl::OkStatus();
  size_t tokens[2] = {};
  for (size_t i = 0; i < (input_.pair ? 2 : 1); ++i) {
    const absl::StatusOr<Encoding> alone = encoder.Encode({TextAt(i)}, Alone());
    if (!alone.ok()) return alone.status();
    tokens[i] = alone->ids.size();
  }
  const size_t specials = has_specials() ? cli::SpecialCount(tokenizer().spec_without_pieces(), input_) : 0;
  internal::KeptTokens kept{tokens[0], tokens[1]};
  if (options_.truncate != Truncate::kNever && options_.max_length >= specials) {
    const auto cut = internal::RunTruncation(options_.truncate, options_.max_length - specials, tokens[0],
                                             input_.pair ? std::optional(tokens[1]) : std::nullopt);
    if (cut) kept = *cut;  // else Encode has refused it
  }
  windows_[0] = TextWindows(tokens[0], kept.first, options_.stride, options_.truncation_side);
  windows_[1] = TextWindows(tokens[1], kept.second, options_.stride, options_.truncation_side);
  counted_ = true;
  return absl::OkStatus();
}

// Which window of each text is row `window`: EncodeWindows goes through those of the text that the template
// has first in the outer loop, and comes to that text's first window with the other's later ones last.
std::vector<size_t> EncodedInput::Order() const {
  std::vector<size_t> order;
  for (const TemplatePiece& piece : cli::TemplateOf(tokenizer().spec_without_pieces(), input_)) {
    if (const auto* text = std::get_if<TemplateSequence>(&piece))
      order.push_back(text->sequence == Sequence::kA ? 0 : 1);
  }
  return order;
}

std::vector<TextPart> EncodedInput::Parts(size_t window) const {
  const std::vector<size_t> order = Order();
  const size_t outer = order.empty() ? 0 : order[0], inner = 1 - outer;
  const bool uses_inner = std::find(order.begin(), order.end(), inner) != order.end();
  const size_t outer_count = windows_[outer].count(), inner_count = uses_inner ? windows_[inner].count() : 1;
  size_t at[2] = {};
  if (window > 0) {
    const size_t later = window - 1, in_loops = (outer_count - 1) * inner_count;
    at[outer] = later < in_loops ? 1 + later / inner_count : 0;
    at[inner] = later < in_loops ? later % inner_count : 1 + later - in_loops;
  }
  std::vector<TextPart> parts;
  size_t end = 0;
  for (const TemplatePiece& piece : cli::TemplateOf(tokenizer().spec_without_pieces(), input_)) {
    if (const auto* special = std::get_if<TemplateSpecial>(&piece)) {
      if (has_specials()) end += special->ids.size();
      continue;
    }
    const uint8_t i = std::get<TemplateSequence>(piece).sequence == Sequence::kA ? 0 : 1;
    const internal::TokenWindow part = windows_[i][at[i]];
    parts.push_back({end, end + part.end - part.begin, i, part.begin});
    end = parts.back().end;
  }
  return parts;
}

absl::StatusOr<const TextTokens*> EncodedInput::Tokens(size_t sequence) {
  std::optional<TextTokens>& known = tokens_[sequence];
  if (known) return &*known;
  const absl::StatusOr<Explanation> explained = internal::Explain(tokenizer(), TextAt(sequence), Alone());
  if (!explained.ok())
    return cli::ExplainedEncodeError(explained.status(), tokenizer(), {TextAt(sequence)}, Alone());
  TextTokens tokens;
  uint32_t words = 0;
  size_t pre_token = 0, piece = 0;
  for (size_t i = 0; i < explained->segments.size(); ++i) {
    const Explanation::Segment& segment = explained->segments[i];
    if (segment.added_token >= 0) {
      tokens.words.push_back(words++);
      tokens.surfaces.emplace_back(TextAt(sequence).substr(segment.begin, segment.end - segment.begin));
    }
    for (; pre_token < explained->pre_tokens.size() && explained->pre_tokens[pre_token].segment == i;
         ++pre_token, ++words) {
      for (; piece < explained->pieces.size() && explained->pieces[piece].pre_token == pre_token; ++piece) {
        const Explanation::PieceRow& row = explained->pieces[piece];
        const std::string_view name = tokenizer().vocab().Text(row.id);
        tokens.words.push_back(words);
        tokens.surfaces.emplace_back(NamesByte(name) ? name : row.text);
      }
    }
  }
  if (tokens.words.size() != explained->tokens.ids.size()) {
    return absl::UnimplementedError(
        "the words of this text and the strings of its tokens are not known: the model is SentencePiece's");
  }
  known = std::move(tokens);
  return &*known;
}

}  // namespace trellis::python
