// From files to specs and tokenizers. Cold code: everything here allocates.
#ifndef TRELLIS_LOAD_H_
#define TRELLIS_LOAD_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trellis/spec.h"
#include "trellis/tokenizer.h"

namespace trellis {

// Hugging Face tokenizer.json, as tokenizers 0.22.2 reads it (scores too: its
// reader does not round correctly, and that decides ties). Whatever changes
// results and is not supported is refused: errors name the field and the value,
// e.g. `model.type: "BPE", expected "Unigram"`.
absl::StatusOr<TokenizerSpec> ParseTokenizerJson(std::string_view json);

struct SentencePieceOptions {
  // XLM-RoBERTa's id shift: <s> 0, <pad> 1, </s> 2, <unk> 3, every other piece
  // one up, <mask> last (fairseq; transformers' XLMRobertaTokenizer).
  bool fairseq = false;
};

// SentencePiece .model (a serialized ModelProto), as sentencepiece 0.2.x reads
// it. Models other than unigram are refused by name.
absl::StatusOr<TokenizerSpec> ParseSentencePieceModel(std::string_view model_proto,
                                                      const SentencePieceOptions& options = {});

// --- compiled files: finished tables, which are used where they lie ---

// The first bytes of one.
inline constexpr std::string_view kCompiledFileMark = "\x7Ftrellis";

// Writes the tables of a Tokenizer of `spec`, and the spec, to `path`, and puts
// the finished file in the place of what was there. Errors are
// Tokenizer::Create's, and those of writing. Such a file is for this version of
// the library, and for machines of this byte order.
absl::Status CompileTokenizer(const TokenizerSpec& spec, const std::string& path);

// A Tokenizer whose tables are that file, mapped: all processes share its pages,
// and all of it has been looked at before this returns, so that a file that is
// damaged, or made to do harm, is an error that says where, or a Tokenizer that
// may know odd words but touches nothing else. While it is mapped it must not be
// changed in place or cut (CompileTokenizer never does). With
// options.huge_pages the file is read into memory of the process's own instead.
// options.trie does not matter where the file has a byte trie.
absl::StatusOr<Tokenizer> MapTokenizer(const std::string& path, const TokenizerOptions& options = {});

struct LoadOptions {
  SentencePieceOptions sentencepiece = {};
  TokenizerOptions tokenizer = {};
};

// `path` is a tokenizer.json, a .model, a compiled file, or a folder that holds
// one (tokenizer.json first, else the only *.model or *.trellis). Decides by
// content, not by name. Errors name the file.
absl::StatusOr<TokenizerSpec> LoadSpec(const std::string& path, const LoadOptions& options = {});
absl::StatusOr<Tokenizer> LoadTokenizer(const std::string& path, const LoadOptions& options = {});

}  // namespace trellis

#endif  // TRELLIS_LOAD_H_
