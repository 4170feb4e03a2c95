// Many texts to rows of ids end to end, by several threads.
#ifndef TRELLIS_PYTHON_ID_ROWS_H_
#define TRELLIS_PYTHON_ID_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "python/src/encoder_pool.h"
#include "trellis/tokenizer.h"

namespace trellis::python {

struct IdRows {
  std::unique_ptr<TokenId[]> ids;
  std::unique_ptr<uint8_t[]> type_ids;  // null unless they were asked for
  std::vector<int64_t> cu_seqlens;      // rows + 1

  size_t rows() const { return cu_seqlens.size() - 1; }
  size_t tokens() const { return static_cast<size_t>(cu_seqlens.back()); }
  std::span<const TokenId> Row(size_t i) const {
    return {ids.get() + cu_seqlens[i], static_cast<size_t>(cu_seqlens[i + 1] - cu_seqlens[i])};
  }
};

struct IdRowsRequest {
  std::span<const Input> inputs;
  size_t bytes;  // of all of them
  EncodeOptions options;
  size_t threads = 0;
  bool type_ids = false;
  const char* name = "texts";  // in errors
  std::span<const uint8_t> validity =
      {};  // a bit a text; one without is an empty row. Empty: all have theirs
};

// Without the GIL. An error names the text.
absl::StatusOr<IdRows> EncodeIdRows(LoadedTokenizer& loaded, const IdRowsRequest& request);

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ID_ROWS_H_
