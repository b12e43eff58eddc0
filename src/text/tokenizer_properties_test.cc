// Properties of the parts of tokenizers on random input, each against a plain search.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "text/merge_table.h"
#include "text/special_splitter.h"
#include "text/stream_decoder.h"
#include "text/text_index.h"
#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/well_known_tokens_table.h"

namespace quern {
namespace {

// Up to `max_size` of the letters.
std::string random_text(std::mt19937& random, std::string_view letters, uint32_t max_size) {
  std::string text;
  for (uint32_t size = random() % (max_size + 1); size > 0; --size) {
    text += letters[random() % letters.size()];
  }
  return text;
}

// 4096 possible pairs and 2000 draws: about a fifth of the draws repeat a pair, of which the first
// must stay, and about 60 % of the pairs are absent and must not be found.
// Random pairs, among them many that collide.
TEST(MergeTable, FindsWhatAMapFinds) {
  std::mt19937 random(1);
  MergeTable table(2000);
  std::map<std::pair<int32_t, int32_t>, int32_t> model;
  for (int32_t i = 0; i < 2000; ++i) {
    const auto left = static_cast<int32_t>(random() % 64);
    const auto right = static_cast<int32_t>(random() % 64);
    table.insert(left, right, {static_cast<uint32_t>(i), i});
    model.emplace(std::pair(left, right), i);
  }
  for (int32_t left = 0; left < 64; ++left) {
    for (int32_t right = 0; right < 64; ++right) {
      const Merge* merge = table.find(left, right);
      const auto expected = model.find({left, right});
      ASSERT_EQ(merge != nullptr, expected != model.end());
      if (merge != nullptr) {
        EXPECT_EQ(merge->merged, expected->second);
      }
    }
  }
}

// The pair of -1 and -1 has all bits set, which is also how an empty slot might be marked.
// Characters without a token have the id -1; two of them do not join.
TEST(MergeTable, UnknownSymbolsDoNotJoin) {
  for (const size_t size : {0U, 1U, 100U}) {
    MergeTable table(size);
    if (size > 0) table.insert(1, 2, {0, 3});
    EXPECT_EQ(table.find(-1, -1), nullptr);
    EXPECT_EQ(table.find(-1, 2), nullptr);
    EXPECT_EQ(table.find(1, -1), nullptr);
  }
}

// They once became one: an empty slot looked like their merge.
TEST(TextMerges, EachUnknownCharacterIsOneUnknownToken) {
  Vocabulary v{
      .model = "gemma4",
      .tokens = {"<unk>", "a", "b", "ab"},
      .types = {TokenType::kUnknown, TokenType::kNormal, TokenType::kNormal, TokenType::kNormal},
      .merges = {"a b"}};
  v.special.unk = 0;
  v.add_bos = false;
  const auto tokenizer = make_tokenizer(v);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(*(*tokenizer)->encode("xyabz"), (std::vector<int32_t>{0, 0, 3, 0}));
  EXPECT_EQ(*(*tokenizer)->encode("xxxx"), (std::vector<int32_t>{0, 0, 0, 0}));
}

// Against a map of the standard library.
TEST(TextIndex, GrowsFromAnySizeAndFindsEachKey) {
  for (const size_t room : {0U, 1U, 12U, 1000U}) {
    std::vector<std::string> keys;
    for (int i = 0; i < 3000; ++i) keys.push_back(std::string(i % 23, 'k') + std::to_string(i));
    TextIndex index(room);
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(index.find(keys[i]), -1);
      EXPECT_EQ(index.insert(keys[i], static_cast<int32_t>(i)), static_cast<int32_t>(i));
    }
    EXPECT_EQ(index.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(index.find(keys[i]), static_cast<int32_t>(i));
      ASSERT_EQ(index.find(keys[i] + "x"), -1);
    }
  }
}

// Leftmost first, then longest, by trying every token at every place.
std::vector<int32_t> split_naively(const std::vector<std::string>& tokens, std::string_view text) {
  std::vector<int32_t> ids;
  bool in_text = false;
  while (!text.empty()) {
    int32_t best = kNoToken;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const bool is_longer =
          best == kNoToken || tokens[i].size() > tokens[static_cast<size_t>(best)].size();
      if (text.starts_with(tokens[i]) && is_longer) best = static_cast<int32_t>(i);
    }
    if (best == kNoToken && !in_text) ids.push_back(kNoToken);
    in_text = best == kNoToken;
    if (best != kNoToken) ids.push_back(best);
    text.remove_prefix(best == kNoToken ? 1 : tokens[static_cast<size_t>(best)].size());
  }
  return ids;
}

// Five letters of marks and the < at the end of each token make tokens that begin and overlap
// others; some of the six may be equal, of which the first counts.
// Random tokens that begin alike, in random texts.
TEST(SpecialSplitter, AgreesWithAPlainSearch) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    Vocabulary v{.model = "gpt2"};
    for (int i = 0; i < 6; ++i) v.tokens.push_back(random_text(random, "<|ab>", 4) + "<");
    v.types.assign(v.tokens.size(), TokenType::kControl);
    const std::vector<std::string> tokens = v.tokens;
    const Vocabulary hints = v;
    const auto table = TokenTable::make(v);
    ASSERT_TRUE(table);
    const SpecialSplitter splitter(*table, hints);
    const std::string text = random_text(random, "<|ab>", 40);
    std::vector<int32_t> ids;
    std::string whole;
    for (const TextPart& part : splitter.split(text, true)) {
      EXPECT_FALSE(part.text.empty());
      ids.push_back(part.id);
      whole += part.text;
    }
    EXPECT_EQ(ids, split_naively(tokens, text)) << text;
    EXPECT_EQ(whole, text);
    EXPECT_EQ(splitter.split(text, false).size(), text.empty() ? 0U : 1U);
  }
}

// The best sum of scores by trying every segmentation.
double best_sum(std::string_view text, const std::map<std::string, float, std::less<>>& scores) {
  std::vector<double> best(text.size() + 1, -INFINITY);
  best[0] = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    for (size_t begin = 0; begin < end; ++begin) {
      const auto piece = scores.find(text.substr(begin, end - begin));
      if (piece != scores.end()) best[end] = std::max(best[end], best[begin] + piece->second);
    }
  }
  return best[text.size()];
}

// Each single letter is a piece, so every text has a cover. Scores are multiples of 1/8, so
// sums are exact in binary and EXPECT_EQ on doubles is fair.
// Against all ways to cut a short text.
TEST(Unigram, FindsTheBestSumOfRandomVocabularies) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, float, std::less<>> scores = {{"a", -4.0F}, {"b", -4.5F}, {"c", -5.0F}};
    for (int i = 0; i < 10; ++i) {
      const std::string piece = random_text(random, "abc", 4);
      if (!piece.empty()) scores.emplace(piece, -static_cast<float>(random() % 64) / 8);
    }
    Vocabulary v{.model = "t5",
                 .tokens = {"<pad>", "</s>", "<unk>"},
                 .scores = {0, 0, 0},
                 .types = {TokenType::kControl, TokenType::kControl, TokenType::kUnknown}};
    for (const auto& [text, score] : scores) {
      v.tokens.push_back(text);
      v.scores.push_back(score);
      v.types.push_back(TokenType::kNormal);
    }
    v.add_eos = false;
    v.add_space_prefix = false;
    const auto tokenizer = make_tokenizer(v);
    ASSERT_TRUE(tokenizer);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, "abc", 20);
      const auto ids = (*tokenizer)->encode(text);
      ASSERT_TRUE(ids);
      double sum = 0;
      for (const int32_t id : *ids) {
        sum += scores.find((*tokenizer)->token_text(id))->second;
      }
      EXPECT_EQ(sum, best_sum(text, scores)) << text;
      EXPECT_EQ((*tokenizer)->decode(*ids), text);
    }
  }
}

// SentencePiece's BPE by its definition: join the neighbours whose text is the token of the highest
// score, leftmost first.
std::vector<std::string> joined_naively(std::string_view text,
                                        const std::map<std::string, float>& scores) {
  std::vector<std::string> parts;
  for (const char c : text) parts.emplace_back(1, c);
  while (true) {
    size_t at = parts.size();
    float best = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = scores.find(parts[i] + parts[i + 1]);
      if (found == scores.end() || (at < parts.size() && found->second <= best)) continue;
      at = i;
      best = found->second;
    }
    if (at == parts.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

// Eight scores for up to twelve pieces make many equal ones, where the left pair must win.
// The definition joins the best neighbours until none is left.
TEST(SentencePiece, JoinsAsTheDefinitionOnRandomScores) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, float> scores = {{"a", -10}, {"b", -11}, {"c", -12}};
    for (int i = 0; i < 12; ++i) {
      const std::string piece = random_text(random, "abc", 4);
      if (piece.size() > 1) scores.emplace(piece, static_cast<float>(random() % 8));
    }
    Vocabulary v{.model = "llama", .tokens = {"<unk>", "<s>", "</s>"}, .scores = {0, 0, 0}};
    v.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl};
    for (const auto& [text, score] : scores) {
      v.tokens.push_back(text);
      v.scores.push_back(score);
      v.types.push_back(TokenType::kNormal);
    }
    v.add_bos = false;
    v.add_space_prefix = false;
    const auto tokenizer = make_tokenizer(v);
    ASSERT_TRUE(tokenizer);
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, "abc", 24);
      const auto ids = (*tokenizer)->encode(text);
      ASSERT_TRUE(ids);
      std::vector<std::string> parts;
      for (const int32_t id : *ids) parts.emplace_back((*tokenizer)->token_text(id));
      ASSERT_EQ(parts, joined_naively(text, scores)) << text;
    }
  }
}

// A row that no token could reach would be dead.
TEST(WellKnownTokens, EachTextIsListedOnceAndFillsItsRole) {
  std::map<std::string_view, int> count;
  for (const WellKnownToken& token : well_known_tokens()) {
    EXPECT_EQ(++count[token.text], 1) << token.text;
    Vocabulary v{.model = "gpt2", .tokens = {"a", std::string(token.text)}};
    v.types = {TokenType::kNormal, TokenType::kControl};
    const auto table = TokenTable::make(v);
    ASSERT_TRUE(table);
    if (token.role != nullptr) {
      EXPECT_EQ(table->special().*token.role, 1) << token.text;
    }
    const bool ends =
        token.effect == WellKnownEffect::kEnds || token.effect == WellKnownEffect::kEndsIfControl;
    EXPECT_EQ(table->is_end_of_generation(1), ends) << token.text;
    EXPECT_EQ(table->is_special(1), token.effect != WellKnownEffect::kShown) << token.text;
    EXPECT_FALSE(table->is_end_of_generation(0));
    EXPECT_FALSE(table->is_end_of_generation(kNoToken));
  }
}

// Both other texts still end the generation: the key only settles which id is the end of a turn.
// A file that names a role keeps it, whatever the texts say.
TEST(WellKnownTokens, KeysOfTheFileGoFirst) {
  Vocabulary v{.model = "gpt2", .tokens = {"<|eot_id|>", "mine", "<|im_end|>"}};
  v.special.eot = 1;
  const auto table = TokenTable::make(v);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->special().eot, 1);
  EXPECT_EQ(std::vector<int32_t>(table->end_of_generation_ids().begin(),
                                 table->end_of_generation_ids().end()),
            (std::vector<int32_t>{0, 1, 2}));
}

// Decoding agrees with Unicode's table 3-7 (well-formed byte sequences), for every pair of lead and
// second byte.
TEST(Utf8, SecondBytesFollowTheTableOfTheStandard) {
  const auto second_range = [](int lead) -> std::pair<int, int> {
    if (lead == 0xE0) return {0xA0, 0xBF};
    if (lead == 0xED) return {0x80, 0x9F};
    if (lead == 0xF0) return {0x90, 0xBF};
    if (lead == 0xF4) return {0x80, 0x8F};
    if (lead >= 0xC2 && lead < 0xF4) return {0x80, 0xBF};
    return {1, 0};
  };
  for (int lead = 0x80; lead < 0x100; ++lead) {
    for (int second = 0; second < 0x100; ++second) {
      const std::string text = {static_cast<char>(lead), static_cast<char>(second), '\x80', '\x80'};
      const auto [low, high] = second_range(lead);
      const bool is_well_formed = second >= low && second <= high;
      const Utf8Step step = decode_utf8(text);
      EXPECT_EQ(step.status == Utf8Status::kValid, is_well_formed) << lead << " " << second;
      if (is_well_formed) {
        EXPECT_EQ(step.size, lead < 0xE0 ? 2U : lead < 0xF0 ? 3U : 4U);
      }
      if (!is_well_formed) {
        EXPECT_EQ(step.size, 1U);
      }
    }
  }
}

// The letters are two plain ones, the bytes of é, € and U+1F600, and three that break things: FF
// and C0 never occur, ED begins surrogates.
// What comes out is valid, and stays as it is.
TEST(Utf8, ReplacementIsIdempotentAndValidOnRandomBytes) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    const std::string text =
        random_text(random, "ab\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF\xC0\xED", 16);
    const std::string replaced = replace_invalid_utf8(text);
    EXPECT_EQ(valid_utf8_prefix(replaced), replaced.size());
    EXPECT_EQ(replace_invalid_utf8(replaced), replaced);
    const size_t valid = valid_utf8_prefix(text);
    EXPECT_EQ(replaced.substr(0, valid), text.substr(0, valid));
    // What is invalid and what is valid take turns and are the whole.
    size_t at = 0;
    while (at < text.size()) {
      const size_t good = valid_utf8_prefix(std::string_view(text).substr(at));
      const size_t bad = invalid_utf8_prefix(std::string_view(text).substr(at + good));
      ASSERT_GT(good + bad, 0U);
      at += good + bad;
    }
    EXPECT_EQ(at, text.size());
  }
}

}  // namespace
}  // namespace quern
