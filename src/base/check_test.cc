// Tests that a failed check ends the process and says where, and that a passed one costs nothing.
#include "base/check.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

// All that a report of a crash has.
// The line number is any: it moves with the file.
TEST(CheckDeathTest, AFailedCheckNamesConditionAndPlace) {
  const int rows = 3;
  EXPECT_DEATH(QUERN_CHECK(rows == 4), "check_test.cc:[0-9]+: Internal check failed: rows == 4");
}

// It may have effects.
TEST(Check, AConditionIsEvaluatedOnce) {
  int calls = 0;
  QUERN_CHECK(++calls == 1);
  EXPECT_EQ(calls, 1);
}

// It is an expression, so that it can stand in an `if` without braces.
TEST(Check, ItIsOneStatement) {
  int taken = 0;
  if (taken == 0)
    QUERN_CHECK(true);
  else
    taken = 1;
  EXPECT_EQ(taken, 0);
}

// Their conditions are not even evaluated.
TEST(CheckDeathTest, DebugChecksCostNothingInARelease) {
  // A side effect tells whether the condition ran.
  int calls = 0;
#ifdef NDEBUG
  QUERN_DCHECK(++calls == 7);
  EXPECT_EQ(calls, 0);
#else
  QUERN_DCHECK(++calls == 1);
  EXPECT_EQ(calls, 1);
  EXPECT_DEATH(QUERN_DCHECK(calls == 7), "calls == 7");
#endif
}

}  // namespace
}  // namespace quern
