// The text cleaning of BERT: what WordPiece sees as words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern {

// What is done to letters before they are split; both are on for uncased models.
struct BertNormalization {
  bool lowercase = true;
  bool strip_accents = true;
};

// Removes control characters and U+FFFD (so also what is no UTF-8), takes accents off, lowers
// letters, and splits at white space; each mark of punctuation and each CJK ideograph is a word.
std::vector<std::string> bert_words(std::string_view text, const BertNormalization& options);

}  // namespace quern
