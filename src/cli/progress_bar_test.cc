// Tests that a bar writes nothing where stderr is no terminal, whatever it is told.
#include "cli/progress_bar.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>

namespace quern::cli {
namespace {

// Logs must not fill with bars.
TEST(ProgressBar, IsSilentWithoutATerminal) {
  if (::isatty(STDERR_FILENO) == 1) GTEST_SKIP() << "Skipped: stderr is a terminal here.";
  testing::internal::CaptureStderr();
  for (const bool is_quiet : {false, true}) {
    ProgressBar bar("Loading", is_quiet);
    for (const int64_t total : {int64_t{0}, int64_t{-1}, int64_t{10}, INT64_MAX}) {
      bar.update(0, total);
      bar.update(total, total);
      bar.update(total, 1);
    }
    bar.finish();
    bar.finish();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace quern::cli
