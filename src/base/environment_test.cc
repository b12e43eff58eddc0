// Tests that the environment is read at the call and never assumed.
#include "base/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {
namespace {

// The variable's value, from the process's own list.
// Not getenv: the code under test is the only place that may call it.
std::optional<std::string> value_of(const std::string& name) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (text.starts_with(name + "=")) return std::string(text.substr(name.size() + 1));
  }
  return std::nullopt;
}

// Puts the variables back at the end of a test.
class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() {
    for (const char* name : {"HOME", "QUERN_CACHE", "XDG_CACHE_HOME"}) {
      before_.emplace_back(name, value_of(name));
    }
  }
  ~EnvironmentTest() override {
    for (const auto& [name, value] : before_) {
      if (value) ::setenv(name.c_str(), value->c_str(), 1);
      if (!value) ::unsetenv(name.c_str());
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

// Not the password file.
TEST_F(EnvironmentTest, HomeIsTheVariable) {
  ASSERT_EQ(::setenv("HOME", "/somewhere else", 1), 0);
  EXPECT_EQ(read_environment().home, "/somewhere else");
}

// Containers may have none.
TEST_F(EnvironmentTest, WithoutHomeItIsTheCurrentFolder) {
  ASSERT_EQ(::unsetenv("HOME"), 0);
  EXPECT_EQ(read_environment().home, ".");
}

// Tests and callers change variables.
TEST_F(EnvironmentTest, EachCallLooksAgain) {
  ASSERT_EQ(::setenv("HOME", "/a", 1), 0);
  const Environment first = read_environment();
  ASSERT_EQ(::setenv("HOME", "/b", 1), 0);
  EXPECT_EQ(read_environment().home, "/b");
  EXPECT_EQ(first.home, "/a");
}

// QUERN_CACHE, else quern in XDG_CACHE_HOME, else in the home's own cache.
// Each variable is taken away in turn, so that the next in rank must show.
TEST_F(EnvironmentTest, TheCacheIsFoundInThreePlaces) {
  ::setenv("HOME", "/home/me", 1);
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  ::setenv("QUERN_CACHE", "/q", 1);
  EXPECT_EQ(read_environment().cache_folder, "/q");
  ::unsetenv("QUERN_CACHE");
  EXPECT_EQ(read_environment().cache_folder, "/caches/quern");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(read_environment().cache_folder, "/home/me/.cache/quern");
  ::unsetenv("HOME");
  EXPECT_EQ(read_environment().cache_folder, "./.cache/quern");
}

}  // namespace
}  // namespace quern
