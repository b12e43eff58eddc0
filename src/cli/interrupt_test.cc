// Tests of Ctrl-C: noted once while a guard lives, deadly otherwise.
#include "cli/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace quern::cli {
namespace {

TEST(InterruptGuard, NotesTheFirstInterrupt) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.was_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(guard.was_interrupted());
}

TEST(InterruptGuard, EachBeginsAnew) {
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
  }
  const InterruptGuard guard;
  EXPECT_FALSE(guard.was_interrupted());
}

TEST(InterruptGuardDeathTest, TheSecondEndsTheProgram) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

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
