#include "text/text_index.h"

#include <gtest/gtest.h>

#include <string>

namespace quern {
namespace {

// The number makes each key unlike the others; the x before it makes lengths from 1 to 26 and many
// keys that begin alike. Each key with a y behind it is one that was never inserted.
TEST(TextIndex, FindsWhatWasInsertedAndNothingElse) {
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back(std::string(i % 23, 'x') + std::to_string(i));
  TextIndex index;  // grows from nothing
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(index.insert(keys[i], i), i);
  EXPECT_EQ(index.size(), 10'000U);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(index.find(keys[i]), i);
    ASSERT_EQ(index.find(keys[i] + "y"), -1);
  }
  EXPECT_EQ(index.find(""), -1);
}

// insert() tells which id the key has, so a caller sees that it was there.
TEST(TextIndex, TheFirstOfEqualKeysStays) {
  TextIndex index(4);
  EXPECT_EQ(index.insert("a", 7), 7);
  EXPECT_EQ(index.insert("a", 8), 7);
  EXPECT_EQ(index.find("a"), 7);
  EXPECT_EQ(index.size(), 1U);
}

// Keys are bytes with a length and not C strings, by whose measure all three would be equal.
TEST(TextIndex, KeysMayBeEmptyOrHoldZeros) {
  const std::string zero(1, '\0');
  const std::string two_zeros(2, '\0');
  TextIndex index;
  index.insert("", 0);
  index.insert(zero, 1);
  index.insert(two_zeros, 2);
  EXPECT_EQ(index.find(""), 0);
  EXPECT_EQ(index.find(zero), 1);
  EXPECT_EQ(index.find(two_zeros), 2);
}

}  // namespace
}  // namespace quern
