// Text to token ids and back, for one vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/special_splitter.h"
#include "text/token_bytes.h"
#include "text/token_table.h"
#include "text/vocabulary.h"

namespace quern {

// How a text becomes tokens.
struct EncodeOptions {
  // Adds the begin and end tokens that the model wants around a text.
  bool add_special = true;
  // Reads "<|im_end|>" and the like as the token. Off for text from users: then no text can become
  // a control token. User-defined tokens are found either way.
  bool parse_special = false;
};

// How tokens become text.
struct DecodeOptions {
  // Leaves out control and unknown tokens; otherwise they appear by name.
  bool skip_special = true;
  // Takes off the space that encode() puts in front of a text, where the vocabulary wants one.
  bool strip_space_prefix = true;
};

// Thread-safe: all calls are const and share nothing that changes.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // The text may hold any bytes. What is not valid UTF-8 becomes byte tokens, and decode() gives
  // the bytes back, where the vocabulary has them. Errors: kInvalidArgument (over kMaxTextBytes, or
  // bytes that the vocabulary has no token for), kFailedPrecondition (a begin or end token is
  // wanted and the vocabulary has none), kResourceExhausted (a pre-tokenizer pattern reaches its
  // limit).
  Result<std::vector<int32_t>> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  // The bytes of the tokens. They are UTF-8 only where the ids say so; replace_invalid_utf8() and
  // StreamDecoder make them so. Ids outside the vocabulary stand for nothing.
  std::string decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // The token as it stands in the vocabulary ("Ġthe", "▁the", "<0x0A>"); "" for other ids.
  std::string_view token_text(int32_t id) const;
  // The bytes it stands for (" the", " the", "\n"); special tokens: their text; "" for other ids.
  std::string_view token_bytes(int32_t id) const;

  // Ids are below it.
  int32_t vocab_size() const { return table_.size(); }
  // The lowest id with this text, or kNoToken.
  int32_t find_token(std::string_view text) const { return table_.find(text); }
  // Control and unknown tokens.
  bool is_special(int32_t id) const { return table_.contains(id) && table_.is_special(id); }

  // kNoToken for roles that the model has not.
  const SpecialIds& special_ids() const { return table_.special(); }
  // Sorted: end of text, of a turn, of a message, and others known by their text.
  std::span<const int32_t> end_of_generation_ids() const { return table_.end_of_generation_ids(); }
  // Whether an answer ends with it.
  bool is_end_of_generation(int32_t id) const { return table_.is_end_of_generation(id); }
  // Whether encode() puts a begin token first when add_special is set.
  bool adds_bos() const { return frame_.has_begin; }
  // Whether encode() ends a text with a token.
  bool adds_eos() const { return frame_.has_end; }

  // Longer texts are refused: offsets and counts stay far from their limits.
  static constexpr size_t kMaxTextBytes = size_t{1} << 30;

 protected:
  // What encode() adds around a text; the kinds of tokenizers differ in it.
  struct Frame {
    // Whether encode() adds a begin token, and which.
    bool has_begin = false;
    bool has_end = false;
    int32_t begin = kNoToken;
    int32_t end = kNoToken;
    bool has_space_prefix = false;  // in front of a text that begins or follows a special token
  };
  // `vocabulary` without its tokens, which are in the table now.
  Tokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame);

  // Appends the ids of the parts.
  virtual Result<void> encode_parts(std::span<const TextPart> parts,
                                    std::vector<int32_t>& ids) const = 0;

  // For the kinds that derive from it.
  const TokenTable& table() const { return table_; }
  const Frame& frame() const { return frame_; }
  // To be filled by the constructor of the kind, one entry per token.
  TokenBytes bytes_;

 private:
  // Order of making: the splitter needs the table.
  TokenTable table_;
  SpecialSplitter splitter_;
  Frame frame_;
};

// The tokenizer of the vocabulary's kind.
// Errors: kInvalidArgument (a broken vocabulary, an unknown pre-tokenizer: the message lists those
// known), kUnimplemented (a kind without a tokenizer: the message lists those that have one).
Result<std::unique_ptr<Tokenizer>> make_tokenizer(Vocabulary vocabulary);

}  // namespace quern
