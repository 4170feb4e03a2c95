#include "tools/cli/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace trellis::cli {

absl::Status WriteStandardOutput(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<size_t>(wrote));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // whoever started us may have left the pipe non-blocking
      pollfd wait = {STDOUT_FILENO, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    return absl::DataLossError(std::string("standard output: cannot write: ") + std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace trellis::cli
