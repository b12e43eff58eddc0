// A cursor over one line of the text form, for the parsers of graphs and of fused programs.
#pragma once

#include <string>
#include <string_view>

#include "quern/graph.h"

namespace quern {

// What names of nodes, operations and devices are made of: letters, digits and "_.:-/". Names from
// ONNX and GGUF files need the last four.
bool is_name_char(char c);

// Errors name line and column. Borrows the text; one thread only.
class TextCursor {
 public:
  TextCursor(std::string_view text, int number) : text_(text), number_(number) {}

  void skip_spaces();
  // True at the end of the line and where a comment begins with '#'.
  bool is_end();
  // Steps over `token` where it stands next, blanks before it skipped.
  // Compares bytes only: accept("true") also steps over the beginning of "trueish".
  bool accept(std::string_view token);
  // The same where the token is the whole next word: a blank, a sign or the end stands behind it.
  bool accept_word(std::string_view word);
  Result<void> expect(std::string_view token);
  // Letters, digits and "_.:-/".
  Result<std::string> name();
  // true, false, 12, 1.5, inf, nan, "text", [1, 2] or f[1.5, 2]: one value of a kind that the text
  // alone decides. Numbers of a word past 64 bits become doubles.
  Result<AttributeValue> attribute_value();
  // "{name = value, ...}", or nothing at all.
  Result<Attributes> attributes();
  // A type up to its ']', with an '@layout' where there is one.
  Result<std::string> type_text();
  // The error `what` at this place.
  tl::unexpected<Error> error(std::string_view what) const;

 private:
  Result<std::string> quoted_text();
  Result<AttributeValue> number();
  template <class T>
  Result<AttributeValue> list();

  std::string_view text_;
  int number_;
  size_t at_ = 0;
};

}  // namespace quern
