// Tests that each maker gives its code and a formatted message.
#include "base/fail.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace quern {
namespace {

// A wrong code changes an exit code.
// Exit codes and HTTP status follow from the code alone.
TEST(Fail, EachMakerHasItsCode) {
  EXPECT_EQ(fail::invalid("x").value().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(fail::not_found("x").value().code, ErrorCode::kNotFound);
  EXPECT_EQ(fail::out_of_range("x").value().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(fail::precondition("x").value().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(fail::data_loss("x").value().code, ErrorCode::kDataLoss);
  EXPECT_EQ(fail::exhausted("x").value().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(fail::unimplemented("x").value().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(fail::unavailable("x").value().code, ErrorCode::kUnavailable);
  EXPECT_EQ(fail::internal("x").value().code, ErrorCode::kInternal);
  EXPECT_EQ(fail::with(ErrorCode::kCancelled, "x").value().code, ErrorCode::kCancelled);
}

// Braces in values are not formats.
TEST(Fail, MessagesAreFormatted) {
  const std::string owner = "blk.3.attn_q.weight";
  const std::string_view type = "q4_K";
  // 0.25 to one digit is 0.2: fmt rounds half to even.
  EXPECT_EQ(fail::invalid("Tensor '{}' is {}; it has {} rows of {:.1f}.", owner, type,
                          int64_t{4096}, 0.25)
                .value()
                .message,
            "Tensor 'blk.3.attn_q.weight' is q4_K; it has 4096 rows of 0.2.");
  EXPECT_EQ(fail::internal("Braces {{}} and {:>4}|{:x}", 7U, 255).value().message,
            "Braces {} and    7|ff");
}

// Arguments may be temporaries, and text may hold braces of its own.
TEST(Fail, ArgumentsAreNotParsed) {
  EXPECT_EQ(fail::not_found("There is no '{}'.", std::string("{} {0} %s")).value().message,
            "There is no '{} {0} %s'.");
}

Result<int> refuse() {
  return fail::unavailable("File '{}' cannot be opened.", "a.bin");
}

// One expression in every function.
TEST(Fail, AMakerIsAResultOfAnyType) {
  const Result<int> result = refuse();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "File 'a.bin' cannot be opened.");
}

}  // namespace
}  // namespace quern
