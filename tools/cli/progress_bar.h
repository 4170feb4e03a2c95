// How far a long job is, on a terminal's standard error and nowhere else.
#ifndef TRELLIS_TOOLS_CLI_PROGRESS_BAR_H_
#define TRELLIS_TOOLS_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <optional>

namespace trellis::cli {

class ProgressBar {
 public:
  // Without a total only the bytes done are shown.
  explicit ProgressBar(std::optional<uint64_t> total_bytes);
  // Takes the bar off the screen.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Advance(uint64_t bytes);

 private:
  void Draw() const;

  const std::optional<uint64_t> total_bytes_;
  const bool visible_;
  uint64_t done_bytes_ = 0;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_at_;
};

}  // namespace trellis::cli

#endif  // TRELLIS_TOOLS_CLI_PROGRESS_BAR_H_
