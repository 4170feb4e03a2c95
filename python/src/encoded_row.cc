#include "python/src/encoded_row.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/code_point_offsets.h"

namespace trellis::python {

namespace nb = nanobind;

namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

template <typename T>
std::vector<T> Part(std::span<const T> column, size_t begin, size_t end) {
  return {column.begin() + static_cast<std::ptrdiff_t>(begin),
          column.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Offsets of one row as code points of the text that each token is of.
class InCodePoints {
 public:
  explicit InCodePoints(const EncodedInput& input) : input_(input) {}

  void Convert(size_t window, std::vector<Offset>& offsets) {
    // Template tokens are at 0 in every text.
    if (!input_.input().pair) return Convert(0, 0, offsets.size(), offsets);
    for (const TextPart& part : input_.Parts(window)) Convert(part.sequence, part.begin, part.end, offsets);
  }

 private:
  void Convert(size_t sequence, size_t begin, size_t end, std::vector<Offset>& offsets) {
    Text& text = texts_[sequence];
    if (!text.is_set) {
      text.is_set = true;
      const std::string_view whole = input_.PartsOf(sequence)[0];
      text.ascii = IsAscii(whole);
      if (!text.ascii) text.offsets.SetText(whole);
    }
    if (text.ascii) return;
    for (size_t i = begin; i < end; ++i) offsets[i] = text.offsets.FromBytes(offsets[i]);
  }

  struct Text {
    bool is_set = false;
    bool ascii = false;
    CodePointOffsets offsets;
  };
  const EncodedInput& input_;
  Text texts_[2];
};

}  // namespace

absl::StatusOr<std::shared_ptr<EncodedRow>> EncodedRow::Make(cli::TextEncoder& encoder,
                                                             std::shared_ptr<EncodedInput> input,
                                                             const Settings& settings) {
  if (input->is_cut()) return MakeOfWords(encoder, std::move(input), settings);
  const bool windows = settings.overflow && input->options().truncate != Truncate::kNever;
  absl::StatusOr<trellis::Encoding> rows = windows ? encoder.EncodeWindows(input->input(), input->options())
                                                   : encoder.Encode(input->input(), input->options());
  if (!rows.ok()) return rows.status();
  std::vector<int32_t> ends = {0, static_cast<int32_t>(rows->ids.size())};
  if (windows) ends.assign(rows->cu_seqlens.begin(), rows->cu_seqlens.end());
  std::vector<std::shared_ptr<EncodedRow>> made;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    const auto begin = static_cast<size_t>(ends[i]), end = static_cast<size_t>(ends[i + 1]);
    auto row = std::make_shared<EncodedRow>();
    row->row_.ids = Part(rows->ids, begin, end);
    row->row_.offsets = Part(rows->offsets, begin, end);
    row->row_.type_ids = Part(rows->type_ids, begin, end);
    row->row_.special_tokens_mask = Part(rows->special_tokens_mask, begin, end);
    row->row_.num_truncated = windows ? 0 : rows->num_truncated;
    row->attention_mask_.assign(end - begin, 1);
    row->input_ = input;
    row->window_ = i;
    made.push_back(std::move(row));
  }
  // From here on the encoder's memory may be written again.
  if (settings.offsets == Offsets::kCodePoints) {
    if (input->input().pair) {
      if (const absl::Status counted = input->Count(encoder); !counted.ok()) return counted;
    }
    InCodePoints converter(*input);
    for (const auto& row : made) converter.Convert(row->window_, row->row_.offsets);
  }
  return WithOverflow(std::move(made));
}

std::shared_ptr<EncodedRow> EncodedRow::WithOverflow(std::vector<std::shared_ptr<EncodedRow>> rows) {
  std::shared_ptr<EncodedRow> first = std::move(rows.front());
  first->overflow_.assign(std::make_move_iterator(rows.begin() + 1), std::make_move_iterator(rows.end()));
  return first;
}

void EncodedRow::PadTo(size_t length, const Padding& padding) {
  const size_t pads = length - std::min(length, size());
  (padding.side == Side::kLeft ? front_pads_ : back_pads_) += pads;
  attention_mask_ = Pad(row_, length, padding);
  pad_token_ = padding.token;
  for (const auto& row : overflow_) row->PadTo(length, padding);
}

const std::vector<TextPart>& EncodedRow::Parts() {
  if (!parts_) {
    RaiseIfError(
        input_->loaded().pool.With([&](cli::TextEncoder& encoder) { return input_->Count(encoder); }));
    std::vector<TextPart> parts = input_->Parts(window_);
    for (TextPart& part : parts) {
      part.begin += front_pads_;
      part.end += front_pads_;
    }
    parts_ = std::move(parts);
  }
  return *parts_;
}

const TextPart* EncodedRow::PartOf(size_t token) {
  for (const TextPart& part : Parts()) {
    if (token >= part.begin && token < part.end) return &part;
  }
  return nullptr;
}

std::optional<size_t> EncodedRow::SequenceOf(size_t token) {
  const TextPart* part = PartOf(token);
  return part == nullptr ? std::nullopt : std::optional<size_t>(part->sequence);
}

std::optional<uint32_t> EncodedRow::WordOf(size_t token) {
  const TextPart* part = PartOf(token);
  if (part == nullptr) return std::nullopt;
  return ValueOrRaise(input_->Tokens(part->sequence))->words[part->first + token - part->begin];
}

nb::list EncodedRow::Tokens() {
  const Tokenizer& tokenizer = input_->tokenizer();
  const std::optional<TokenId> unk = tokenizer.vocab().unk_id();
  // The string of an unknown or added token is what it stands for.
  const auto is_surface = [&](TokenId id) { return id == unk || input_->loaded().IsAdded(id); };
  nb::list tokens;
  for (size_t i = 0; i < size(); ++i) {
    const TokenId id = row_.ids[i];
    if (i < front_pads_ || i >= size() - back_pads_) {
      tokens.append(StrOf(pad_token_));
      continue;
    }
    if (row_.special_tokens_mask[i] == 0 && is_surface(id)) {
      const TextPart* part = PartOf(i);
      const absl::StatusOr<const TextTokens*> known =
          part != nullptr ? input_->Tokens(part->sequence) : absl::InternalError("a token of no text");
      if (known.ok()) {
        tokens.append(StrOf((*known)->surfaces[part->first + i - part->begin]));
        continue;
      }
      if (!absl::IsUnimplemented(known.status())) Raise(known.status());
    }
    tokens.append(StrOf(tokenizer.vocab().Text(id)));
  }
  return tokens;
}

}  // namespace trellis::python
