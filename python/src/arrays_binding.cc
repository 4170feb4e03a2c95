// Batches to numpy: rows end to end, or a matrix.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "python/src/bindings.h"
#include "python/src/id_rows.h"
#include "python/src/numpy_array.h"
#include "python/src/options.h"
#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/padding.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

IdRows RowsOf(const PyTokenizer& self, const Texts& texts, const EncodeOptions& options, size_t threads,
              bool type_ids) {
  const auto encode = [&] {
    const nb::gil_scoped_release released;
    return EncodeIdRows(*self.loaded, {texts.inputs(), texts.bytes(), options, threads, type_ids});
  };
  return ValueOrRaise(encode());
}

nb::tuple EncodeIds(const PyTokenizer& self, nb::handle texts, size_t threads, const EncodeOptions& options) {
  IdRows rows = RowsOf(self, Texts(texts, "texts"), options, threads, false);
  const size_t tokens = rows.tokens();
  return nb::make_tuple(ToNumpy(std::move(rows.ids), tokens), ToNumpy(std::move(rows.cu_seqlens)));
}

// The length that `padding` asks for. A row that is longer cannot be in a matrix.
size_t LengthOf(const IdRows& rows, const Padding& padding) {
  size_t longest = 0, row_of_longest = 0;
  for (size_t i = 0; i < rows.rows(); ++i) {
    if (rows.Row(i).size() > longest) longest = rows.Row(i).size(), row_of_longest = i;
  }
  const int32_t ends[] = {0, static_cast<int32_t>(longest)};
  const size_t length = PaddedLength(ends, padding);
  if (length < longest) {
    throw nb::value_error(("texts[" + std::to_string(row_of_longest) + "]: " + std::to_string(longest) +
                           " tokens, expected at most the padding's length " + std::to_string(length) +
                           "; max_length cuts")
                              .c_str());
  }
  constexpr size_t kMost = size_t{1} << 40;
  if (length > kMost || (rows.rows() > 0 && length > kMost / rows.rows())) {
    Raise(absl::ResourceExhaustedError("padding: a matrix of " + std::to_string(rows.rows()) + " rows of " +
                                       std::to_string(length) + " tokens is more than any memory holds"));
  }
  return length;
}

nb::tuple EncodePadded(const PyTokenizer& self, nb::handle texts, const std::optional<Padding>& given,
                       size_t threads, const EncodeOptions& options) {
  const Padding padding = given ? *given : self->spec_without_pieces().padding.value_or(Padding{});
  const IdRows rows = RowsOf(self, Texts(texts, "texts"), options, threads, true);
  const size_t count = rows.rows(), length = LengthOf(rows, padding);
  auto ids = std::make_unique<TokenId[]>(count * length);
  auto mask = std::make_unique<uint8_t[]>(count * length);
  auto type_ids = std::make_unique<uint8_t[]>(count * length);
  {
    const nb::gil_scoped_release released;
    for (size_t i = 0; i < count; ++i) {
      const std::span<const TokenId> row = rows.Row(i);
      const size_t pads = length - row.size(), at = i * length,
                   front = padding.side == Side::kLeft ? pads : 0;
      std::fill_n(ids.get() + at, length, padding.id);
      std::fill_n(type_ids.get() + at, length, padding.type_id);
      std::copy(row.begin(), row.end(), ids.get() + at + front);
      std::copy_n(rows.type_ids.get() + rows.cu_seqlens[i], row.size(), type_ids.get() + at + front);
      std::fill_n(mask.get() + at + front, row.size(), uint8_t{1});
    }
  }
  return nb::make_tuple(ToNumpy(std::move(ids), count, length), ToNumpy(std::move(mask), count, length),
                        ToNumpy(std::move(type_ids), count, length));
}

}  // namespace

void BindArrays(TokenizerClass& tokenizer) {
  tokenizer
      .def("encode_ids", WithOptions<const PyTokenizer&, nb::handle, size_t>(&EncodeIds), "texts"_a,
           nb::kw_only(), "threads"_a = 0, TRELLIS_PYTHON_OPTIONS,
           "Many texts, or pairs as tuples, to numpy: (ids int32, cu_seqlens int64). Row i is\n"
           "ids[cu_seqlens[i]:cu_seqlens[i + 1]]. Options as encode and encode_batch have them.")
      .def("encode_padded",
           WithOptions<const PyTokenizer&, nb::handle, const std::optional<Padding>&, size_t>(&EncodePadded),
           "texts"_a, nb::kw_only(), "padding"_a = nb::none(), "threads"_a = 0, TRELLIS_PYTHON_OPTIONS,
           "Many texts, or pairs as tuples, to numpy matrices [rows, length]: (ids int32, attention_mask "
           "uint8,\n"
           "type_ids uint8). padding: None: the file's, and without one zeros up to the longest row.");
}

}  // namespace trellis::python
