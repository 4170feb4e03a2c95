// LabelEncoder: one label's memory, kept from call to call as a caller would.
#ifndef TRELLIS_BENCH_END_TO_END_LABEL_ENCODER_H_
#define TRELLIS_BENCH_END_TO_END_LABEL_ENCODER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/end_to_end/text_path.h"

namespace trellis::bench {

enum class Columns : uint8_t { kIds, kIdsAndOffsets };

class LabelEncoder {
 public:
  // Room for the longest of `texts`. `path` must outlive this object.
  LabelEncoder(const TextPath& path, Columns columns, const std::vector<std::string>& texts) : path_(path) {
    size_t most_bytes = 0;
    for (const std::string& text : texts) most_bytes = std::max(most_bytes, text.size());
    scratch_.Reserve(path.tokenizer().ScratchBytes(most_bytes));
    ids_.resize(path.tokenizer().MaxTokens(most_bytes));
    if (columns == Columns::kIdsAndOffsets) offsets_.resize(ids_.size());
  }

  // The result is overwritten by the next call.
  absl::StatusOr<Encoding> Encode(std::string_view text) {
    return path_.Encode(text, scratch_, {.ids = ids_, .offsets = offsets_});
  }
  void ClearCache() { scratch_.ClearCache(); }

 private:
  const TextPath& path_;
  Scratch scratch_;
  std::vector<TokenId> ids_;
  std::vector<Offset> offsets_;
};

// The same error with its place.
inline absl::Status Located(const absl::Status& status, const std::string& label, size_t text) {
  return absl::Status(status.code(), "label " + label + ", text " + std::to_string(text) +
                                         ": cannot encode: " + status.ToString());
}

}  // namespace trellis::bench

#endif  // TRELLIS_BENCH_END_TO_END_LABEL_ENCODER_H_
