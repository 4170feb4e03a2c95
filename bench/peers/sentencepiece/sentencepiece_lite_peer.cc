// SentencePiece Lite, the new runtime that SentencePiece 0.2.3 brings, on a .spm.fb file; bare or behind its
// token cache, whose life is the caller's: here that of the program, as Hugging Face's is.
#include <cached_sentencepiece_lite.h>
#include <sentencepiece_lite.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "rounds.h"

namespace lite = sentencepiece::lite;

int main(int argc, char** argv) {
  return peers::Run(
      argc, argv, {"bare", "cached"},
      [](const std::string& model, std::string_view variant) -> peers::Encode {
        std::ifstream file(model, std::ios::binary);
        auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(file),
                                                   std::istreambuf_iterator<char>());
        const auto processor = std::make_shared<lite::SentencePieceLiteProcessor>(bytes);
        if (processor->status() != lite::StatusCode::kOk) {
          std::fprintf(stderr, "%s: not a model that SentencePiece Lite reads (expected .spm.fb)\n",
                       model.c_str());
          std::exit(1);
        }
        if (variant == "bare") {
          return [processor](std::string_view text, std::vector<int>& ids) {
            ids.clear();
            if (processor->Encode(text, &ids) != lite::StatusCode::kOk) std::abort();
          };
        }
        const auto cache = std::make_shared<lite::TokenCache>();
        return [processor, cache](std::string_view text, std::vector<int>& ids) {
          ids.clear();
          const auto status = lite::CachedSentencePieceLite::Encode(*processor, *cache, text, &ids);
          if (status != lite::StatusCode::kOk) std::abort();
        };
      });
}
