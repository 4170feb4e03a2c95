// Files to tokenizers, and what a tokenizer knows: vocabulary, added tokens, what its file says.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "python/src/bindings.h"
#include "python/src/raise.h"
#include "python/src/texts.h"
#include "trellis/load.h"

namespace trellis::python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

PyTokenizer Loaded(absl::StatusOr<Tokenizer> tokenizer) {
  return {std::make_shared<LoadedTokenizer>(ValueOrRaise(std::move(tokenizer)))};
}

LoadOptions FileOptions(bool fairseq) {
  LoadOptions options;
  options.sentencepiece.fairseq = fairseq;
  return options;
}

PyTokenizer FromFile(const std::filesystem::path& path, bool fairseq) {
  const auto load = [&] {
    const nb::gil_scoped_release released;
    return LoadTokenizer(path.string(), FileOptions(fairseq));
  };
  return Loaded(load());
}

PyTokenizer FromPretrained(const std::filesystem::path& folder, bool fairseq) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    Raise(
        absl::NotFoundError(folder.string() + ": no folder, expected one with a tokenizer.json or a .model"));
  }
  return FromFile(folder, fairseq);
}

// As a file without a name, so that the loader decides by content, as it does for every file; tables of a
// compiled one are mapped from it.
absl::StatusOr<Tokenizer> LoadBytes(std::string_view bytes, bool fairseq) {
  const int file = memfd_create("trellis", MFD_CLOEXEC);
  if (file < 0) return absl::ResourceExhaustedError("no memory for a copy of the bytes");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  absl::Status written;
  for (std::string_view left = bytes; !left.empty() && written.ok();) {
    const ssize_t some = write(file, left.data(), left.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) {
      written = absl::ResourceExhaustedError("no memory for a copy of the bytes");
      break;
    }
    left.remove_prefix(static_cast<size_t>(some));
  }
  absl::StatusOr<Tokenizer> tokenizer =
      written.ok() ? LoadTokenizer(path, FileOptions(fairseq)) : absl::StatusOr<Tokenizer>(written);
  close(file);
  if (tokenizer.ok()) return tokenizer;
  std::string message(tokenizer.status().message());
  for (size_t at; (at = message.find(path)) != std::string::npos;)
    message.replace(at, path.size(), "these bytes");
  return absl::Status(tokenizer.status().code(), message);
}

PyTokenizer FromBytes(nb::handle bytes, bool fairseq) {
  const std::string_view view = TextOf(bytes, "data");
  const auto load = [&] {
    const nb::gil_scoped_release released;
    return LoadBytes(view, fairseq);
  };
  return Loaded(load());
}

std::optional<TokenId> TokenToId(const PyTokenizer& self, nb::handle token) {
  return self->vocab().Find(TextOf(token, "token"));
}

nb::object IdToToken(const PyTokenizer& self, int64_t id) {
  const Vocab& vocab = self->vocab();
  if (id < 0 || id >= vocab.size()) return nb::none();
  const std::string_view text = vocab.Text(static_cast<TokenId>(id));
  // The one piece that may be empty: is it there?
  if (text.empty() && vocab.Find(text) != static_cast<TokenId>(id)) return nb::none();
  return StrOf(text);
}

// Added tokens may be among the model's pieces, or are counted on from their end.
size_t ModelSize(const PyTokenizer& self) {
  const TokenizerSpec& spec = self->spec_without_pieces();
  if (!spec.model.pieces.empty()) return spec.model.pieces.size();
  return self->spec().model.pieces.size();
}

nb::dict VocabOf(const PyTokenizer& self) {
  const Vocab& vocab = self->vocab();
  nb::dict out;
  for (TokenId id = 0; id < vocab.size(); ++id) {
    nb::object text = IdToToken(self, id);
    if (!text.is_none()) out[text] = id;
  }
  return out;
}

PyTokenizer WithAddedTokens(const PyTokenizer& self, std::vector<AddedToken> tokens) {
  const auto make = [&] {
    const nb::gil_scoped_release released;
    TokenizerSpec spec = self->spec();
    AddTokens(tokens, spec);
    return Tokenizer::Create(std::move(spec));
  };
  return Loaded(make());
}

void SaveCompiled(const PyTokenizer& self, const std::filesystem::path& path) {
  const auto save = [&] {
    const nb::gil_scoped_release released;
    return CompileTokenizer(self->spec(), path.string());
  };
  RaiseIfError(save());
}

std::string Repr(const PyTokenizer& self) {
  const TokenizerSpec& spec = self->spec_without_pieces();
  return std::string("<trellis.Tokenizer of ") + std::to_string(self->vocab().size()) + " tokens, as " +
         (spec.dialect == Dialect::kHuggingFace ? "tokenizers" : "sentencepiece") + " does it>";
}

}  // namespace

void BindLoading(TokenizerClass& tokenizer) {
  tokenizer
      .def_static(
          "from_file", &FromFile, "path"_a, nb::kw_only(), "fairseq"_a = false,
          "A tokenizer.json, a SentencePiece .model, a compiled model, or a folder that holds one.\n\n"
          "fairseq: XLM-RoBERTa's id shift of a .model.")
      .def_static("from_pretrained", &FromPretrained, "folder"_a, nb::kw_only(), "fairseq"_a = false,
                  "A model's folder. Nothing is fetched from anywhere.")
      .def_static("from_bytes", &FromBytes, "data"_a, nb::kw_only(), "fairseq"_a = false,
                  nb::sig("def from_bytes(data: bytes, *, fairseq: bool = False) -> Tokenizer"),
                  "The bytes of such a file.")
      .def_static("from_str", &FromBytes, "json"_a, nb::kw_only(), "fairseq"_a = false,
                  nb::sig("def from_str(json: str, *, fairseq: bool = False) -> Tokenizer"),
                  "A tokenizer.json's text.")
      .def("save_compiled", &SaveCompiled, "path"_a,
           "Writes the finished tables, which from_file maps in milliseconds; for this version of the "
           "library only.")
      .def("with_added_tokens", &WithAddedTokens, "tokens"_a,
           "A new tokenizer with more tokens; ids are the model's, or counted on from the end.")
      .def_prop_ro(
          "vocab_size", [](const PyTokenizer& self) { return self->vocab().size(); },
          "One more than the largest id.")
      .def_prop_ro("model_size", &ModelSize, "Pieces of the model, without added tokens beyond.")
      .def("token_to_id", &TokenToId, "token"_a,
           nb::sig("def token_to_id(self, token: str | bytes) -> int | None"),
           "None: there is no such token.")
      .def("id_to_token", &IdToToken, "id"_a, nb::sig("def id_to_token(self, id: int) -> str | None"),
           "None: there is no such id.")
      .def("vocab", &VocabOf, nb::sig("def vocab(self) -> dict[str, int]"), "All tokens with their ids.")
      .def(
          "score", [](const PyTokenizer& self, TokenId id) { return self->vocab().Score(id); }, "id"_a,
          "A piece's score; 0 of added tokens beyond the model.")
      .def(
          "is_special", [](const PyTokenizer& self, TokenId id) { return self->vocab().IsSpecial(id); },
          "id"_a, "Whether decode leaves it out.")
      .def_prop_ro("unk_id", [](const PyTokenizer& self) { return self->vocab().unk_id(); })
      .def_prop_ro("added_tokens",
                   [](const PyTokenizer& self) { return self->spec_without_pieces().added_tokens; })
      .def_prop_ro(
          "truncation", [](const PyTokenizer& self) { return self->spec_without_pieces().truncation; },
          "What the file says of it; no call does it unless it is asked.")
      .def_prop_ro(
          "padding", [](const PyTokenizer& self) { return self->spec_without_pieces().padding; },
          "What the file says of it.")
      .def(
          "num_special_tokens",
          [](const PyTokenizer& self, bool pair) {
            const PostProcessorTemplate& form = self->spec_without_pieces().post_processor;
            size_t count = 0;
            for (const TemplatePiece& piece : pair ? form.pair : form.single) {
              if (const auto* special = std::get_if<TemplateSpecial>(&piece)) count += special->ids.size();
            }
            return count;
          },
          "pair"_a = false, "How many the template puts around a text, or a pair.")
      .def(
          "facts",
          [](const PyTokenizer& self) {
            nb::dict facts;
            for (const TableFact& fact : self->Facts()) facts[fact.name.c_str()] = fact.value;
            return facts;
          },
          nb::sig("def facts(self) -> dict[str, str]"), "What was loaded and which paths are on, for people.")
      .def("__repr__", &Repr);
}

}  // namespace trellis::python
