// What trellis-gateway says to who runs it: lines on standard error.
#ifndef TRELLIS_SERVE_GATEWAY_LOG_H_
#define TRELLIS_SERVE_GATEWAY_LOG_H_

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace trellis::program {

inline void Log(const std::string& line) {
  std::fputs(absl::StrCat("trellis-gateway: ", line, "\n").c_str(), stderr);
}

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_GATEWAY_LOG_H_
