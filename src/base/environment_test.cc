// Tests that the environment is read at the call and never assumed.
#include "base/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace quern {
namespace {

// Puts HOME back at the end of a test.
class EnvironmentTest : public testing::Test {
 protected:
  ~EnvironmentTest() override { ::setenv("HOME", before_.c_str(), 1); }
  const std::string before_ = read_environment().home;
};

TEST_F(EnvironmentTest, HomeIsTheVariable) {
  ASSERT_EQ(::setenv("HOME", "/somewhere else", 1), 0);
  EXPECT_EQ(read_environment().home, "/somewhere else");
}

TEST_F(EnvironmentTest, WithoutHomeItIsTheCurrentFolder) {
  ASSERT_EQ(::unsetenv("HOME"), 0);
  EXPECT_EQ(read_environment().home, ".");
}

TEST_F(EnvironmentTest, EachCallLooksAgain) {
  ASSERT_EQ(::setenv("HOME", "/a", 1), 0);
  const Environment first = read_environment();
  ASSERT_EQ(::setenv("HOME", "/b", 1), 0);
  EXPECT_EQ(read_environment().home, "/b");
  EXPECT_EQ(first.home, "/a");
}

}  // namespace
}  // namespace quern
