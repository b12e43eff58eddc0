// Each rule sees one piece at a time, so look-around does not reach over what an earlier rule cut.
#include "text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

// The first byte of each full group of three characters, counted from the end: 1 234 567.
template <class Use>
void for_each_triple(std::string_view digits, const Use& use) {
  const auto is_lead = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  size_t rest = static_cast<size_t>(std::count_if(digits.begin(), digits.end(), is_lead));
  for (size_t i = 0; i < digits.size(); ++i) {
    if (!is_lead(digits[i])) continue;
    // `rest` characters are left, this one included: a group of three begins where it is a
    // multiple.
    if (rest % 3 == 0) use(i);
    --rest;
  }
}

}  // namespace

// Errors: of the regular expressions, with their pattern; those of the table all compile.
Result<PreTokenizer> PreTokenizer::make(const PreTokenizerSpec& spec) {
  PreTokenizer pre_tokenizer;
  for (const SplitRule& rule : spec.rules) {
    QUERN_ASSIGN_OR_RETURN(Regex regex, Regex::compile(rule.pattern));
    pre_tokenizer.rules_.push_back({std::move(regex), rule.kind});
  }
  return pre_tokenizer;
}

// Match buffers of its own: sessions of one pre-tokenizer may run in different threads.
PreTokenizerSession::PreTokenizerSession(const PreTokenizer& pre_tokenizer) {
  for (const PreTokenizer::Rule& rule : pre_tokenizer.rules_) {
    rules_.push_back({RegexMatcher(rule.regex), rule.kind});
  }
}

// Each rule splits the pieces that the one before gave.
Result<const std::vector<std::string_view>*> PreTokenizerSession::split(std::string_view text) {
  words_.clear();
  if (!text.empty()) words_.push_back(text);
  for (Rule& rule : rules_) {
    next_.clear();
    for (const std::string_view piece : words_) QUERN_TRY(split_piece(rule, piece));
    std::swap(words_, next_);
  }
  return &words_;
}

// What the rule does not match is a piece too, or is not, as its kind says.
Result<void> PreTokenizerSession::split_piece(Rule& rule, std::string_view piece) {
  size_t begin = 0;  // of what is not yet in a word
  const auto cut = [&](size_t at) {
    if (at > begin) next_.push_back(piece.substr(begin, at - begin));
    begin = at;
  };
  for (size_t from = 0; from < piece.size();) {
    QUERN_ASSIGN_OR_RETURN(const RegexMatcher::Match match, rule.matcher.find(piece, from));
    // What follows the last match is cut off as one piece below.
    if (!match.found) break;
    from = match.end;
    if (rule.kind != SplitKind::kTripleCuts) cut(match.begin);
    if (rule.kind != SplitKind::kMatches) {
      for_each_triple(piece.substr(match.begin, match.end - match.begin),
                      [&](size_t at) { cut(match.begin + at); });
    }
    if (rule.kind != SplitKind::kTripleCuts) cut(match.end);
  }
  cut(piece.size());
  return {};
}

}  // namespace quern
