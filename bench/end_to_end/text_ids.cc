#include "bench/end_to_end/text_ids.h"

#include <algorithm>

namespace trellis::bench {
namespace {

// Where the two part, or the tokens of both when they never do.
size_t FirstDifference(const Encoding& a, const Encoding& b) {
  const size_t common = std::min(a.ids.size(), b.ids.size());
  for (size_t i = 0; i < common; ++i) {
    if (a.ids[i] != b.ids[i] || (!a.offsets.empty() && a.offsets[i] != b.offsets[i])) return i;
  }
  return common;
}

}  // namespace

absl::StatusOr<std::string> IdLines(const TextPath& path, const std::vector<LabelledTexts>& labels) {
  std::string lines;
  for (const LabelledTexts& label : labels) {
    LabelEncoder encoder(path, Columns::kIds, label.texts);
    for (size_t i = 0; i < label.texts.size(); ++i) {
      absl::StatusOr<Encoding> encoding = encoder.Encode(label.texts[i]);
      if (!encoding.ok()) return Located(encoding.status(), label.label, i);
      const char* blank = "";
      for (const TokenId id : encoding->ids) {
        lines += blank;
        lines += std::to_string(id);
        blank = " ";
      }
      lines += '\n';
    }
  }
  return lines;
}

absl::Status CheckAgainstTokenizer(const TextPath& path, Columns columns,
                                   const std::vector<LabelledTexts>& labels) {
  const TokenizerPath reference(path.tokenizer());
  for (const LabelledTexts& label : labels) {
    LabelEncoder found_by(path, columns, label.texts);
    LabelEncoder wanted_by(reference, columns, label.texts);
    for (size_t i = 0; i < label.texts.size(); ++i) {
      absl::StatusOr<Encoding> found = found_by.Encode(label.texts[i]);
      if (!found.ok()) return Located(found.status(), label.label, i);
      absl::StatusOr<Encoding> wanted = wanted_by.Encode(label.texts[i]);
      if (!wanted.ok()) return Located(wanted.status(), label.label, i);
      const size_t at = FirstDifference(*found, *wanted);
      if (at == found->ids.size() && at == wanted->ids.size()) continue;
      return absl::InternalError("label " + label.label + ", text " + std::to_string(i) + ", token " +
                                 std::to_string(at) + ": expected what Tokenizer::Encode gives (" +
                                 std::to_string(wanted->ids.size()) + " tokens), got another (of " +
                                 std::to_string(found->ids.size()) + ")");
    }
  }
  return absl::OkStatus();
}

}  // namespace trellis::bench
