// Where the tensors of a safetensors file lie: 8 bytes with the length of a JSON header, the header, the
// tensors' bytes. Everything the format promises is checked here, once, so that whoever uses a tensor can
// trust its place: it lies inside the file, has as many bytes as shape and dtype say, and shares none of
// them. There are no holes.
#ifndef TRELLIS_SERVE_ENGINE_SAFETENSORS_READER_H_
#define TRELLIS_SERVE_ENGINE_SAFETENSORS_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace trellis::engine {

struct SafetensorsEntry {
  std::string name;
  std::string_view dtype;  // as the format spells it; lives for ever
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// The tensors by name, sorted. `bytes` is the whole file; `file` stands for it in messages, which name the
// tensor, the value and what was expected. Takes memory in proportion to the header, which is never longer
// than the file.
absl::StatusOr<std::vector<SafetensorsEntry>> ReadSafetensors(std::span<const std::byte> bytes,
                                                              const std::string& file);

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_SAFETENSORS_READER_H_
