// Each rule sees one piece at a time, so look-around does not reach over what an earlier rule cut.
#include "text/pre_tokenizer.h"

#include <utility>

namespace quern {
namespace {

// Cuts in groups of three characters from the end: 1 234 567.
void push_triples(std::string_view digits, std::vector<std::string_view>& words) {
  const auto is_lead = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  size_t rest = 0;
  for (const char c : digits) rest += is_lead(c);
  size_t begin = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (!is_lead(digits[i])) continue;
    if (rest % 3 == 0 && i > begin) {
      words.push_back(digits.substr(begin, i - begin));
      begin = i;
    }
    --rest;
  }
  words.push_back(digits.substr(begin));
}

}  // namespace

Result<PreTokenizer> PreTokenizer::make(const PreTokenizerSpec& spec) {
  PreTokenizer pre_tokenizer;
  for (const SplitRule& rule : spec.rules) {
    QUERN_ASSIGN_OR_RETURN(Regex regex, Regex::compile(rule.pattern));
    pre_tokenizer.rules_.push_back({std::move(regex), rule.kind});
  }
  return pre_tokenizer;
}

PreTokenizerSession::PreTokenizerSession(const PreTokenizer& pre_tokenizer) {
  for (const PreTokenizer::Rule& rule : pre_tokenizer.rules_) {
    rules_.push_back({RegexMatcher(rule.regex), rule.kind});
  }
}

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

Result<void> PreTokenizerSession::split_piece(Rule& rule, std::string_view piece) {
  size_t begin = 0;
  while (begin < piece.size()) {
    QUERN_ASSIGN_OR_RETURN(const RegexMatcher::Match match, rule.matcher.find(piece, begin));
    if (!match.found) break;
    if (match.begin > begin) next_.push_back(piece.substr(begin, match.begin - begin));
    const std::string_view word = piece.substr(match.begin, match.end - match.begin);
    if (rule.kind == SplitKind::kDigitTriples) {
      push_triples(word, next_);
    } else {
      next_.push_back(word);
    }
    begin = match.end;
  }
  if (begin < piece.size()) next_.push_back(piece.substr(begin));
  return {};
}

}  // namespace quern
