#include "tools/cli/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace trellis::cli {
namespace {

constexpr size_t kChunkBytes = 128 * 1024;
// A chunk that a giant line blew up gives its memory back.
constexpr size_t kKeptBytes = 16 * kChunkBytes;

const std::string& ShownName(const std::string& file) {
  static const std::string kStandardInput = "<stdin>";
  return file == "-" ? kStandardInput : file;
}

std::vector<std::string> OrStandardInput(std::vector<std::string> files) {
  if (files.empty()) files.push_back("-");
  return files;
}

}  // namespace

std::string LineChunk::Place(size_t i) const {
  return ShownName(*file_) + ":" + std::to_string(first_line_ + i);
}

LineReader::LineReader(std::vector<std::string> files)
    : files_(OrStandardInput(std::move(files))), stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

LineReader::~LineReader() {
  Close();
  if (stop_fd_ >= 0) close(stop_fd_);
}

void LineReader::Stop() {
  const uint64_t one = 1;
  if (stop_fd_ >= 0 && write(stop_fd_, &one, sizeof(one)) < 0) return;
}

bool LineReader::Open() {
  const std::string& file = files_[file_index_];
  next_line_ = 1;
  fd_ = file == "-" ? STDIN_FILENO : open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ >= 0) return true;
  status_ = absl::NotFoundError(file + ": cannot open: " + std::strerror(errno));
  return false;
}

void LineReader::Close() {
  if (fd_ > STDIN_FILENO) close(fd_);
  fd_ = -1;
}

ptrdiff_t LineReader::ReadSome(char* to, size_t size) {
  for (;;) {
    pollfd waits[2] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    if (poll(waits, stop_fd_ >= 0 ? 2 : 1, -1) < 0 && errno == EINTR) continue;
    if (waits[1].revents != 0) {
      status_ = absl::CancelledError("stopped");
      return -1;
    }
    const ssize_t got = read(fd_, to, size);
    if (got >= 0) return got;
    if (errno == EINTR || errno == EAGAIN) continue;
    status_ = absl::DataLossError(ShownName(files_[file_index_]) + ": cannot read: " + std::strerror(errno));
    return -1;
  }
}

bool LineReader::Next(LineChunk& chunk) {
  if (chunk.bytes_.size() > kKeptBytes) {
    chunk.bytes_.clear();
    chunk.bytes_.shrink_to_fit();
  }
  chunk.ends_.clear();
  while (status_.ok() && file_index_ < files_.size()) {
    if (fd_ < 0 && !Open()) return false;
    chunk.file_ = &files_[file_index_];
    chunk.first_line_ = next_line_;
    std::string& bytes = chunk.bytes_;
    if (bytes.size() < std::max(kChunkBytes, 2 * carry_.size()) + LineChunk::kPadding) {
      bytes.resize(std::max(kChunkBytes, 2 * carry_.size()) + LineChunk::kPadding);
    }
    std::memcpy(bytes.data(), carry_.data(), carry_.size());
    size_t filled = carry_.size();
    const size_t carried = carry_.size();
    carry_.clear();
    bool at_end = false;
    while (chunk.ends_.empty() && !at_end) {
      if (filled + LineChunk::kPadding == bytes.size()) bytes.resize(2 * bytes.size());
      const ptrdiff_t got = ReadSome(bytes.data() + filled, bytes.size() - LineChunk::kPadding - filled);
      if (got < 0) return false;
      at_end = got == 0;
      const char* const end = bytes.data() + filled + got;
      for (const char* at = bytes.data() + filled; at < end; ++at) {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
        if (at == nullptr) break;
        chunk.ends_.push_back(static_cast<size_t>(at - bytes.data()));
      }
      filled += static_cast<size_t>(got);
    }
    const size_t used = chunk.ends_.empty() ? 0 : chunk.ends_.back() + 1;
    if (at_end) {
      if (used < filled) chunk.ends_.push_back(filled);
      Close();
      ++file_index_;
    } else {
      carry_.assign(bytes, used, filled - used);
    }
    chunk.consumed_ = filled - carried;
    next_line_ += chunk.ends_.size();
    if (!chunk.ends_.empty()) return true;
  }
  return false;
}

std::optional<uint64_t> LineReader::TotalBytes() const {
  uint64_t total = 0;
  for (const std::string& file : files_) {
    struct stat facts;
    const int rc = file == "-" ? fstat(STDIN_FILENO, &facts) : stat(file.c_str(), &facts);
    if (rc != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
    total += static_cast<uint64_t>(facts.st_size);
  }
  return total;
}

}  // namespace trellis::cli
