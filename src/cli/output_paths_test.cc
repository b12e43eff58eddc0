// Two outputs in one file are refused, however its path is written.
#include "cli/output_paths.h"

#include <gtest/gtest.h>

namespace quern::cli {
namespace {

TEST(OutputPaths, OneFileIsRefused) {
  for (const auto& paths : std::vector<std::vector<std::string>>{
           {"y.npy", "y.npy"}, {"y.npy", "./y.npy"}, {"", "a", "b/../a"}, {"/x//y", "/x/y"}}) {
    const auto checked = check_distinct(paths);
    ASSERT_FALSE(checked) << paths.back();
    EXPECT_EQ(checked.error().message, "Two outputs would be written to '" + paths.back() + "'.");
  }
}

// Outputs that nobody asked for are no file.
TEST(OutputPaths, OthersAreNot) {
  EXPECT_TRUE(check_distinct({}));
  EXPECT_TRUE(check_distinct({"", "", "y"}));
  EXPECT_TRUE(check_distinct({"y.npy", "x/y.npy", "Y.npy"}));
}

}  // namespace
}  // namespace quern::cli
