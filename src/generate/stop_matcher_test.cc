#include "generate/stop_matcher.h"

#include <gtest/gtest.h>

namespace quern {
namespace {

TEST(StopMatcher, MatchAcrossPiecesIsNeverShown) {
  StopMatcher stops({"END", "\n\n"});
  EXPECT_EQ(stops.push("one E"), "one ");
  EXPECT_EQ(stops.push("N"), "");
  EXPECT_EQ(stops.push("x E"), "ENx ");
  EXPECT_EQ(stops.push("ND tail"), "");
  EXPECT_TRUE(stops.has_stopped());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.flush(), "");
}

TEST(StopMatcher, EarliestMatchWins) {
  StopMatcher stops({"bc", "b"});
  EXPECT_EQ(stops.push("abcd"), "a");
  EXPECT_TRUE(stops.has_stopped());
}

TEST(StopMatcher, HeldTextComesOutAtTheEnd) {
  StopMatcher stops({"aab"});
  EXPECT_EQ(stops.push("aaa"), "a");
  EXPECT_EQ(stops.flush(), "aa");
  EXPECT_FALSE(stops.has_stopped());
}

TEST(StopMatcher, NoStopsPassesEverything) {
  StopMatcher stops({""});
  EXPECT_EQ(stops.push("abc"), "abc");
}

}  // namespace
}  // namespace quern
