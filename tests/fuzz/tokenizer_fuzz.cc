// libFuzzer target of the tokenizers: any bytes through every pre-tokenizer with a small byte-level
// vocabulary, and through small SentencePiece, unigram and WordPiece ones. Build with the preset
// `fuzz`; run
//   tokenizer_fuzz -timeout=10 -dict=FILE CORPUS
// The first two bytes choose pre-tokenizer and options; the rest is the text.
#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "text/byte_alphabet.h"
#include "text/pre_tokenizer_table.h"
#include "text/stream_decoder.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace quern {
namespace {

// A trap and not assert(): release builds have to stop too, and libFuzzer reports it.
void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Not so: %s\n", what);
  __builtin_trap();
}

std::unique_ptr<Tokenizer> make(Vocabulary v) {
  auto tokenizer = make_tokenizer(std::move(v));
  if (!tokenizer) std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
  require(tokenizer.has_value(), "the built-in vocabulary is right");
  return std::move(*tokenizer);
}

// All bytes, some merges, one special and two user-defined tokens.
std::unique_ptr<Tokenizer> make_byte_level(std::string_view pre_tokenizer) {
  Vocabulary v{.model = "gpt2", .pre_tokenizer = std::string(pre_tokenizer)};
  for (int b = 0; b < 256; ++b) {
    // Each byte has a printable letter, as in GPT-2.
    append_utf8(byte_to_letter(static_cast<uint8_t>(b)), v.tokens.emplace_back());
  }
  // Merges of merges, across a space, and of bytes that are no UTF-8 by themselves.
  v.merges = {"\u0120 t",      "h e",           "\u0120t he", "a a",           "aa aa",
              "\u00E2 \u0122", "\u0120 \u0120", "1 2",        "\u00FF \u00FE", "\u010A \u010A"};
  for (const std::string& merge : v.merges) {
    const size_t space = merge.find(' ');
    v.tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
  }
  v.types.assign(v.tokens.size(), TokenType::kNormal);
  v.tokens.insert(v.tokens.end(), {"<|im_end|>", "  ", "<x>"});
  v.types.insert(v.types.end(),
                 {TokenType::kControl, TokenType::kUserDefined, TokenType::kUserDefined});
  v.add_bos = false;
  return make(std::move(v));
}

std::unique_ptr<Tokenizer> make_sentencepiece() {
  Vocabulary v{.model = "llama"};
  v.tokens = {"<unk>", "<s>", "</s>"};
  v.types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl};
  for (int b = 0; b < 256; ++b) v.tokens.push_back(fmt::format("<0x{:02X}>", b));
  v.types.resize(v.tokens.size(), TokenType::kByte);
  v.scores.resize(v.tokens.size(), 0.0F);
  for (const char* piece : {"\u2581", "a", "t", "h", "e", "<", "s", ">", "\u2581t", "he",
                            "\u2581the", "aa", "aaaa", "\u2581\u2581", "a\u2581", "\u00E9", "<s"}) {
    v.tokens.push_back(piece);
    // Equal scores here and there: ties have to be decided in one way.
    v.scores.push_back(-static_cast<float>(v.tokens.size() % 7));
  }
  v.types.resize(v.tokens.size(), TokenType::kNormal);
  return make(std::move(v));
}

std::unique_ptr<Tokenizer> make_unigram() {
  Vocabulary v{.model = "t5", .tokens = {"<pad>", "</s>", "<unk>"}};
  v.types = {TokenType::kControl, TokenType::kControl, TokenType::kUnknown};
  for (const char* piece : {"\u2581", "a", "t", "h", "e", "<", ">", "\u2581t", "he", "\u2581the",
                            "aa", "aaaa", "\u2581\u2581", "a\u2581", "\u00E9", "<s", "\uFFFD"}) {
    v.tokens.push_back(piece);
  }
  v.types.resize(v.tokens.size(), TokenType::kNormal);
  v.tokens.push_back("<x>");
  v.types.push_back(TokenType::kUserDefined);
  for (size_t i = 0; i < v.tokens.size(); ++i) v.scores.push_back(-static_cast<float>(i % 7));
  return make(std::move(v));
}

std::unique_ptr<Tokenizer> make_wordpiece() {
  Vocabulary v{.model = "bert",
               .tokens = {"[UNK]", "[CLS]", "[SEP]", "\u2581the", "\u2581a", "a", "he", "\u2581t",
                          "\u2581e", "e", "\u2581!", "\u2581\u6F22", "\u0301"},
               .types = {TokenType::kUnknown, TokenType::kControl, TokenType::kControl}};
  v.types.resize(v.tokens.size(), TokenType::kNormal);
  v.special.unk = 0;
  v.special.cls = 1;
  v.special.sep = 2;
  return make(std::move(v));
}

void check(const Tokenizer& tokenizer, std::string_view text, uint8_t options, bool comes_back) {
  const auto ids = tokenizer.encode(
      text, {.add_special = (options & 1) != 0, .parse_special = (options & 2) != 0});
  require(ids.has_value(), "any text can be encoded");
  const DecodeOptions decoding{.skip_special = (options & 2) == 0};
  const std::string decoded = tokenizer.decode(*ids, decoding);
  // Nothing is lost: byte-level vocabularies have a token for each byte.
  require(!comes_back || decoded == text, "decode(encode(text)) is the text");
  StreamDecoder decoder(tokenizer, decoding);
  std::string streamed;
  const auto take = [&](const std::string& piece) {
    require(valid_utf8_prefix(piece) == piece.size(), "streamed pieces are UTF-8");
    streamed += piece;
  };
  for (const int32_t id : *ids) take(decoder.push(id));
  take(decoder.flush());
  require(streamed == replace_invalid_utf8(decoded), "the streamed text is the decoded one");
}

struct Tokenizers {
  std::vector<std::unique_ptr<Tokenizer>> byte_level;
  std::unique_ptr<Tokenizer> sentencepiece = make_sentencepiece();
  std::unique_ptr<Tokenizer> unigram = make_unigram();
  std::unique_ptr<Tokenizer> wordpiece = make_wordpiece();
  Tokenizers() {
    for (const auto& spec : pre_tokenizers()) byte_level.push_back(make_byte_level(spec.name));
  }
};

}  // namespace
}  // namespace quern

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const quern::Tokenizers tokenizers;
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const uint8_t options = data[1];
  quern::check(*tokenizers.byte_level[data[0] % tokenizers.byte_level.size()], text, options, true);
  // ▁ in the text reads as a space, and special tokens get a space behind them.
  const bool comes_back = text.find("\u2581") == std::string_view::npos && (options & 3) == 0;
  quern::check(*tokenizers.sentencepiece, text, options, comes_back);
  // These two normalise the text or have no token for every byte.
  quern::check(*tokenizers.unigram, text, options, false);
  quern::check(*tokenizers.wordpiece, text, options, false);
  return 0;
}
