// encode and encode_batch: Encodings, with everything that can be known of their tokens.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/src/bindings.h"
#include "python/src/encoded_row.h"
#include "python/src/options.h"
#include "python/src/raise.h"
#include "python/src/texts.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using RowPointer = std::shared_ptr<EncodedRow>;

EncodedRow::Settings SettingsOf(const std::string& offsets, bool overflow) {
  if (offsets != "code_points" && offsets != "bytes") {
    throw nb::value_error(("offsets: \"" + offsets + "\", expected code_points or bytes").c_str());
  }
  return {offsets == "bytes" ? EncodedRow::Offsets::kBytes : EncodedRow::Offsets::kCodePoints, overflow};
}

void PadAll(const std::vector<RowPointer>& rows, const Padding& padding) {
  std::vector<int32_t> ends = {0};  // of the first rows only, as the reference
  size_t longest = 0;
  for (const RowPointer& row : rows) longest = std::max(longest, row->size());
  ends.push_back(static_cast<int32_t>(longest));
  const size_t length = PaddedLength(ends, padding);
  constexpr size_t kMost = size_t{1} << 31;
  if (length >= kMost) throw nb::value_error("padding: a length of 2^31 or more, expected less");
  for (const RowPointer& row : rows) row->PadTo(length, padding);
}

using InputPointer = std::shared_ptr<EncodedInput>;

InputPointer InputOf(const PyTokenizer& self, const EncodeOptions& options, nb::handle text,
                     nb::handle pair) {
  Input input{TextOf(text, "text")};
  if (!pair.is_none()) input.pair = TextOf(pair, "pair");
  return std::make_shared<EncodedInput>(self.loaded, options, input, nb::borrow(text), nb::borrow(pair));
}

InputPointer CutInputOf(const PyTokenizer& self, const EncodeOptions& options, nb::handle text,
                        nb::handle pair, const std::string& place, const std::string& pair_place,
                        size_t& bytes) {
  CutText words = CutTextOf(text, place);
  bytes += words.bytes();
  std::optional<CutText> others;
  if (!pair.is_none()) {
    others = CutTextOf(pair, pair_place);
    bytes += others->bytes();
  }
  return std::make_shared<EncodedInput>(self.loaded, options, std::move(words), std::move(others));
}

RowPointer Encode(const PyTokenizer& self, nb::handle text, nb::handle pair, bool is_pretokenized,
                  const std::string& offsets, bool overflow, const std::optional<Padding>& padding,
                  const EncodeOptions& options) {
  const EncodedRow::Settings settings = SettingsOf(offsets, overflow);
  size_t bytes = 0;
  const InputPointer encoded = is_pretokenized ? CutInputOf(self, options, text, pair, "text", "pair", bytes)
                                               : InputOf(self, options, text, pair);
  absl::StatusOr<RowPointer> row = absl::InternalError("");
  {
    const nb::gil_scoped_release released;
    row = self.loaded->pool.With(
        [&](cli::TextEncoder& encoder) { return EncodedRow::Make(encoder, encoded, settings); });
  }
  RowPointer made = ValueOrRaise(std::move(row));
  if (padding) PadAll({made}, *padding);
  return made;
}

// Of lists of words; one of two such lists is a pair.
std::vector<InputPointer> CutInputsOf(const PyTokenizer& self, const EncodeOptions& options, nb::handle texts,
                                      size_t& bytes) {
  if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr())) {
    throw nb::type_error("texts: one text, expected a list of lists of words");
  }
  std::vector<InputPointer> inputs;
  for (nb::handle element : nb::iter(texts)) {
    const std::string place = "texts[" + std::to_string(inputs.size()) + "]";
    const bool is_pair = IsListOrTuple(element) && nb::len(element) == 2 && IsListOrTuple(element[0]);
    const nb::object text = is_pair ? nb::object(element[0]) : nb::borrow(element);
    const nb::object pair = is_pair ? nb::object(element[1]) : nb::none();
    inputs.push_back(
        CutInputOf(self, options, text, pair, is_pair ? place + "[0]" : place, place + "[1]", bytes));
  }
  return inputs;
}

std::vector<InputPointer> InputsOf(const PyTokenizer& self, const EncodeOptions& options, nb::handle texts,
                                   size_t& bytes) {
  const Texts batch(texts, "texts");
  bytes = batch.bytes();
  std::vector<InputPointer> inputs;
  inputs.reserve(batch.inputs().size());
  for (size_t i = 0; i < batch.inputs().size(); ++i) {
    inputs.push_back(std::make_shared<EncodedInput>(self.loaded, options, batch.inputs()[i], batch.text(i),
                                                    batch.pair(i)));
  }
  return inputs;
}

std::vector<RowPointer> EncodeBatch(const PyTokenizer& self, nb::handle texts, bool is_pretokenized,
                                    const std::string& offsets, bool overflow,
                                    const std::optional<Padding>& padding, size_t threads,
                                    const EncodeOptions& options) {
  const EncodedRow::Settings settings = SettingsOf(offsets, overflow);
  size_t bytes = 0;
  const std::vector<InputPointer> inputs =
      is_pretokenized ? CutInputsOf(self, options, texts, bytes) : InputsOf(self, options, texts, bytes);
  std::vector<RowPointer> rows(inputs.size());
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    status = self.loaded->pool.ForEachChunk(
        inputs.size(), bytes, threads, [](size_t) {},
        [&](cli::TextEncoder& encoder, const Chunk& chunk) -> absl::Status {
          for (size_t i = chunk.begin; i < chunk.end; ++i) {
            absl::StatusOr<RowPointer> row = EncodedRow::Make(encoder, inputs[i], settings);
            if (!row.ok()) return At("texts[" + std::to_string(i) + "]", row.status());
            rows[i] = *std::move(row);
          }
          return absl::OkStatus();
        });
  }
  RaiseIfError(status);
  if (padding) PadAll(rows, *padding);
  return rows;
}

}  // namespace

void BindEncode(TokenizerClass& tokenizer) {
  tokenizer
      .def("encode",
           WithOptions<const PyTokenizer&, nb::handle, nb::handle, bool, const std::string&, bool,
                       const std::optional<Padding>&>(&Encode),
           "text"_a.none(), "pair"_a = nb::none(), nb::kw_only(), "is_pretokenized"_a = false,
           "offsets"_a = "code_points", "overflow"_a = false, "padding"_a = nb::none(),
           TRELLIS_PYTHON_OPTIONS,
           "One text, or a pair.\n\n"
           "text, pair: str, or bytes as they are; malformed UTF-8 counts as U+FFFD.\n"
           "is_pretokenized: they are lists of words: each is encoded as if alone, and offsets are its own.\n"
           "offsets: \"code_points\" (indices of a str) or \"bytes\".\n"
           "overflow: what truncation cuts off, as further windows in Encoding.overflowing, each with "
           "`stride` tokens of "
           "the one before.\n"
           "max_length: the most tokens, special ones included; None: no truncation.\n"
           "match_special_tokens: False keeps special tokens out of untrusted text, however it spells them.\n"
           "encode_special_tokens: tokenizers' flag of that name: they are not looked for, which is no such "
           "shield.\n"
           "cut_nothing: a max_length below the number of special tokens cuts nothing, instead of being an "
           "error.")
      .def("encode_batch",
           WithOptions<const PyTokenizer&, nb::handle, bool, const std::string&, bool,
                       const std::optional<Padding>&, size_t>(&EncodeBatch),
           "texts"_a, nb::kw_only(), "is_pretokenized"_a = false, "offsets"_a = "code_points",
           "overflow"_a = false, "padding"_a = nb::none(), "threads"_a = 0, TRELLIS_PYTHON_OPTIONS,
           "Many texts, or pairs as tuples; options as encode has them.\n\n"
           "threads: 0: as many as the process may run on, fewer where there is little text.");
}

}  // namespace trellis::python
