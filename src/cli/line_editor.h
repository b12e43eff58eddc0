// Lines from a terminal with editing and history, or from a pipe.
#pragma once

#include <optional>
#include <string>

namespace quern::cli {

// Keeps its history in a file of the user between runs. One at a time.
class LineEditor {
 public:
  // Reads the history.
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next message, or nothing at the end of input. A line that ends in a backslash goes on in
  // the next; a line of three quotes begins and ends a block. Ctrl-C at a terminal drops all lines
  // of the message so far and begins anew.
  std::optional<std::string> read(const std::string& prompt);

 private:
  // One message; meaningless where is_dropped_ is set afterwards.
  std::optional<std::string> read_message(const std::string& prompt);
  // Without its line break; nothing at the end of the input and after Ctrl-C, which sets
  // is_dropped_.
  std::optional<std::string> read_line(const std::string& prompt);
  bool is_terminal_;
  bool is_dropped_ = false;
  std::string history_file_;
};

}  // namespace quern::cli
