// SentencePiece's own processor on a .model file.
#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "rounds.h"

int main(int argc, char** argv) {
  return peers::Run(argc, argv, {"processor"}, [](const std::string& model, std::string_view) {
    const auto processor = std::make_shared<sentencepiece::SentencePieceProcessor>();
    const auto status = processor->Load(model);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", model.c_str(), status.ToString().c_str());
      std::exit(1);
    }
    // Encode clears `ids` itself.
    return [processor](std::string_view text, std::vector<int>& ids) {
      if (!processor->Encode(absl::string_view(text.data(), text.size()), &ids).ok()) std::abort();
    };
  });
}
