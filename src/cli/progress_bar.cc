// Drawing of the bar.
// One line that is drawn over itself, at most twenty times a second.
#include "cli/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace quern::cli {

// Where stderr is no terminal, nothing is ever drawn.
ProgressBar::ProgressBar(std::string label, bool is_quiet)
    : label_(std::move(label)),
      is_enabled_(!is_quiet && ::isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

// Clamped: totals are estimates for some work.
void ProgressBar::update(int64_t done, int64_t total) {
  if (!is_enabled_ || total <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  // Short work needs no bar, and redrawing more than 20 times a second is only flicker.
  if (now - start_ < std::chrono::milliseconds(300)) return;
  if (is_drawn_ && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  is_drawn_ = true;
  constexpr int64_t kWidth = 30;
  // Counts are bytes at most, so the product is far from 2^63.
  const int64_t filled = std::clamp<int64_t>(kWidth * done / total, 0, kWidth);
  const std::string bar = std::string(static_cast<size_t>(filled), '#') +
                          std::string(static_cast<size_t>(kWidth - filled), '.');
  const std::string line = fmt::format("\r{} [{}] {:3} %", label_, bar, 100 * done / total);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

// The line is cleared, so that what follows begins at its start.
void ProgressBar::finish() {
  if (!is_drawn_) return;
  // To the start of the line, and clear to its end.
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace quern::cli
