#include "tools/cli/model_options.h"

#include <map>

namespace trellis::cli {

void AddModelArgument(CLI::App& command, std::string& path) {
  command
      .add_option("MODEL", path,
                  "tokenizer.json, SentencePiece .model, what `trellis compile` made of them, or a folder that "
                  "holds one (tokenizer.json first)")
      ->type_name("PATH")
      ->required();
}

void AddFairseqFlag(CLI::App& command, SentencePieceOptions& options) {
  command.add_flag("--fairseq", options.fairseq,
                   "number the pieces of a .model as XLM-RoBERTa does (fairseq's id shift)");
}

void AddModelOptions(CLI::App& command, ModelOptions& options) {
  AddModelArgument(command, options.path);
  AddFairseqFlag(command, options.load.sentencepiece);
  command.add_flag_callback(
      "--plain", [&options] { options.load.tokenizer.shortcuts = false; },
      "switch every shortcut off; the results are the same");
  static const std::map<std::string, TokenizerOptions::TrieKind> kTries = {
      {"bitmap", TokenizerOptions::TrieKind::kBitmapPacked},
      {"double-array", TokenizerOptions::TrieKind::kDoubleArray}};
  command
      .add_option_function<std::string>(
          "--trie", [&options](const std::string& name) { options.load.tokenizer.trie = kTries.at(name); },
          "the byte trie: bitmap (default) or double-array; the results are the same")
      ->check(CLI::IsMember({"bitmap", "double-array"}));
  command.add_flag("--huge-pages", options.load.tokenizer.huge_pages, "ask for 2 MB pages for the tables (a compiled file is then copied)");
}

absl::StatusOr<Tokenizer> LoadModel(const ModelOptions& options) {
  return LoadTokenizer(options.path, options.load);
}

}  // namespace trellis::cli
