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
  struct Rule {
    Regex regex;
    SplitKind kind;
  };
  std::vector<Rule> rules_;
};

// The buffers of one thread.
class PreTokenizerSession {
 public:
  explicit PreTokenizerSession(const PreTokenizer& pre_tokenizer);

  // Words in order; together they are the text. `text` must be valid UTF-8. The result is valid
  // until the next call.
  // Errors: kResourceExhausted when a search reaches its limit.
  Result<const std::vector<std::string_view>*> split(std::string_view text);

 private:
  struct Rule {
    RegexMatcher matcher;
    SplitKind kind;
  };
  Result<void> split_piece(Rule& rule, std::string_view piece);

  std::vector<Rule> rules_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> next_;
};

}  // namespace quern
