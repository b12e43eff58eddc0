// What a model file says about its tokenizer, as plain data. make_tokenizer() gives it meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quern {

// No token: ids are never negative.
inline constexpr int32_t kNoToken = -1;

// Values as in GGUF files (tokenizer.ggml.token_type).
enum class TokenType : int32_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // has a meaning and no text: <s>, <|im_end|>
  kUserDefined = 4,  // is text, and always one token
  kUnused = 5,
  kByte = 6,  // "<0x0A>": one byte of a character without a token
};

// Ids of tokens with a role; kNoToken where the vocabulary has none.
struct SpecialIds {
  int32_t bos = kNoToken;  // begin of text
  int32_t eos = kNoToken;  // end of text
  int32_t eot = kNoToken;  // end of a turn
  int32_t eom = kNoToken;  // end of a message that a tool answers
  int32_t unk = kNoToken;  // stands for what has no token
  // Of BERT and its like: separator, padding, class, mask.
  int32_t sep = kNoToken;
  int32_t pad = kNoToken;
  int32_t cls = kNoToken;
  int32_t mask = kNoToken;
  // Fill-in-the-middle: prefix, suffix, middle, padding, repository, file separator.
  int32_t fim_pre = kNoToken;
  // Fill in the middle: suffix, middle, padding, repository, file separator.
  int32_t fim_suf = kNoToken;
  int32_t fim_mid = kNoToken;
  int32_t fim_pad = kNoToken;
  int32_t fim_rep = kNoToken;
  int32_t fim_sep = kNoToken;
};

// Fields are as in the file; an empty optional or vector means that the file says nothing, and
// make_tokenizer() applies the default of the tokenizer kind. (= {} lets designated initialisers
// leave a field out without a warning.)
struct Vocabulary {
  std::string model = {};                // tokenizer.ggml.model: llama, gpt2, bert, t5, ...
  std::string pre_tokenizer = {};        // tokenizer.ggml.pre; only for gpt2
  std::vector<std::string> tokens = {};  // the index is the id
  std::vector<float> scores = {};        // empty, or one per token
  std::vector<TokenType> types = {};     // empty, or one per token
  std::vector<std::string> merges = {};  // "left right", earliest first
  SpecialIds special = {};  // as named by the file; ids outside the vocabulary are ignored
  // Flags of the file; absent: what the kind does by default.
  std::optional<bool> add_bos = {};
  std::optional<bool> add_eos = {};
  std::optional<bool> add_sep = {};
  std::optional<bool> add_space_prefix = {};
  std::optional<bool> remove_extra_whitespaces = {};
  std::optional<bool> lowercase = {};      // bert
  std::optional<bool> strip_accents = {};  // bert
  std::string precompiled_charsmap = {};   // t5: normalisation rules, bytes of SentencePiece
  // general.name and general.architecture: the only hint some files give on tokens that swallow
  // the white space beside them.
  std::string model_name = {};
  // Of the model, for kinds whose rules depend on it.
  std::string architecture = {};
};

}  // namespace quern
