// Splits a text into the words that BPE merges inside, by the rules of one model.
#pragma once

#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/pre_tokenizer_table.h"
#include "text/regex.h"

namespace quern {

// Thread-safe.
class PreTokenizer {
 public:
  // Errors: kInvalidArgument when a pattern does not compile.
  static Result<PreTokenizer> make(const PreTokenizerSpec& spec);

 private:
  friend class PreTokenizerSession;
  // A compiled SplitRule.
  struct Rule {
    Regex regex;
    SplitKind kind;
  };
  // In the order in which they split.
  std::vector<Rule> rules_;
};

// The buffers of one thread.
class PreTokenizerSession {
 public:
  // Borrows the programs, which it shares.
  explicit PreTokenizerSession(const PreTokenizer& pre_tokenizer);

  // Words in order; together they are the text. `text` must be valid UTF-8. The result is valid
  // until the next call.
  // Errors: kResourceExhausted when a search reaches its limit.
  Result<const std::vector<std::string_view>*> split(std::string_view text);

 private:
  // A Rule with its buffers.
  struct Rule {
    RegexMatcher matcher;
    SplitKind kind;
  };
  // Appends the pieces that one rule makes of a piece.
  Result<void> split_piece(Rule& rule, std::string_view piece);

  // Of one session.
  std::vector<Rule> rules_;
  // The result, and the pieces of the next rule; kept between calls.
  std::vector<std::string_view> words_;
  std::vector<std::string_view> next_;
};

}  // namespace quern
