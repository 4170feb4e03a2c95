#include "python/src/encoded_input.h"

#include <algorithm>
#include <cstddef>
#include <limits>
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
  for (size_t i = 0; i < 2; ++i) {
    for (const std::string_view part : PartsOf(i)) {
      const absl::StatusOr<Encoding> alone = encoder.Encode({part}, Alone());
      if (!alone.ok()) return alone.status();
      tokens[i] += alone->ids.size();
    }
  }
  return Cut(tokens);
}

absl::Status EncodedInput::Cut(const size_t (&tokens)[2]) {
  const size_t specials = has_specials() ? cli::SpecialCount(tokenizer().spec_without_pieces(), input_) : 0;
  const auto refused = [&] {
    return cli::ExplainedEncodeError(absl::InvalidArgumentError(""), tokenizer(), input_, options_);
  };
  std::optional<internal::KeptTokens> kept{{tokens[0], tokens[1]}};
  if (options_.truncate != Truncate::kNever && options_.max_length >= specials) {
    kept = internal::RunTruncation(options_.truncate, options_.max_length - specials, tokens[0],
                                   input_.pair ? std::optional(tokens[1]) : std::nullopt);
  } else if (options_.truncate != Truncate::kNever && options_.no_room == EncodeOptions::NoRoom::kRefuse) {
    return refused();
  }
  if (!kept) return refused();
  for (size_t i = 0; i < 2; ++i) {
    counts_[i] = tokens[i];
    windows_[i] = TextWindows(tokens[i], i == 0 ? kept->first : kept->second, options_.stride,
                              options_.truncation_side);
    if (!windows_[i].CanAdvance()) return refused();
  }
  counted_ = true;
  return absl::OkStatus();
}

size_t EncodedInput::Truncated() const {
  size_t tokens = 0;
  for (size_t i = 0; i < 2; ++i) tokens += counts_[i] - (windows_[i][0].end - windows_[i][0].begin);
  return tokens;
}

// EncodeWindows goes through the windows of the text that the template has first in the outer loop, and comes
// to that text's first window with the other's later ones last.
EncodedInput::Loops EncodedInput::WindowLoops() const {
  std::vector<size_t> order;
  for (const TemplatePiece& piece : cli::TemplateOf(tokenizer().spec_without_pieces(), input_)) {
    if (const auto* text = std::get_if<TemplateSequence>(&piece))
      order.push_back(text->sequence == Sequence::kA ? 0 : 1);
  }
  const size_t outer = order.empty() ? 0 : order[0], inner = 1 - outer;
  const bool uses_inner = std::find(order.begin(), order.end(), inner) != order.end();
  return {outer, windows_[outer].count(), uses_inner ? windows_[inner].count() : 1};
}

absl::StatusOr<size_t> EncodedInput::WindowCount() const {
  const Loops loops = WindowLoops();
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  if (loops.outer_count >= kMost / loops.inner_count) {
    return absl::ResourceExhaustedError("more than 2^31 windows");
  }
  return loops.outer_count * loops.inner_count;
}

std::vector<TextPart> EncodedInput::Parts(size_t window) const {
  const auto [outer, outer_count, inner_count] = WindowLoops();
  const size_t inner = 1 - outer;
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

absl::Status EncodedInput::AddTokens(std::string_view text, uint32_t& words, TextTokens& tokens) const {
  const absl::StatusOr<Explanation> explained = internal::Explain(tokenizer(), text, Alone());
  if (!explained.ok()) return cli::ExplainedEncodeError(explained.status(), tokenizer(), {text}, Alone());
  const size_t before = tokens.words.size();
  const uint32_t first_word = words;
  size_t pre_token = 0, piece = 0;
  for (size_t i = 0; i < explained->segments.size(); ++i) {
    const Explanation::Segment& segment = explained->segments[i];
    if (segment.added_token >= 0) {
      tokens.words.push_back(words++);
      tokens.surfaces.emplace_back(text.substr(segment.begin, segment.end - segment.begin));
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
  if (tokens.words.size() - before != explained->tokens.ids.size()) {
    return absl::UnimplementedError(
        "the words of this text and the strings of its tokens are not known: the model is SentencePiece's");
  }
  if (is_cut_) {
    words = first_word + 1;
    std::fill(tokens.words.begin() + static_cast<std::ptrdiff_t>(before), tokens.words.end(), first_word);
  }
  return absl::OkStatus();
}

absl::StatusOr<const TextTokens*> EncodedInput::Tokens(size_t sequence) {
  std::optional<TextTokens>& known = tokens_[sequence];
  if (known) return &*known;
  TextTokens tokens;
  uint32_t words = 0;
  for (const std::string_view part : PartsOf(sequence)) {
    if (const absl::Status added = AddTokens(part, words, tokens); !added.ok()) return added;
  }
  known = std::move(tokens);
  return &*known;
}

}  // namespace trellis::python
