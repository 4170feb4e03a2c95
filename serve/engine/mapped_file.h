// A whole file in memory, read-only, mapped. What nobody touches stays on disk. A file that somebody shortens
// while it is mapped ends the program when the lost part is touched, as with every map: replace model files,
// do not write into them.
#ifndef TRELLIS_SERVE_ENGINE_MAPPED_FILE_H_
#define TRELLIS_SERVE_ENGINE_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace trellis::engine {

class MappedFile {
 public:
  // NotFound: there is no such file. InvalidArgument: it is no plain file, or cannot be read.
  static absl::StatusOr<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;  // empty: nothing is mapped
};

}  // namespace trellis::engine

#endif  // TRELLIS_SERVE_ENGINE_MAPPED_FILE_H_
