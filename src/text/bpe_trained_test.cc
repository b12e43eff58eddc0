// A byte-level BPE of 80 merges that the Rust library `tokenizers` 0.23 trained, with the tokens
// that it gives; and the definition of BPE itself on random merges.
#include <gtest/gtest.h>

#include <random>

#include "text/bpe_tokenizer.h"
#include "text/byte_alphabet.h"
#include "text/utf8.h"

namespace quern {
namespace {

constexpr const char* kMerges[] = {
    "h e",      "t he",  "Ġ the",   "Ġ i",    "e r",     "Ġ s",       "a Ã",   "f o",
    "i c",      "Ġ n",   "a f",     "b er",   "c af",    "d o",       "p s",   "u m",
    "v e",      "¯ ve",  "¼ ber",   "Ã ©",    "Ã ¼ber",  "Ġ +",       "Ġ o",   "Ġ fo",
    "Ġ caf",    "Ġ do",  "Ġ Ã¼ber", "the r",  "Ġi s",    "aÃ ¯ve",    "Ġn ic", "Ġfo x",
    "Ġcaf Ã©",  "Ġdo g", "1 0",     "a z",    "a ther",  "b r",       "d e",   "e e",
    "e ather",  "i n",   "i de",    "j um",   "l l",     "l az",      "l ee",  "n s",
    "n aÃ¯ve",  "o w",   "q u",     "r e",    "r u",     "r aÃ",      "t raÃ", "v er",
    "w eather", "Ġ (",   "Ġ 0",     "Ġ <",    "Ġ =",     "Ġ {",       "Ġ }",   "Ġ 10",
    "Ġ br",     "Ġ jum", "Ġ laz",   "Ġ qu",   "Ġ ru",    "Ġ weather", "Ł e",   "he ll",
    "Ġthe re",  "Ġs um", "Ġs ide",  "Ġs lee", "Ġs traÃ", "fo r",      "ic k",  "Ġn aÃ¯ve"};

// "Ġ t" → "Ġt". The search for the space begins at 1, as the left side has a letter at least.
// The text of the token that a merge makes.
std::string joined(std::string merge) {
  merge.erase(merge.find(' ', 1), 1);
  return merge;
}

// Two merges may make the same text; it is one token, so the ids are not 256 plus the merge's rank.
// All bytes, then what each merge makes.
Vocabulary vocabulary_with(const std::vector<std::string>& merges) {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = "gpt-2"};
  for (int b = 0; b < 256; ++b) {
    append_utf8(byte_to_letter(static_cast<uint8_t>(b)), v.tokens.emplace_back());
  }
  for (const std::string& merge : merges) {
    const std::string token = joined(merge);
    if (std::find(v.tokens.begin(), v.tokens.end(), token) == v.tokens.end()) {
      v.tokens.push_back(token);
    }
  }
  v.merges = merges;
  return v;
}

// The texts of the tokens, which are easier to read than ids.
std::vector<std::string> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.encode(text);
  EXPECT_TRUE(ids) << ids.error().message;
  std::vector<std::string> tokens;
  for (const int32_t id : *ids) tokens.emplace_back(tokenizer.token_text(id));
  return tokens;
}

// The merges are those that `tokenizers` trained on a few sentences; the tokens are what it gives.
TEST(TrainedBpe, GivesTheTokensOfHuggingFace) {
  struct Case {
    std::string text;
    std::vector<std::string> tokens;
  };
  const std::vector<Case> cases = {
      {"", {}},
      {"the", {"the"}},
      {"The", {"T", "he"}},
      {"the the", {"the", "Ġthe"}},
      {"other weather", {"o", "ther", "Ġweather"}},
      {"hello there", {"hell", "o", "Ġthere"}},
      {"foxes jump", {"fo", "x", "e", "s", "Ġjum", "p"}},
      // The last of the leading spaces goes with the word; the two at the end are a word that no
      // merge joins.
      {"  the  ", {"Ġ", "Ġthe", "Ġ", "Ġ"}},
      {"naïve café", {"naÃ¯ve", "ĠcafÃ©"}},
      {"über", {"Ã¼ber"}},
      // Ã and Ł are the two bytes of ß (C3 9F), which come to stand in different tokens.
      {"straße!", {"s", "traÃ", "Łe", "!"}},
      {"sum += i;", {"s", "um", "Ġ+", "=", "Ġi", ";"}},
      {"for(int)", {"for", "(", "in", "t", ")"}},
      // Three bytes for each character, and no merge for any two of them.
      {"日本", {"æ", "Ĺ", "¥", "æ", "ľ", "¬"}},
      {"dog.", {"do", "g", "."}},
      {"nicer nice", {"n", "ic", "er", "Ġnic", "e"}},
      {"zzz", {"z", "z", "z"}},
      {"a\nb", {"a", "Ċ", "b"}},
      {"the\tquick", {"the", "ĉ", "qu", "ick"}},
      // "h e" joins first and "t he" after it; there is no "t h".
      {"ththth", {"t", "h", "t", "h", "t", "h"}},
      {"overover", {"o", "ver", "o", "ver"}},
      // The merge "1 0" needs its digits side by side.
      {"1234567890", {"1", "2", "3", "4", "5", "6", "7", "8", "9", "0"}},
      {"'s it's", {"'", "s", "Ġi", "t", "'", "s"}},
      {"éé", {"Ã©", "Ã©"}},
      {"lazy-dog", {"laz", "y", "-", "do", "g"}},
      {"nice", {"n", "ic", "e"}},
      {"is is is is", {"i", "s", "Ġis", "Ġis", "Ġis"}},
  };
  const auto tokenizer = make_tokenizer(vocabulary_with({std::begin(kMerges), std::end(kMerges)}));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  for (const Case& test : cases) {
    EXPECT_EQ(tokens_of(**tokenizer, test.text), test.tokens) << test.text;
    EXPECT_EQ((*tokenizer)->decode(*(*tokenizer)->encode(test.text)), test.text);
  }
}

// The rank is a search through the list, which no table or heap can spoil.
// The definition: of all neighbours that a merge joins, the earliest merge first, leftmost first.
std::vector<std::string> merged_naively(std::string_view word,
                                        const std::vector<std::string>& merges) {
  std::vector<std::string> parts;
  for (const char c : word) parts.emplace_back(1, c);
  while (true) {
    size_t best = merges.size();
    size_t at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = std::find(merges.begin(), merges.end(), parts[i] + " " + parts[i + 1]);
      const auto rank = static_cast<size_t>(found - merges.begin());
      if (rank < best) {
        best = rank;
        at = i;
      }
    }
    if (best == merges.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

// The definition joins the best pair of the whole word again and again, which is slow and plain.
TEST(TrainedBpe, RandomMergesGiveWhatTheDefinitionGives) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> pieces = {"a", "b", "c"};
    std::vector<std::string> merges;
    // Each side is a letter or what an earlier merge made, so all merges can happen. Three letters
    // and pieces of up to six make words in which many merges compete for the same letters.
    for (int i = 0; i < 12; ++i) {
      const std::string& left = pieces[random() % pieces.size()];
      const std::string& right = pieces[random() % pieces.size()];
      const std::string merge = left + " " + right;
      if (left.size() + right.size() > 6) continue;
      if (std::find(merges.begin(), merges.end(), merge) != merges.end()) continue;
      merges.push_back(merge);
      pieces.push_back(left + right);
    }
    const auto tokenizer = make_tokenizer(vocabulary_with(merges));
    ASSERT_TRUE(tokenizer);
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (uint32_t size = random() % 24; size > 0; --size) word += "abc"[random() % 3];
      ASSERT_EQ(tokens_of(**tokenizer, word), merged_naively(word, merges)) << word;
    }
  }
}

}  // namespace
}  // namespace quern
