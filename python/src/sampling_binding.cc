// Other ways through a text: n-best, and samples for subword regularization.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "python/src/bindings.h"
#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/code_point_offsets.h"
#include "trellis/sampling.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// A Segmentation as Python sees it, offsets of characters.
struct PySegmentation {
  std::shared_ptr<LoadedTokenizer> loaded;
  Segmentation way;
};

PySegmentation Made(const std::shared_ptr<LoadedTokenizer>& loaded, CodePointOffsets& characters,
                    Segmentation way) {
  for (Offset& offset : way.offsets) offset = characters.FromBytes(offset);
  return {loaded, std::move(way)};
}

std::vector<PySegmentation> EncodeNBestOf(const PyTokenizer& self, nb::handle text, int64_t nbest_size) {
  if (nbest_size < 1 || nbest_size > static_cast<int64_t>(kMostNBest)) {
    throw nb::value_error(
        ("nbest_size: " + std::to_string(nbest_size) + ", expected 1 to " + std::to_string(kMostNBest))
            .c_str());
  }
  const std::string_view view = TextOf(text, "text");
  const auto find = [&]() -> absl::StatusOr<std::vector<PySegmentation>> {
    const nb::gil_scoped_release released;
    absl::StatusOr<std::vector<Segmentation>> best =
        EncodeNBest(*self, view, static_cast<size_t>(nbest_size));
    if (!best.ok()) return best.status();
    CodePointOffsets characters;
    characters.SetText(view);
    std::vector<PySegmentation> out;
    for (Segmentation& way : *best) out.push_back(Made(self.loaded, characters, std::move(way)));
    return out;
  };
  return ValueOrRaise(find());
}

class Sampler {
 public:
  Sampler(std::shared_ptr<LoadedTokenizer> loaded, uint32_t seed, const SampleOptions& options)
      : loaded_(std::move(loaded)), options_(options), random_(seed) {}

  PySegmentation Encode(nb::handle text) {
    const std::string_view view = TextOf(text, "text");
    const auto draw = [&]() -> absl::StatusOr<PySegmentation> {
      const nb::gil_scoped_release released;
      const std::lock_guard<std::mutex> lock(mutex_);
      absl::StatusOr<Segmentation> way = EncodeSample(loaded_->tokenizer, view, options_, random_);
      if (!way.ok()) return way.status();
      CodePointOffsets characters;
      characters.SetText(view);
      return Made(loaded_, characters, *std::move(way));
    };
    return ValueOrRaise(draw());
  }

 private:
  const std::shared_ptr<LoadedTokenizer> loaded_;
  const SampleOptions options_;
  std::mutex mutex_;
  std::mt19937 random_;
};

std::unique_ptr<Sampler> MakeSampler(const PyTokenizer& self, std::optional<uint32_t> seed, int nbest_size,
                                     float alpha) {
  const SampleOptions options{nbest_size, alpha};
  std::mt19937 unused;
  RaiseIfError(EncodeSample(*self, "", options, unused).status());  // what cannot be is said here
  return std::make_unique<Sampler>(self.loaded, seed ? *seed : std::random_device()(), options);
}

nb::list TokensOfWay(const PySegmentation& self) {
  nb::list tokens;
  for (const TokenId id : self.way.ids) tokens.append(StrOf(self.loaded->tokenizer.vocab().Text(id)));
  return tokens;
}

nb::list OffsetsOfWay(const PySegmentation& self) {
  nb::list offsets;
  for (const Offset& offset : self.way.offsets) offsets.append(nb::make_tuple(offset.begin, offset.end));
  return offsets;
}

std::string ReprOfWay(const PySegmentation& self) {
  return std::string("Segmentation(") + nb::repr(TokensOfWay(self)).c_str() +
         ", score=" + nb::repr(nb::float_(self.way.score)).c_str() + ")";
}

}  // namespace

void BindSampling(nb::module_& module, TokenizerClass& tokenizer) {
  nb::class_<PySegmentation>(module, "Segmentation", "One way through a text, without a template's tokens.")
      .def_prop_ro("ids", [](const PySegmentation& self) { return self.way.ids; })
      .def_prop_ro("tokens", &TokensOfWay, nb::for_getter(nb::sig("def tokens(self, /) -> list[str]")),
                   "The pieces' strings.")
      .def_prop_ro("offsets", &OffsetsOfWay,
                   nb::for_getter(nb::sig("def offsets(self, /) -> list[tuple[int, int]]")),
                   "Half-open ranges of the text's characters.")
      .def_prop_ro(
          "score", [](const PySegmentation& self) { return self.way.score; },
          "The sum of the pieces' scores; of one drawn from all ways the logarithm of its probability.")
      .def("__len__", [](const PySegmentation& self) { return self.way.ids.size(); })
      .def("__repr__", &ReprOfWay);
  nb::class_<Sampler>(module, "Sampler", "Draws ways through texts; one seed draws the same ones.")
      .def("encode", &Sampler::Encode, "text"_a,
           nb::sig("def encode(self, text: str | bytes) -> Segmentation"),
           "One way, drawn anew at each call. Threads take turns.");
  tokenizer
      .def("encode_nbest", &EncodeNBestOf, "text"_a, "nbest_size"_a,
           nb::sig("def encode_nbest(self, text: str | bytes, nbest_size: int) -> list[Segmentation]"),
           "The best ways by score, best first, as sentencepiece's nbest_encode; of a .model only.\n\n"
           "nbest_size: 1 to 1024; there may be fewer ways. With 1 the score is 0.")
      .def("sampler", &MakeSampler, "seed"_a = nb::none(), nb::kw_only(), "nbest_size"_a = -1,
           "alpha"_a = 0.1,
           "What draws as sentencepiece's sample_encode of version 0.2.1 does; of a .model only.\n\n"
           "seed: None: another one each time.\n"
           "nbest_size: -1: of all ways; 2 to 512: of so many best ones; 0 and 1: the best one.\n"
           "alpha: a way's probability is in proportion to exp(alpha * score): 0 makes all equal.");
}

}  // namespace trellis::python
