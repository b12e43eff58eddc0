// Tests of Error, Result and the two macros that hand errors on.
#include "quern/error.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

namespace quern {
namespace {

constexpr ErrorCode kAllCodes[] = {
    ErrorCode::kInvalidArgument,    ErrorCode::kNotFound,    ErrorCode::kOutOfRange,
    ErrorCode::kFailedPrecondition, ErrorCode::kDataLoss,    ErrorCode::kResourceExhausted,
    ErrorCode::kUnimplemented,      ErrorCode::kUnavailable, ErrorCode::kCancelled,
    ErrorCode::kDeadlineExceeded,   ErrorCode::kInternal};

// Names are part of the JSON output.
// Different, lower case, no spaces; a code without a case in the switch would be "unknown".
TEST(Error, EachCodeHasAName) {
  std::set<std::string_view> names;
  for (const ErrorCode code : kAllCodes) {
    const std::string_view name = error_code_name(code);
    EXPECT_NE(name, "unknown");
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(error_code_name(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_EQ(error_code_name(static_cast<ErrorCode>(99)), "unknown");
}

// Read from the outside in.
TEST(Error, ContextStandsBeforeTheMessage) {
  const Error error{ErrorCode::kDataLoss, "The file ends early."};
  const Error with = error.with_context("While loading 'x.gguf'");
  EXPECT_EQ(with.message, "While loading 'x.gguf': The file ends early.");
  EXPECT_EQ(with.code, ErrorCode::kDataLoss);
  EXPECT_EQ(error.message, "The file ends early.");
  EXPECT_EQ(with.with_context("Node 'a'").message,
            "Node 'a': While loading 'x.gguf': The file ends early.");
}

// Counts its calls: a macro that evaluates its expression twice shows.
Result<int> half(int value, int& calls) {
  ++calls;
  if (value % 2 != 0) {
    return tl::unexpected(Error{ErrorCode::kInvalidArgument, std::to_string(value) + " is odd."});
  }
  return value / 2;
}

// Each macro in a function of another result type than the call inside.
Result<std::string> quarter_text(int value, int& calls) {
  QUERN_TRY(half(value, calls));
  QUERN_ASSIGN_OR_RETURN(const int first, half(value, calls));
  int second = 0;
  QUERN_ASSIGN_OR_RETURN(second, half(first, calls));
  return std::to_string(second);
}

// What the macros expand to.
// 12: three calls. 7 is odd at the first, 6 becomes 3 and fails at the last.
TEST(Result, TheFirstErrorEndsTheFunction) {
  int calls = 0;
  EXPECT_EQ(quarter_text(12, calls).value(), "3");
  EXPECT_EQ(calls, 3);
  calls = 0;
  const auto at_first = quarter_text(7, calls);
  ASSERT_FALSE(at_first);
  EXPECT_EQ(at_first.error().message, "7 is odd.");
  EXPECT_EQ(calls, 1);
  calls = 0;
  const auto at_last = quarter_text(6, calls);
  ASSERT_FALSE(at_last);
  EXPECT_EQ(at_last.error().message, "3 is odd.");
  EXPECT_EQ(calls, 3);
}

Result<std::unique_ptr<int>> make_owned(int value) {
  return std::make_unique<int>(value);
}

// In a loop: the macro's hidden variable must be fresh in each round.
Result<void> sum_owned(std::vector<int>& seen) {
  for (int i = 0; i < 3; ++i) {
    QUERN_ASSIGN_OR_RETURN(const std::unique_ptr<int> owned, make_owned(i));
    seen.push_back(*owned);
  }
  return {};
}

// No copies in between.
TEST(Result, ValuesThatOnlyMoveAreHandedOver) {
  std::vector<int> seen;
  EXPECT_TRUE(sum_owned(seen));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
}

// A result without a value.
TEST(Result, VoidHasAnErrorOrNothing) {
  Result<void> good;
  EXPECT_TRUE(good);
  const Result<void> bad = tl::unexpected(Error{ErrorCode::kCancelled, "Stopped."});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace quern
