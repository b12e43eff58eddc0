// What all kinds of tokenizers share, and the list of kinds.
// Special tokens are cut out first; each kind sees only the text between them.
#include "text/tokenizer.h"

#include <utility>

#include "base/fail.h"
#include "text/bpe_tokenizer.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/unigram_tokenizer.h"
#include "text/wordpiece_tokenizer.h"

namespace quern {

// Common to all kinds; `frame` is what stands around an encoded text.
Tokenizer::Tokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame)
    : table_(std::move(table)), splitter_(table_, vocabulary), frame_(frame) {}

// Splits at special tokens, encodes the parts, adds begin and end.
Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) {
    return fail::invalid("The text has {} bytes; a tokenizer takes at most {}.", text.size(),
                         kMaxTextBytes);
  }
  std::vector<int32_t> ids;
  // English text has about four bytes a token; 2 for begin and end.
  ids.reserve(text.size() / 4 + 2);
  if (options.add_special && frame_.has_begin) {
    if (frame_.begin == kNoToken) {
      return fail::precondition("The model wants a begin token, and its vocabulary names none.");
    }
    ids.push_back(frame_.begin);
  }
  const std::vector<TextPart> parts = splitter_.split(text, options.parse_special);
  QUERN_TRY(encode_parts(parts, ids));
  if (options.add_special && frame_.has_end) {
    if (frame_.end == kNoToken) {
      return fail::precondition("The model wants an end token, and its vocabulary names none.");
    }
    ids.push_back(frame_.end);
  }
  return ids;
}

// Special tokens are left out unless asked for.
std::string Tokenizer::decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  std::string text;
  bool may_strip = options.strip_space_prefix && frame_.has_space_prefix;
  for (const int32_t id : ids) {
    if (!table_.contains(id) || (options.skip_special && table_.is_special(id))) continue;
    std::string_view bytes = bytes_[id];
    // No prefix stands before a special or user-defined token.
    if (may_strip && table_.type(id) == TokenType::kNormal && bytes.starts_with(' ')) {
      bytes.remove_prefix(1);
    }
    may_strip = false;
    text += bytes;
  }
  return text;
}

// The text in the vocabulary, which for byte-level kinds is not what it stands for.
std::string_view Tokenizer::token_text(int32_t id) const {
  return table_.contains(id) ? table_.text(id) : std::string_view();
}

// What the token adds to a text.
std::string_view Tokenizer::token_bytes(int32_t id) const {
  return table_.contains(id) ? bytes_[id] : std::string_view();
}

namespace {

using Maker = Result<std::unique_ptr<Tokenizer>> (*)(Vocabulary);
// A kind of vocabulary, by the name in files.
struct Kind {
  std::string_view model;  // tokenizer.ggml.model
  Maker make;
};
// Names of tokenizer.ggml.model.
constexpr Kind kKinds[] = {
    {"llama", make_sentencepiece_tokenizer},
    {"gpt2", make_bpe_tokenizer},
    {"gemma4", make_sentencepiece_tokenizer},
    {"bert", make_wordpiece_tokenizer},
    {"t5", make_unigram_tokenizer},
};

}  // namespace

// Errors: an unknown kind, with those that there are.
Result<std::unique_ptr<Tokenizer>> make_tokenizer(Vocabulary vocabulary) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.model == vocabulary.model) return kind.make(std::move(vocabulary));
    known += known.empty() ? "" : ", ";
    known += kind.model;
  }
  return fail::unimplemented("The tokenizer kind '{}' is not known; known are: {}.",
                             vocabulary.model, known);
}

}  // namespace quern
