// Tests of Ctrl-C: noted once while a guard lives, deadly otherwise.
#include "cli/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace quern::cli {
namespace {

// An answer ends, the program goes on.
TEST(InterruptGuard, NotesTheFirstInterrupt) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.was_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(guard.was_interrupted());
}

// The next answer must not end at once.
TEST(InterruptGuard, EachBeginsAnew) {
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
  }
  const InterruptGuard guard;
  EXPECT_FALSE(guard.was_interrupted());
}

// Whoever presses twice wants out, even of a loop that does not look.
TEST(InterruptGuardDeathTest, TheSecondEndsTheProgram) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

// The handler of before is back.
TEST(InterruptGuardDeathTest, WithoutAGuardItEndsTheProgram) {
  EXPECT_EXIT(
      {
        { const InterruptGuard guard; }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace quern::cli
