// Sampler and grammar together: whatever the logits say, the text is what the grammar allows.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/gguf_reader.h"
#include "generate/sampler.h"
#include "ops/philox.h"
#include "text/byte_alphabet.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/token_constraint.h"
#include "text/utf8.h"
#include "text/vocabulary_reader.h"

namespace quern {
namespace {

constexpr const char* kPerson = R"({"type":"object","properties":{
    "name":{"type":"string","minLength":1,"maxLength":12},
    "age":{"type":"integer","minimum":0,"maximum":130},
    "born":{"format":"date"},
    "score":{"type":"number"},
    "tags":{"type":"array","items":{"enum":["red","gr\u00fcn","\u9752"]},"maxItems":3},
    "home":{"anyOf":[{"type":"null"},{"type":"object","properties":{"zip":{"pattern":"^\\d{5}$"}},
            "required":["zip"],"additionalProperties":false}]}},
    "required":["name","age","home"],"additionalProperties":false})";

constexpr const char* kJson = R"(root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ("," ws member)*)? "}"
member ::= string ":" ws value ws
array ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-c] [0-9a-fA-F]{3}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})?
ws ::= [ \n]?
)";

// All bytes, and pieces that cross the borders of JSON's parts.
std::unique_ptr<Tokenizer> small_tokenizer() {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = "default"};
  const auto add = [&](std::string_view bytes) {
    std::string& text = v.tokens.emplace_back();
    for (const char c : bytes) append_utf8(byte_to_letter(static_cast<uint8_t>(c)), text);
  };
  for (int b = 0; b < 256; ++b) {
    const char c = static_cast<char>(b);
    add({&c, 1});
  }
  for (const char* piece :
       {"{\"", "\":", "\": \"", "\", \"", "\"}", "}}", "]}", "true", "null", "123", "name", "age",
        "home", "\": 1", "\xE9\x9D", "00", "\\u00", "-0", "  "}) {
    add(piece);
  }
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.tokens.insert(v.tokens.end(), {"<|endoftext|>", "<|im_start|>"});
  v.types.insert(v.types.end(), {TokenType::kControl, TokenType::kControl});
  v.special.eos = static_cast<int32_t>(v.tokens.size()) - 2;
  v.add_bos = false;
  auto tokenizer = make_tokenizer(std::move(v));
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

// A text, and how it came to its end.
struct Written {
  std::string text;
  bool has_ended = false;
};

// Tokens of random logits until the grammar ends; after `patience` tokens those that close
// something become likely.
Written write(const std::shared_ptr<const TokenTrie>& trie, const Grammar& grammar,
              std::span<const float> noise, uint64_t seed, int patience) {
  const Tokenizer& tokenizer = trie->tokenizer();
  const auto size = static_cast<size_t>(tokenizer.vocab_size());
  TokenConstraint constraint(trie, grammar);
  Sampler sampler({.temperature = 0});
  std::vector<float> logits(size);
  Written written;
  for (int i = 0; i < 400 && !constraint.must_end(); ++i) {
    // Each token sees another window of the noise.
    const size_t offset = RandomWords{seed, 0, 0}.below(static_cast<uint64_t>(i), 1 << 16);
    std::copy_n(noise.begin() + static_cast<int64_t>(offset), size, logits.begin());
    if (i > patience) {
      for (const char* closing : {"\"", "]", "}", "0"}) {
        for (int32_t id = 0; id < 256; ++id) {
          if (tokenizer.token_bytes(id) == closing) logits[static_cast<size_t>(id)] += 100.0F;
        }
      }
    }
    const auto allowed = constraint.allowed();
    EXPECT_TRUE(allowed) << (allowed ? "" : allowed.error().message);
    if (!allowed) return written;
    const int32_t token = sampler.sample(logits, *allowed).value();
    const auto accepted = constraint.accept(token);
    EXPECT_TRUE(accepted) << (accepted ? "" : accepted.error().message);
    if (!tokenizer.is_end_of_generation(token)) written.text += tokenizer.token_bytes(token);
  }
  written.has_ended = constraint.must_end();
  return written;
}

// Logits that say nothing.
std::vector<float> make_noise(size_t count) {
  std::vector<float> noise(count);
  for (size_t i = 0; i < count; ++i) noise[i] = RandomWords{99, 0, 0}.uniform_f32(i);
  return noise;
}

// Every member of the schema, by hand.
void check_person(const std::string& text, uint64_t seed) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << "seed " << seed << ": " << text;
  ASSERT_TRUE(json["name"].is_string() && json["age"].is_number_integer()) << text;
  EXPECT_GE(json["age"].get<int>(), 0);
  EXPECT_LE(json["age"].get<int>(), 130);
  ASSERT_TRUE(json.contains("home")) << text;
  if (json["home"].is_object()) {
    EXPECT_EQ(json["home"]["zip"].get<std::string>().size(), 5U);
  }
  if (json.contains("tags")) {
    EXPECT_LE(json["tags"].size(), 3U);
  }
}

// One text for each seed.
void check_schema_seeds(const Tokenizer& tokenizer, uint64_t num_seeds) {
  const auto schema = grammar_from_json_schema(kPerson);
  ASSERT_TRUE(schema) << schema.error().message;
  EXPECT_TRUE(schema->unenforced.empty());
  const auto trie = std::make_shared<const TokenTrie>(tokenizer);
  const auto noise = make_noise(static_cast<size_t>(tokenizer.vocab_size()) + (1 << 16));
  for (uint64_t seed = 0; seed < num_seeds; ++seed) {
    const Written written = write(trie, schema->grammar, noise, seed, 1000);
    ASSERT_TRUE(written.has_ended) << "seed " << seed << ": " << written.text;
    check_person(written.text, seed);
  }
}

// Noise for logits: the grammar alone makes the text.
TEST(Constrained, SchemaHoldsForEverySeedWithASmallVocabulary) {
  const auto tokenizer = small_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  check_schema_seeds(*tokenizer, 1000);
}

// Any value, which is the hardest grammar.
TEST(Constrained, FreeJsonParsesForEverySeed) {
  const auto tokenizer = small_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  const auto grammar = Grammar::parse(kJson);
  ASSERT_TRUE(grammar) << grammar.error().message;
  const auto trie = std::make_shared<const TokenTrie>(*tokenizer);
  const auto noise = make_noise(static_cast<size_t>(tokenizer->vocab_size()) + (1 << 16));
  int num_ended = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Written written = write(trie, *grammar, noise, seed, 60);
    if (!written.has_ended) continue;  // a number could always go on
    ++num_ended;
    ASSERT_TRUE(nlohmann::json::accept(written.text)) << "seed " << seed << ": " << written.text;
  }
  EXPECT_GT(num_ended, 500);
}

// Tokens of many characters cross the rules' borders.
TEST(Constrained, SchemaHoldsForEverySeedWithARealVocabulary) {
  const std::string path = std::string(QUERN_MODELS_DIR) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "No model at " << path;
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file);
  auto vocabulary = read_vocabulary((*file)->metadata());
  ASSERT_TRUE(vocabulary);
  const auto tokenizer = make_tokenizer(std::move(*vocabulary));
  ASSERT_TRUE(tokenizer);
  check_schema_seeds(**tokenizer, 1000);
}

// Token by token against the matcher.
TEST(TokenConstraint, MaskIsExactlyTheTokensThatCanGoOn) {
  const auto tokenizer = small_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  const auto grammar = Grammar::parse(kJson);
  ASSERT_TRUE(grammar);
  TokenConstraint constraint(std::make_shared<const TokenTrie>(*tokenizer), *grammar);
  std::string text;
  for (const char* piece : {"{\"", "name", "\":", "123", "}"}) {
    const TokenMask mask = *constraint.allowed().value();
    for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      GrammarMatcher matcher(*grammar);
      bool goes_on = matcher.push(text + std::string(tokenizer->token_bytes(id))).value();
      if (tokenizer->is_special(id)) goes_on = false;
      if (tokenizer->is_end_of_generation(id)) goes_on = constraint.can_end();
      EXPECT_EQ(mask.contains(id), goes_on) << id << " after " << text;
    }
    EXPECT_EQ(*constraint.allowed().value(), mask);  // from the cache
    const int32_t token = [&] {
      for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
        if (tokenizer->token_bytes(id) == piece) return id;
      }
      return kNoToken;
    }();
    ASSERT_NE(token, kNoToken) << piece;
    ASSERT_TRUE(constraint.accept(token)) << piece;
    text += piece;
  }
  EXPECT_TRUE(constraint.must_end());
  EXPECT_EQ(constraint.allowed().value()->count(), 1);
}

// The walk skips whole subtrees where all bytes lead to one state; counters make each level
// another.
TEST(TokenConstraint, MasksInsideCountedStringsAreExactWithARealVocabulary) {
  const std::string path = std::string(QUERN_MODELS_DIR) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "No model at " << path;
  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file);
  const auto tokenizer = make_tokenizer(read_vocabulary((*file)->metadata()).value());
  ASSERT_TRUE(tokenizer);
  const auto trie = std::make_shared<const TokenTrie>(**tokenizer);
  for (const char* text : {"root ::= [a-zA-Z ]{3,9}", "root ::= [^\"\\\\\\x00-\\x1f]{2,40} \"x\"",
                           "root ::= ([ea]{1,4} [^aeiou] | \" the\" [a-m]*){1,3} [.!]"}) {
    SCOPED_TRACE(text);
    const auto grammar = Grammar::parse(text);
    ASSERT_TRUE(grammar) << grammar.error().message;
    TokenConstraint constraint(trie, *grammar);
    std::string so_far;
    for (int step = 0; step < 3; ++step) {
      const TokenMask mask = *constraint.allowed().value();
      int32_t chosen = kNoToken;
      for (int32_t id = 0; id < (*tokenizer)->vocab_size(); ++id) {
        if ((*tokenizer)->is_special(id) || (*tokenizer)->is_end_of_generation(id)) continue;
        GrammarMatcher matcher(*grammar);
        const bool goes_on =
            matcher.push(so_far + std::string((*tokenizer)->token_bytes(id))).value();
        ASSERT_EQ(mask.contains(id), goes_on) << id << " after " << so_far;
        if (goes_on && (chosen == kNoToken || id % 7 == step)) chosen = id;
      }
      if (chosen == kNoToken) break;
      ASSERT_TRUE(constraint.accept(chosen));
      so_far += (*tokenizer)->token_bytes(chosen);
    }
    EXPECT_FALSE(so_far.empty());
  }
}

// The state stays as it was.
TEST(TokenConstraint, TokensThatDoNotFitAreRefused) {
  const auto tokenizer = small_tokenizer();
  ASSERT_NE(tokenizer, nullptr);
  const auto grammar = Grammar::parse("root ::= \"ab\"+");
  ASSERT_TRUE(grammar);
  TokenConstraint constraint(std::make_shared<const TokenTrie>(*tokenizer), *grammar);
  const int32_t end = tokenizer->special_ids().eos;
  EXPECT_FALSE(constraint.accept(end));
  EXPECT_FALSE(constraint.accept(end + 1));
  EXPECT_FALSE(constraint.accept('b'));
  EXPECT_FALSE(constraint.accept(-1));
  ASSERT_TRUE(constraint.accept('a'));
  ASSERT_TRUE(constraint.accept('b'));
  EXPECT_TRUE(constraint.can_end());
  EXPECT_FALSE(constraint.must_end());
  ASSERT_TRUE(constraint.accept(end));
  EXPECT_TRUE(constraint.must_end());
  EXPECT_FALSE(constraint.allowed());
}

}  // namespace
}  // namespace quern
