// Any bytes as a safetensors file: tensors that lie in it, end to end, or an error with a place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "serve/engine/safetensors_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto entries = trellis::engine::ReadSafetensors(bytes, "file");
  if (!entries.ok()) {
    if (entries.status().message().find(':') == absl::string_view::npos) std::abort();
    return 0;
  }
  size_t total = 0;
  unsigned sum = 0;
  for (const auto& entry : *entries) {
    if (!entry.bytes.empty() && (entry.bytes.data() < bytes.data() ||
                                 entry.bytes.data() + entry.bytes.size() > bytes.data() + bytes.size())) {
      std::abort();
    }
    for (const std::byte byte : entry.bytes) sum += static_cast<unsigned>(byte);  // all of it can be read
    total += entry.bytes.size();
  }
  if (total + 8 + 2 > size || sum > 255 * size) std::abort();
  return 0;
}
