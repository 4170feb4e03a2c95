#include "tools/cli/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace trellis::cli {
namespace {

using std::chrono::steady_clock;

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::optional<uint64_t> total_bytes)
    : total_bytes_(total_bytes),
      visible_(isatty(STDERR_FILENO) == 1),
      start_(steady_clock::now()),
      drawn_at_(start_) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Advance(uint64_t bytes) {
  done_bytes_ += bytes;
  if (!visible_) return;
  const auto now = steady_clock::now();
  if (now - drawn_at_ < kBetweenDraws) return;
  drawn_at_ = now;
  drawn_ = true;
  Draw();
}

void ProgressBar::Draw() const {
  const double seconds = std::chrono::duration<double>(drawn_at_ - start_).count();
  const double megabytes = static_cast<double>(done_bytes_) / 1e6;
  if (total_bytes_.value_or(0) == 0) {
    std::fprintf(stderr, "\r%.1f MB, %.1f MB/s\033[K", megabytes, megabytes / seconds);
    return;
  }
  // A file may grow while it is read.
  const double share = std::min(1.0, static_cast<double>(done_bytes_) / static_cast<double>(*total_bytes_));
  const int full = static_cast<int>(share * kBarWidth);
  const std::string bar = std::string(full, '#') + std::string(kBarWidth - full, '.');
  std::fprintf(stderr, "\r[%s] %3.0f%%  %.1f MB/s\033[K", bar.c_str(), 100 * share, megabytes / seconds);
}

}  // namespace trellis::cli
