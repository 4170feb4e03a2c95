// A matrix of float32 in NumPy's file format (version 1.0), written row by row. The file appears under its
// name when it is whole, and not at all when something fails before.
#ifndef TRELLIS_TOOLS_CLI_ENGINE_NPY_FILE_H_
#define TRELLIS_TOOLS_CLI_ENGINE_NPY_FILE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace trellis::cli {

class NpyFile {
 public:
  NpyFile() = default;
  ~NpyFile();
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;

  absl::Status Open(const std::string& path, size_t columns);
  absl::Status Append(std::span<const float> row);
  absl::Status Close();

 private:
  absl::Status WriteHeader();
  std::string path_;  // empty: not open
  std::string unfinished_;
  std::ofstream out_;
  size_t columns_ = 0;
  uint64_t rows_ = 0;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_ENGINE_NPY_FILE_H_
