// Tests of lines from a pipe: continuation, blocks, the end of input.
#include "cli/line_editor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <vector>

namespace quern::cli {
namespace {

// All messages of an input, read as from a pipe.
std::vector<std::string> messages(const std::string& input) {
  std::istringstream stream(input);
  std::streambuf* before = std::cin.rdbuf(stream.rdbuf());
  std::cin.clear();
  std::vector<std::string> all;
  {
    LineEditor editor;
    while (const auto message = editor.read("> ")) all.push_back(*message);
  }
  std::cin.rdbuf(before);
  std::cin.clear();
  return all;
}

// Reads from a stream in place of standard input.
class LineEditorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::isatty(STDIN_FILENO) == 1) GTEST_SKIP() << "Skipped: standard input is a terminal here.";
  }
};

using Messages = std::vector<std::string>;

// Empty lines are messages too.
TEST_F(LineEditorTest, ALineIsAMessage) {
  EXPECT_EQ(messages("one\ntwo\n\nthree"), (Messages{"one", "two", "", "three"}));
  EXPECT_EQ(messages(""), Messages{});
  EXPECT_EQ(messages("\n"), Messages{""});
}

// The line break stays in the message.
TEST_F(LineEditorTest, ABackslashGoesOnInTheNextLine) {
  EXPECT_EQ(messages("one\\\ntwo\\\nthree\nfour"), (Messages{"one\ntwo\nthree", "four"}));
  EXPECT_EQ(messages("\\\n\\\nx"), Messages{"\n\nx"});
  EXPECT_EQ(messages("cut off\\"), Messages{"cut off\n"});
}

// Backslashes inside mean nothing.
TEST_F(LineEditorTest, ThreeQuotesHoldABlock) {
  EXPECT_EQ(messages("\"\"\"\none\n\ntwo\\\n\"\"\"\nthree"), (Messages{"one\n\ntwo\\\n", "three"}));
  EXPECT_EQ(messages("\"\"\"\nnever closed"), Messages{"never closed\n"});
  EXPECT_EQ(messages("\"\"\"\n\"\"\"\n"), Messages{""});
}

}  // namespace
}  // namespace quern::cli
