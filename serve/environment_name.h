// Where a flag's value may come from when it is not on the command line.
#ifndef TRELLIS_SERVE_ENVIRONMENT_NAME_H_
#define TRELLIS_SERVE_ENVIRONMENT_NAME_H_

#include <algorithm>
#include <cctype>
#include <string>

namespace trellis::program {

// --max-batch-tokens: TRELLIS_MAX_BATCH_TOKENS
inline std::string EnvironmentName(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  std::transform(flag.begin(), flag.end(), flag.begin(), [](unsigned char c) { return std::toupper(c); });
  return "TRELLIS" + flag.substr(1);  // two dashes in front have become two underscores
}

}  // namespace trellis::program

#endif  // TRELLIS_SERVE_ENVIRONMENT_NAME_H_
