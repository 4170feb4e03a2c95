// FileBytes: a whole file in memory that does not change: mapped, so that all
// processes share its pages, or copied.
#ifndef TRELLIS_SRC_FILE_BYTES_H_
#define TRELLIS_SRC_FILE_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/trie/table_memory.h"

namespace trellis::internal {

class FileBytes {
 public:
  // Read-only and shared. Whoever changes the file in place changes what is read
  // here; a new file of the same name does not. Errors name the path.
  static absl::StatusOr<FileBytes> Map(const std::string& path);
  // On 2 MB pages where the kernel grants them; nobody else can change it.
  static absl::StatusOr<FileBytes> ReadToHugePages(const std::string& path);
  static FileBytes Copy(std::string_view bytes);

  // Aligned to a page.
  std::string_view bytes() const { return {reinterpret_cast<const char*>(begin_), size_}; }
  bool is_mapped() const { return mapping_ != nullptr; }
  size_t HugeBytes() const { return copy_.HugeBytes(); }

 private:
  FileBytes() = default;

  std::unique_ptr<void, UnmapTable> mapping_;
  TableMemory copy_;
  const std::byte* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace trellis::internal

#endif  // TRELLIS_SRC_FILE_BYTES_H_
