// Stop strings across pieces: nothing of one is ever shown, and cuts do not matter.
#include "generate/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace quern {
namespace {

// Tokens cut stop strings anywhere.
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

// Whatever the order of the list.
TEST(StopMatcher, EarliestMatchWins) {
  StopMatcher stops({"bc", "b"});
  EXPECT_EQ(stops.push("abcd"), "a");
  EXPECT_TRUE(stops.has_stopped());
}

// It was no stop string after all.
TEST(StopMatcher, HeldTextComesOutAtTheEnd) {
  StopMatcher stops({"aab"});
  EXPECT_EQ(stops.push("aaa"), "a");
  EXPECT_EQ(stops.flush(), "aa");
  EXPECT_EQ(stops.flush(), "");
  EXPECT_FALSE(stops.has_stopped());
}

// Empty stop strings would match everywhere.
TEST(StopMatcher, NoStopsPassesEverything) {
  StopMatcher stops({""});
  EXPECT_EQ(stops.push("abc"), "abc");
  EXPECT_EQ(stops.push(""), "");
  StopMatcher none({});
  EXPECT_EQ(none.push("abc"), "abc");
}

// There is no begin of it to hold.
TEST(StopMatcher, AStopOfOneByteHoldsNothing) {
  StopMatcher stops({"."});
  EXPECT_EQ(stops.push("one"), "one");
  EXPECT_EQ(stops.push(" two."), " two");
  EXPECT_TRUE(stops.has_stopped());
}

// Of all stop strings together.
TEST(StopMatcher, TheLongestPossibleBeginIsHeld) {
  StopMatcher stops({"bcd", "abcde"});
  EXPECT_EQ(stops.push("xxabc"), "xx");  // "abc" may begin the second, "bc" the first
  EXPECT_EQ(stops.push("x"), "abcx");
}

// What a stream that is read byte by byte shows: it ends where the first stop string is complete.
std::string shown_by_definition(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 0; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

// Random stop strings and texts over three letters, so that they meet often.
TEST(StopMatcher, CutsDoNotMatter) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const auto word = [&](size_t least, size_t most) {
      std::string text(least + random() % (most - least + 1), ' ');
      for (char& c : text) c = static_cast<char>('a' + random() % 3);
      return text;
    };
    std::vector<std::string> stops(1 + random() % 3);
    for (std::string& stop : stops) stop = word(1, 4);
    const std::string text = word(0, 24);
    StopMatcher matcher(stops);
    std::string shown;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % 6;
      shown += matcher.push(text.substr(at, length));
      at += length;
    }
    shown += matcher.flush();
    std::string listed;
    for (const std::string& stop : stops) listed += stop + " ";
    EXPECT_EQ(shown, shown_by_definition(text, stops)) << text << ", stops " << listed;
  }
}

// What is shown before the end is never taken back, whatever follows.
TEST(StopMatcher, ShownTextNeverBeginsAStop) {
  const std::vector<std::string> stops = {"abab", "ba"};
  StopMatcher matcher(stops);
  std::string shown;
  for (const char c : std::string("aabaab")) {
    shown += matcher.push(std::string_view(&c, 1));
    for (const std::string& stop : stops) EXPECT_EQ(shown.find(stop), std::string::npos);
  }
  EXPECT_EQ(shown, "aa");
  EXPECT_TRUE(matcher.has_stopped());
}

}  // namespace
}  // namespace quern
