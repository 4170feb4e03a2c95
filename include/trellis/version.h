// The version of the library, which is CMakeLists.txt's.
#ifndef TRELLIS_VERSION_H_
#define TRELLIS_VERSION_H_

namespace trellis {

// Of the library that runs, as "0.1.0"; of a shared one it may be later than these headers.
const char* Version();

}  // namespace trellis

#endif  // TRELLIS_VERSION_H_
