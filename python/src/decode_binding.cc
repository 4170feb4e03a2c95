// Ids back to text: at once, in batches, and one by one.
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/src/bindings.h"
#include "python/src/ids.h"
#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/decode_stream.h"
#include "trellis/growing_scratch.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// Decode's errors are codes only.
absl::Status Explained(const absl::Status& status) {
  if (!status.message().empty()) return status;
  if (absl::IsResourceExhausted(status)) return absl::ResourceExhaustedError("the text has 4 GiB or more");
  if (absl::IsFailedPrecondition(status)) {
    return absl::FailedPreconditionError(
        "the text does not go on as it began: the tokens before were given out as other text");
  }
  return absl::InvalidArgumentError("the file's Strip decoder would take more off a token than it has");
}

nb::object Decode(const PyTokenizer& self, nb::handle ids, bool skip_special_tokens, bool clean_up) {
  const std::vector<TokenId> row = IdsOf(ids, "ids");
  std::string memory;
  absl::StatusOr<std::string_view> text;
  {
    const nb::gil_scoped_release released;
    text = DecodeGrowing(*self, row, {skip_special_tokens, clean_up}, memory);
  }
  if (!text.ok()) Raise(Explained(text.status()));
  return StrOf(*text);
}

nb::list DecodeBatch(const PyTokenizer& self, nb::handle rows, bool skip_special_tokens, bool clean_up,
                     size_t threads) {
  std::vector<std::vector<TokenId>> all;
  size_t tokens = 0;
  for (nb::handle row : nb::iter(rows)) {
    all.push_back(IdsOf(row, "rows[" + std::to_string(all.size()) + "]"));
    tokens += all.back().size();
  }
  std::vector<std::string> texts(all.size());
  absl::Status status;
  {
    const nb::gil_scoped_release released;
    status = self.loaded->pool.ForEachChunk(
        all.size(), tokens * sizeof(TokenId), threads, [](size_t) {},
        [&](cli::TextEncoder&, const Chunk& chunk) -> absl::Status {
          std::string memory;
          for (size_t i = chunk.begin; i < chunk.end; ++i) {
            const auto text = DecodeGrowing(*self, all[i], {skip_special_tokens, clean_up}, memory);
            if (!text.ok()) return At("rows[" + std::to_string(i) + "]", Explained(text.status()));
            texts[i] = *text;
          }
          return absl::OkStatus();
        });
  }
  RaiseIfError(status);
  nb::list out;
  for (const std::string& text : texts) out.append(StrOf(text));
  return out;
}

nb::object Step(DecodeStream& self, TokenId id) {
  const absl::StatusOr<std::string_view> text = self.Step(id);
  if (!text.ok()) Raise(Explained(text.status()));
  return StrOf(*text);
}

nb::object Finish(DecodeStream& self) {
  const absl::StatusOr<std::string_view> text = self.Finish();
  if (!text.ok()) Raise(Explained(text.status()));
  return StrOf(*text);
}

}  // namespace

void BindDecode(nb::module_& module, TokenizerClass& tokenizer) {
  nb::class_<DecodeStream>(module, "DecodeStream",
                           "Ids one by one to text, as soon as it is certain. One thread at a time.")
      .def("step", &Step, "id"_a, nb::sig("def step(self, id: int) -> str"),
           "The text that this id makes certain; often empty.")
      .def("finish", &Finish, nb::sig("def finish(self) -> str"),
           "What was held back, incomplete characters as U+FFFD. The stream is new then.")
      .def("reset", &DecodeStream::Reset, "Forgets all ids.");
  tokenizer
      .def(
          "decode", &Decode, "ids"_a, nb::kw_only(), "skip_special_tokens"_a = true, "clean_up"_a = false,
          nb::sig("def decode(self, ids: collections.abc.Iterable[int], *, skip_special_tokens: bool = True, "
                  "clean_up: bool = False) -> str"),
          "The text of ids: a list, or a numpy array. Ids of nothing are left out.\n\n"
          "clean_up: no blank before English punctuation, as transformers' clean_up_tokenization_spaces.")
      .def(
          "decode_batch", &DecodeBatch, "rows"_a, nb::kw_only(), "skip_special_tokens"_a = true,
          "clean_up"_a = false, "threads"_a = 0,
          nb::sig("def decode_batch(self, rows: collections.abc.Iterable[collections.abc.Iterable[int]], *, "
                  "skip_special_tokens: bool = True, clean_up: bool = False, threads: int = 0) -> list[str]"),
          "The text of each row.")
      .def(
          "decode_stream",
          [](const PyTokenizer& self, bool skip_special_tokens, bool clean_up) {
            return std::make_unique<DecodeStream>(*self, DecodeOptions{skip_special_tokens, clean_up});
          },
          nb::kw_only(), "skip_special_tokens"_a = true, "clean_up"_a = false, "A new stream.");
}

}  // namespace trellis::python
