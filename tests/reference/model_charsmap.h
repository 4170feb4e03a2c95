// The demo model's charsmap, read from its tokenizer.json without the library's
// own loader. Without a model this throws and says where it belongs.
#ifndef TRELLIS_TESTS_REFERENCE_MODEL_CHARSMAP_H_
#define TRELLIS_TESTS_REFERENCE_MODEL_CHARSMAP_H_

#include <simdjson.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"

namespace trellis::reference {

inline const std::string& ModelCharsmap() {
  static const std::string charsmap = [] {
    const char* from_environment = std::getenv("TRELLIS_MODEL");
    const std::string folder = from_environment != nullptr ? from_environment : TRELLIS_SOURCE_DIR "/models/multilingual-e5-small";
    const std::string path = folder.ends_with(".json") ? folder : folder + "/tokenizer.json";
    simdjson::dom::parser parser;
    std::string_view encoded;
    if (parser.load(path)["normalizer"]["precompiled_charsmap"].get(encoded) != simdjson::SUCCESS) {
      throw std::runtime_error(path + " cannot be read or has no charsmap; tools/fetch_model --tokenizer-only puts the "
                               "model into models/, TRELLIS_MODEL names another place");
    }
    std::string bytes;
    if (!absl::Base64Unescape(absl::string_view(encoded.data(), encoded.size()), &bytes)) {
      throw std::runtime_error(path + ": normalizer.precompiled_charsmap is not base64");
    }
    return bytes;
  }();
  return charsmap;
}

}  // namespace trellis::reference

#endif  // TRELLIS_TESTS_REFERENCE_MODEL_CHARSMAP_H_
