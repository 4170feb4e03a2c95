// Rows of texts that are cut into words already, as tokenizers' is_pretokenized has it: each word is encoded
// as if it were alone, then truncation and the template come as they do to any text.
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "python/src/encoded_row.h"
#include "python/src/raise.h"
#include "tools/cli/template_layout.h"
#include "trellis/code_point_offsets.h"

namespace trellis::python {
namespace {

// The tokens of one text.
struct WordTokens {
  std::vector<TokenId> ids;
  std::vector<Offset> offsets;  // of its own word
};

absl::StatusOr<WordTokens> EncodeWords(cli::TextEncoder& encoder, const EncodedInput& input, size_t sequence,
                                       EncodedRow::Offsets kind) {
  WordTokens out;
  CodePointOffsets characters;
  const std::span<const std::string_view> words = input.PartsOf(sequence);
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::StatusOr<Encoding> word = encoder.Encode({words[i]}, input.Alone());
    if (!word.ok()) return At("word " + std::to_string(i), word.status());
    out.ids.insert(out.ids.end(), word->ids.begin(), word->ids.end());
    if (kind == EncodedRow::Offsets::kCodePoints) characters.SetText(words[i]);
    for (const Offset& offset : word->offsets) {
      out.offsets.push_back(kind == EncodedRow::Offsets::kCodePoints ? characters.FromBytes(offset) : offset);
    }
  }
  return out;
}

void AddSpecials(const TemplateSpecial& special, EncodedText& row) {
  row.ids.insert(row.ids.end(), special.ids.begin(), special.ids.end());
  row.offsets.resize(row.ids.size());
  row.type_ids.resize(row.ids.size(), special.type_id);
  row.special_tokens_mask.resize(row.ids.size(), 1);
}

void AddWindow(const WordTokens& text, const TextPart& part, uint8_t type_id, EncodedText& row) {
  const auto first = static_cast<std::ptrdiff_t>(part.first);
  const auto last = first + static_cast<std::ptrdiff_t>(part.end - part.begin);
  row.ids.insert(row.ids.end(), text.ids.begin() + first, text.ids.begin() + last);
  row.offsets.insert(row.offsets.end(), text.offsets.begin() + first, text.offsets.begin() + last);
  row.type_ids.resize(row.ids.size(), type_id);
  row.special_tokens_mask.resize(row.ids.size(), 0);
}

}  // namespace

absl::StatusOr<std::shared_ptr<EncodedRow>> EncodedRow::MakeOfWords(cli::TextEncoder& encoder,
                                                                    std::shared_ptr<EncodedInput> input,
                                                                    const Settings& settings) {
  WordTokens texts[2];
  for (size_t i = 0; i < (input->input().pair ? 2 : 1); ++i) {
    absl::StatusOr<WordTokens> text = EncodeWords(encoder, *input, i, settings.offsets);
    if (!text.ok()) return text.status();
    texts[i] = *std::move(text);
  }
  if (const absl::Status cut = input->Cut({texts[0].ids.size(), texts[1].ids.size()}); !cut.ok()) return cut;
  const absl::StatusOr<size_t> windows = settings.overflow ? input->WindowCount() : 1;
  if (!windows.ok()) return windows.status();

  std::vector<std::shared_ptr<EncodedRow>> made;
  for (size_t window = 0; window < *windows; ++window) {
    auto row = std::make_shared<EncodedRow>();
    std::vector<TextPart> parts = input->Parts(window);
    auto part = parts.begin();
    for (const TemplatePiece& piece :
         cli::TemplateOf(input->tokenizer().spec_without_pieces(), input->input())) {
      if (const auto* special = std::get_if<TemplateSpecial>(&piece)) {
        if (input->has_specials()) AddSpecials(*special, row->row_);
        continue;
      }
      AddWindow(texts[part->sequence], *part, std::get<TemplateSequence>(piece).type_id, row->row_);
      ++part;
    }
    if (!settings.overflow) row->row_.num_truncated = input->Truncated();
    row->attention_mask_.assign(row->size(), 1);
    row->input_ = input;
    row->window_ = window;
    made.push_back(std::move(row));
  }
  return WithOverflow(std::move(made));
}

}  // namespace trellis::python
