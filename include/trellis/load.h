// From files to specs and tokenizers. Cold code: everything here allocates.
#ifndef TRELLIS_LOAD_H_
#define TRELLIS_LOAD_H_

#include <string>
#include <string_view>

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

struct LoadOptions {
  SentencePieceOptions sentencepiece = {};
  TokenizerOptions tokenizer = {};
};

// `path` is a tokenizer.json, a .model, or a folder that holds one
// (tokenizer.json first). Decides by content, not by name. Errors name the
// file.
absl::StatusOr<TokenizerSpec> LoadSpec(const std::string& path, const LoadOptions& options = {});
absl::StatusOr<Tokenizer> LoadTokenizer(const std::string& path, const LoadOptions& options = {});

}  // namespace trellis

#endif  // TRELLIS_LOAD_H_
