// Tests of lines from a pipe: continuation, blocks, the end of input; and of Ctrl-C at a terminal.
#include "cli/line_editor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

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

// A process that reads messages from a terminal and writes each as "<message>" to a pipe. Standard
// input and output of the reader are the terminal, as for a person.
class Typist {
 public:
  explicit Typist(const std::string& home) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    child_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      ::setenv("HOME", home.c_str(), 1);
      ::setenv("TERM", "dumb", 1);
      ::setenv("LC_ALL", "C", 1);
      {
        LineEditor editor;
        while (const auto message = editor.read("> ")) {
          const std::string text = "<" + *message + ">";
          if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
        }
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    messages_ = ends[0];
  }
  ~Typist() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(terminal_);
    ::close(messages_);
  }
  Typist(const Typist&) = delete;
  Typist& operator=(const Typist&) = delete;

  bool is_running() const { return child_ > 0; }
  // Waits until the terminal shows `prompt` behind what it showed before and takes single keys,
  // then types. False after ten seconds, and where the reader has gone.
  bool type_at(const std::string& prompt, const std::string& keys) {
    while (shown_.find(prompt) == std::string::npos) {
      pollfd waiting{terminal_, POLLIN, 0};
      char bytes[256];
      if (::poll(&waiting, 1, 10'000) != 1) return false;
      const ssize_t count = ::read(terminal_, bytes, sizeof(bytes));
      if (count <= 0) return false;
      shown_.append(bytes, static_cast<size_t>(count));
    }
    shown_.erase(0, shown_.find(prompt) + prompt.size());
    if (!takes_single_keys()) return false;
    return ::write(terminal_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size());
  }
  // All messages, once the reader has ended.
  std::string messages() const {
    std::string all;
    char bytes[256];
    ssize_t count = 0;
    while ((count = ::read(messages_, bytes, sizeof(bytes))) > 0) {
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  // The prompt comes before the reader switches the terminal over, and Ctrl-D in between would be
  // lost. False after ten seconds.
  bool takes_single_keys() const {
    for (int wait = 0; wait < 10'000; ++wait) {
      termios mode;
      if (::tcgetattr(terminal_, &mode) != 0) return false;
      if ((mode.c_lflag & ICANON) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  pid_t child_ = -1;
  int terminal_ = -1;
  int messages_ = -1;
  std::string shown_;
};

constexpr const char* kInterrupt = "\x03";
constexpr const char* kEndOfInput = "\x04";

// Neither what was typed of a continued message is sent, nor what was typed of a block.
TEST(LineEditorTerminal, AnInterruptDropsTheWholeMessage) {
  const test::TemporaryFolder home("line_editor");
  Typist typist(home.path());
  if (!typist.is_running()) GTEST_SKIP() << "Skipped: there is no pseudo terminal.";
  ASSERT_TRUE(typist.type_at("> ", "first\n"));
  ASSERT_TRUE(typist.type_at("> ", "drop me\\\n"));
  ASSERT_TRUE(typist.type_at("... ", "and me"));
  ASSERT_TRUE(typist.type_at("and me", kInterrupt));
  ASSERT_TRUE(typist.type_at("> ", "\"\"\"\n"));
  ASSERT_TRUE(typist.type_at("... ", "a block\n"));
  ASSERT_TRUE(typist.type_at("... ", kInterrupt));
  // At the first prompt there is nothing to drop.
  ASSERT_TRUE(typist.type_at("> ", kInterrupt));
  ASSERT_TRUE(typist.type_at("> ", "two\\\n"));
  ASSERT_TRUE(typist.type_at("... ", "lines\n"));
  ASSERT_TRUE(typist.type_at("> ", kEndOfInput));
  EXPECT_EQ(typist.messages(), "<first><two\nlines>");
}

// Whatever the locale of the machine.
TEST(LineEditorTerminal, AnyCharacterArrives) {
  const test::TemporaryFolder home("line_editor");
  Typist typist(home.path());
  if (!typist.is_running()) GTEST_SKIP() << "Skipped: there is no pseudo terminal.";
  ASSERT_TRUE(typist.type_at("> ", "caf\u00e9 \u65e5\u672c \U0001f600\n"));
  ASSERT_TRUE(typist.type_at("> ", kEndOfInput));
  EXPECT_EQ(typist.messages(), "<caf\u00e9 \u65e5\u672c \U0001f600>");
}

}  // namespace
}  // namespace quern::cli
