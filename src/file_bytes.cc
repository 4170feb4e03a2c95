#include "src/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "absl/status/status.h"

namespace trellis::internal {
namespace {

std::string LastError() { return std::generic_category().message(errno); }

// An open plain file that is not empty.
class OpenFile {
 public:
  static absl::StatusOr<OpenFile> Open(const std::string& path) {
    OpenFile file;
    do {
      file.fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    } while (file.fd_ < 0 && errno == EINTR);
    if (file.fd_ < 0) {
      const auto code = errno == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kPermissionDenied;
      return absl::Status(code, path + ": cannot be opened (" + LastError() + "), expected a readable file");
    }
    struct stat status;
    if (fstat(file.fd_, &status) != 0) return absl::DataLossError(path + ": no size (" + LastError() + ")");
    if (!S_ISREG(status.st_mode)) return absl::InvalidArgumentError(path + ": no plain file, expected one");
    if (status.st_size == 0) return absl::InvalidArgumentError(path + ": empty, expected a compiled model");
    file.size_ = static_cast<size_t>(status.st_size);
    return file;
  }
  OpenFile(OpenFile&& other) noexcept : fd_(other.fd_), size_(other.size_) { other.fd_ = -1; }
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  size_t size() const { return size_; }

 private:
  OpenFile() = default;
  int fd_ = -1;
  size_t size_ = 0;
};

}  // namespace

absl::StatusOr<FileBytes> FileBytes::Map(const std::string& path) {
  const absl::StatusOr<OpenFile> file = OpenFile::Open(path);
  if (!file.ok()) return file.status();
  int flags = MAP_SHARED;
#ifdef MAP_POPULATE
  flags |= MAP_POPULATE;  // all of it is checked at once: one call instead of a fault for each few pages
#endif
  void* const begin = mmap(nullptr, file->size(), PROT_READ, flags, file->fd(), 0);
  if (begin == MAP_FAILED)
    return absl::ResourceExhaustedError(path + ": cannot be mapped (" + LastError() + ")");
  FileBytes bytes;
  bytes.mapping_ = {begin, UnmapTable{file->size()}};
  bytes.begin_ = static_cast<const std::byte*>(begin);
  bytes.size_ = file->size();
  return bytes;
}

absl::StatusOr<FileBytes> FileBytes::ReadToHugePages(const std::string& path) {
  const absl::StatusOr<OpenFile> file = OpenFile::Open(path);
  if (!file.ok()) return file.status();
  FileBytes bytes;
  bytes.copy_ = TableMemory(file->size(), PageSize::kHuge);
  bytes.begin_ = bytes.copy_.data();
  bytes.size_ = file->size();
  for (size_t at = 0; at < file->size();) {
    const ssize_t got = read(file->fd(), bytes.copy_.data() + at, file->size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return absl::DataLossError(path + ": cannot be read beyond byte " + std::to_string(at) + ", expected " +
                                 std::to_string(file->size()) + " bytes");
    }
    at += static_cast<size_t>(got);
  }
  return bytes;
}

FileBytes FileBytes::Copy(std::string_view from) {
  FileBytes bytes;
  bytes.copy_ = TableMemory(from.size(), PageSize::kDefault);
  bytes.begin_ = bytes.copy_.data();
  bytes.size_ = from.size();
  if (!from.empty()) std::memcpy(bytes.copy_.data(), from.data(), from.size());
  return bytes;
}

}  // namespace trellis::internal
