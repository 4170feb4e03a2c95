// Any bytes, repaired: clusters are those of the plain rules (tests/reference/grapheme.h), and decoding UTF-8
// step by step gives the repaired text of tests/reference/utf8_replacement.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/grapheme.h"
#include "tests/reference/utf8_replacement.h"
#include "trellis/internal/text/grapheme.h"
#include "trellis/internal/text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1024) return 0;  // the rules look back: quadratic
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<uint32_t> text;
  std::string repaired;
  for (size_t at = 0; at < bytes.size();) {
    const auto decoded = trellis::internal::DecodeUtf8(bytes.substr(at));
    if (decoded.length == 0 || decoded.length > bytes.size() - at) std::abort();
    text.push_back(decoded.code_point);
    char utf8[trellis::internal::kMaxUtf8Bytes];
    repaired.append(utf8, trellis::internal::EncodeUtf8(decoded.code_point, utf8));
    at += decoded.length;
  }
  if (repaired != trellis::reference::ReplaceMalformed(bytes).text) std::abort();
  trellis::internal::GraphemeScanner scanner;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == 0) {
      scanner.Reset(text[0]);
    } else if (scanner.BoundaryBefore(text[i]) != trellis::reference::IsGraphemeBoundary(text, i)) {
      std::abort();
    }
  }
  return 0;
}
