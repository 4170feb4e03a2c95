// What a program does about its standard streams before it opens anything.
#ifndef TRELLIS_SERVE_STANDARD_STREAMS_H_
#define TRELLIS_SERVE_STANDARD_STREAMS_H_

#include <fcntl.h>
#include <unistd.h>

namespace trellis::program {

// A standard stream that was closed when we started would be the first socket that we open, and the log would
// go to a client.
inline void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) (void)!open("/dev/null", O_RDWR);
  }
}

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_STANDARD_STREAMS_H_
