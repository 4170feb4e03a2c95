#include "tools/cli/engine/npy_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace trellis::cli {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the rows are written as they lie in memory");

// Room for any number of rows, so that the header can be written again at the end; the format wants a
// multiple of 64.
constexpr size_t kHeaderBytes = 128;

// Where a link leads, so that the link itself stays; there may be nothing yet.
fs::path BehindLinks(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

absl::Status NotWritten(const std::string& path) {
  return absl::DataLossError(absl::StrCat(path, ": cannot be written, expected a writable file"));
}

}  // namespace

NpyFile::~NpyFile() {
  if (path_.empty()) return;
  out_.close();
  std::error_code ignored;
  std::filesystem::remove(unfinished_, ignored);
}

absl::Status NpyFile::Open(const std::string& path, size_t columns) {
  // The header, which has the number of rows, comes last: no device or pipe can take that.
  const fs::path target = BehindLinks(path);
  std::error_code ignored;
  if (path == "-" || (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored))) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": expected a new file or a regular one"));
  }
  unfinished_ = absl::StrCat(target.string(), ".", getpid(), ".part");
  columns_ = columns;
  const int created = open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (created < 0) return NotWritten(unfinished_);
  close(created);
  path_ = target.string();
  out_.open(unfinished_, std::ios::binary | std::ios::trunc);
  if (!out_) return NotWritten(unfinished_);
  return WriteHeader();
}

absl::Status NpyFile::WriteHeader() {
  std::string header("\x93NUMPY\x01\x00", 8);
  constexpr size_t kRest = kHeaderBytes - 10;
  header += static_cast<char>(kRest % 256);
  header += static_cast<char>(kRest / 256);
  absl::StrAppend(&header, "{'descr': '<f4', 'fortran_order': False, 'shape': (", rows_, ", ", columns_,
                  "), }");
  header.resize(kHeaderBytes - 1, ' ');
  header += '\n';
  out_.seekp(0);
  out_.write(header.data(), static_cast<std::streamsize>(header.size()));
  return out_ ? absl::OkStatus() : NotWritten(unfinished_);
}

absl::Status NpyFile::Append(std::span<const float> row) {
  if (row.size() != columns_) {
    return absl::InternalError(
        absl::StrCat(path_, ": a row of ", row.size(), " numbers, expected ", columns_));
  }
  out_.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size_bytes()));
  ++rows_;
  return out_ ? absl::OkStatus() : NotWritten(unfinished_);
}

absl::Status NpyFile::Close() {
  if (const absl::Status written = WriteHeader(); !written.ok()) return written;
  out_.close();
  std::error_code error;
  if (out_) std::filesystem::rename(unfinished_, path_, error);
  if (!out_ || error) return NotWritten(path_);
  path_.clear();
  return absl::OkStatus();
}

}  // namespace trellis::cli
