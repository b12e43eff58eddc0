// A bar on stderr for work that takes longer than a moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace quern::cli {

// Draws only where stderr is a terminal, and only after 300 ms. One thread only.
class ProgressBar {
 public:
  // `label` stands before the bar. A quiet bar draws nothing.
  explicit ProgressBar(std::string label, bool is_quiet = false);
  // Draws at most 20 times a second; `done` beyond `total` counts as all.
  void update(int64_t done, int64_t total);
  // Removes the bar.
  // The text after it begins on a clean line. May be called without an update before.
  void finish();

 private:
  // What the work is called.
  std::string label_;
  bool is_enabled_;
  bool is_drawn_ = false;
  // For the delay before the first drawing, and between two.
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace quern::cli
