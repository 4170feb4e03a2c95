#include "serve/engine/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace trellis::engine {

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // Non-blocking, so that a named pipe is refused below rather than waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string message =
        absl::StrCat(path, ": cannot be opened (", std::strerror(errno), "), expected a file");
    return errno == ENOENT ? absl::NotFoundError(message) : absl::InvalidArgumentError(message);
  }
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": no plain file, expected one"));
  }
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) {
    close(fd);
    return MappedFile({});
  }
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (at == MAP_FAILED) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be mapped (", std::strerror(error), ")"));
  }
  return MappedFile({static_cast<const std::byte*>(at), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace trellis::engine
