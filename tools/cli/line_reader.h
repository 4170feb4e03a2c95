// Lines of several files, in chunks of what is there to read.
//
// Memory stays bounded by the chunk size and the longest line. A chunk ends
// where a read ended, so that a pipe that delivers one line is answered at once.
// Lines end in '\n'; a '\r' before it belongs to the text; the last line needs
// no '\n'. "-" is standard input.
#ifndef TRELLIS_TOOLS_CLI_LINE_READER_H_
#define TRELLIS_TOOLS_CLI_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace trellis::cli {

// Complete lines of one file. `Line(i)` is followed by at least kPadding
// readable bytes, which is what simdjson wants.
class LineChunk {
 public:
  static constexpr size_t kPadding = 64;

  size_t line_count() const { return ends_.size(); }
  std::string_view Line(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1] + 1;
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }
  // "FILE:LINE" of line i, for messages.
  std::string Place(size_t i) const;
  // Bytes of the file that this chunk consumed.
  uint64_t consumed() const { return consumed_; }

 private:
  friend class LineReader;
  std::string bytes_;
  std::vector<size_t> ends_;  // where each line's text ends
  const std::string* file_ = nullptr;
  uint64_t first_line_ = 1;
  uint64_t consumed_ = 0;
};

class LineReader {
 public:
  // No files means standard input.
  explicit LineReader(std::vector<std::string> files);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next chunk, never without lines. True when there was one; false at the
  // end and on errors (see status()).
  bool Next(LineChunk& chunk);
  const absl::Status& status() const { return status_; }

  // From another thread: a Next that waits for input gives up.
  void Stop();

  // Bytes of all files when that is known beforehand (regular files only).
  std::optional<uint64_t> TotalBytes() const;

 private:
  // Opens files_[file_index_]; sets status_ and returns false when it cannot.
  bool Open();
  void Close();
  // Appends what one read gives; 0 at the end of the file, -1 on an error.
  ptrdiff_t ReadSome(char* to, size_t size);

  const std::vector<std::string> files_;
  size_t file_index_ = 0;
  int fd_ = -1;
  int stop_fd_ = -1;
  uint64_t next_line_ = 1;
  std::string carry_;  // the begun line at the end of the last read
  absl::Status status_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_LINE_READER_H_
