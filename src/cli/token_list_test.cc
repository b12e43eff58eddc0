// Tests of token ids on a command line.
#include "cli/token_list.h"

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

using Ids = std::vector<int32_t>;

// What other programs print is taken back.
TEST(TokenList, TakesTheUsualSeparators) {
  for (const auto* text : {"1,2,3", "1 2 3", "[1, 2, 3]", " 1,\t2\n3 ", "1, 2,3,", "[1][2][3]"}) {
    EXPECT_EQ(parse_token_list(text).value(), (Ids{1, 2, 3})) << text;
  }
}

// A number is missing there: a slip that would shift all positions.
TEST(TokenList, NothingBetweenTwoCommasIsAnError) {
  for (const auto* text : {"1,,2", "1, ,2", "1,2,,"}) {
    EXPECT_FALSE(parse_token_list(text)) << text;
  }
  EXPECT_EQ(parse_token_list("1,,2").error().message,
            "There is no token id between two commas after 1.");
}

// Whether that is an error, the command decides.
TEST(TokenList, NothingIsAnEmptyList) {
  for (const auto* text : {"", " ", ",", "[]", "[ , ]"}) {
    EXPECT_TRUE(parse_token_list(text)->empty()) << text;
  }
}

// And zeros in front mean nothing.
TEST(TokenList, TheLargestIdIsThatOf32Bits) {
  EXPECT_EQ(parse_token_list("0 2147483647").value(), (Ids{0, 2147483647}));
  EXPECT_EQ(parse_token_list("007").value(), Ids{7});
}

// The word, not the whole list.
TEST(TokenList, WhatIsNoIdIsNamed) {
  for (const auto* text : {"x", "1x", "-1", "+1", "2147483648", "1.5", "0x10", "1;2"}) {
    const auto ids = parse_token_list("5, " + std::string(text) + " 6");
    ASSERT_FALSE(ids) << text;
    EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(ids.error().message, "'" + std::string(text) + "' is not a token id.");
  }
}

}  // namespace
}  // namespace quern::cli
