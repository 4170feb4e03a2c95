// Arrow's C data interface (arrow.apache.org/docs/format/CDataInterface.html): texts in and lists of ids out
// without a copy, and without Arrow's library.
#ifndef TRELLIS_PYTHON_ARROW_H_
#define TRELLIS_PYTHON_ARROW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "python/src/id_rows.h"
#include "trellis/tokenizer.h"

// Names and layout are the interface's.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

namespace trellis::python {

// Views of a string, large_string, binary or large_binary array, which must outlive them. Null rows are
// empty.
struct ArrowTexts {
  std::vector<Input> inputs;
  std::vector<uint8_t> validity;  // a bit a row; empty: no nulls
  int64_t null_count = 0;
  size_t bytes = 0;
  bool large = false;  // 64-bit offsets
};
absl::Status ReadArrowTexts(const ArrowSchema& schema, const ArrowArray& array, ArrowTexts& texts);

// Rows of ids as list<int32>, or large_list<int32>; arrays that are exported share them.
struct ArrowLists {
  IdRows rows;
  std::vector<int32_t> offsets;  // of list<int32>; large_list<int32> has rows.cu_seqlens
  std::vector<uint8_t> validity;
  int64_t null_count = 0;
  bool large = false;
};
// ResourceExhausted where a list<int32> cannot count the ids.
absl::Status MakeArrowLists(IdRows rows, const ArrowTexts& texts, ArrowLists& lists);
void ExportArrowSchema(const ArrowLists& lists, ArrowSchema& schema);
void ExportArrowArray(std::shared_ptr<const ArrowLists> lists, ArrowArray& array);

}  // namespace trellis::python

#endif  // TRELLIS_PYTHON_ARROW_H_
