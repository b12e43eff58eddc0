// Words are independent, so the buffers of one call go from word to word.
// A word that is a token itself is found without merging, unless the model says otherwise.
#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "text/bpe_symbols.h"
#include "text/byte_alphabet.h"
#include "text/merge_symbols-inl.h"
#include "text/pre_tokenizer.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): words by a pre-tokenizer, then merges
// by priority over their bytes. Immutable.
class BpeTokenizer final : public Tokenizer {
 public:
  // The parts were checked by make_bpe_tokenizer().
  BpeTokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame,
               BpeSymbols symbols, PreTokenizer pre_tokenizer, bool ignores_merges)
      : Tokenizer(std::move(table), vocabulary, frame),
        symbols_(std::move(symbols)),
        pre_tokenizer_(std::move(pre_tokenizer)) {
    fill_bytes();
    if (ignores_merges) index_words();
    may_replace_ = symbols_.lacks_bytes() && !lacks_token(kReplacementCharacter);
  }

  // The begin and end tokens of this kind.
  static Frame frame_of(const TokenTable& table, const Vocabulary& v,
                        const PreTokenizerSpec& spec) {
    // The file decides where it says something; else the model's family, by its pre-tokenizer.
    Frame frame;
    frame.has_begin = v.add_bos.value_or(spec.add_bos);
    frame.has_end = v.add_eos.value_or(false);
    frame.begin = table.special().bos;
    frame.end = table.special().eos;
    return frame;
  }

 private:
  Result<void> encode_parts(std::span<const TextPart> parts,
                            std::vector<int32_t>& ids) const override;
  // Appends the tokens of one word. Errors: a byte that the vocabulary has no token for.
  Result<void> encode_word(std::string_view word, MergeScratch& scratch,
                           std::vector<int32_t>& ids) const;
  // Whether some byte of the text has no token.
  bool lacks_token(std::string_view text) const;
  // The text in a form that has tokens: the replacement character for what has none.
  std::string with_replacements(std::string_view text) const;
  // One symbol, or its bytes where it is no token.
  Result<void> push_symbol(const Symbol& symbol, std::string_view word,
                           std::vector<int32_t>& ids) const;
  // Text of each token as bytes.
  void fill_bytes();
  // Words that are tokens as a whole need no merges.
  void index_words();

  BpeSymbols symbols_;
  PreTokenizer pre_tokenizer_;
  bool may_replace_ = false;  // some byte has no token, and U+FFFD has
  TextIndex words_;           // bytes of a token -> id, when whole words are not merged; else empty
};

// Tokens outside the byte alphabet (special ones, and text that the converter added) are their
// text.
void BpeTokenizer::fill_bytes() {
  size_t size = 0;
  for (int32_t id = 0; id < table().size(); ++id) size += table().text(id).size();
  bytes_.reserve(static_cast<size_t>(table().size()), size);
  for (int32_t id = 0; id < table().size(); ++id) {
    const bool is_plain = table().type(id) != TokenType::kUserDefined && !table().is_special(id);
    const auto bytes = is_plain ? letters_to_bytes(table().text(id)) : std::nullopt;
    bytes_.append(bytes ? std::string_view(*bytes) : table().text(id));
  }
}

// A word that is a token is found in one look-up; merges would give the same token.
void BpeTokenizer::index_words() {
  words_ = TextIndex(static_cast<size_t>(table().size()));
  for (int32_t id = 0; id < table().size(); ++id) {
    const bool is_plain = table().type(id) != TokenType::kUserDefined && !table().is_special(id);
    if (is_plain && !bytes_[id].empty()) words_.insert(bytes_[id], id);
  }
}

// Ordinary text goes through the pre-tokenizer; special tokens stand for themselves.
Result<void> BpeTokenizer::encode_parts(std::span<const TextPart> parts,
                                        std::vector<int32_t>& ids) const {
  PreTokenizerSession session(pre_tokenizer_);
  MergeScratch scratch;
  for (const TextPart& part : parts) {
    if (part.id != kNoToken) {
      ids.push_back(part.id);
      continue;
    }
    std::string_view text = part.text;
    std::string replaced;
    if (may_replace_ && lacks_token(text)) text = replaced = with_replacements(text);
    while (!text.empty()) {
      // Patterns need valid UTF-8; the bytes between two valid stretches are words without a
      // pattern.
      const size_t valid = valid_utf8_prefix(text);
      QUERN_ASSIGN_OR_RETURN(const auto* words, session.split(text.substr(0, valid)));
      for (const std::string_view word : *words) QUERN_TRY(encode_word(word, scratch, ids));
      text.remove_prefix(valid);
      const size_t invalid = invalid_utf8_prefix(text);
      if (invalid > 0) QUERN_TRY(encode_word(text.substr(0, invalid), scratch, ids));
      text.remove_prefix(invalid);
    }
  }
  return {};
}

// Each character with a byte that has no token, and each such byte outside of UTF-8, as U+FFFD.
std::string BpeTokenizer::with_replacements(std::string_view text) const {
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = decode_utf8(text);
    const size_t size = step.status == Utf8Status::kValid ? step.size : 1;
    out += lacks_token(text.substr(0, size)) ? kReplacementCharacter : text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

// Text that no vocabulary can hold is rare: the check is a walk over bytes.
bool BpeTokenizer::lacks_token(std::string_view text) const {
  return std::any_of(text.begin(), text.end(), [this](char c) {
    return !symbols_.has_token_of_byte(static_cast<uint8_t>(c));
  });
}

// Whole-word tokens first, then the merge loop.
Result<void> BpeTokenizer::encode_word(std::string_view word, MergeScratch& scratch,
                                       std::vector<int32_t>& ids) const {
  if (words_.size() > 0) {
    const int32_t id = words_.find(word);
    if (id >= 0) {
      ids.push_back(id);
      return {};
    }
  }
  scratch.symbols.clear();
  // Every byte is a symbol at first: merges rebuild the characters.
  for (const char c : word) scratch.push(symbols_.symbol_of_byte(static_cast<uint8_t>(c)), 1);
  merge_symbols(scratch, [this](const Symbol& left, const Symbol& right) {
    return symbols_.find_merge(left.id, right.id);
  });
  for (int32_t i = 0; i >= 0; i = scratch.symbols[static_cast<size_t>(i)].next) {
    QUERN_TRY(push_symbol(scratch.symbols[static_cast<size_t>(i)], word, ids));
  }
  return {};
}

// Symbols that merges made but the vocabulary lacks fall apart into bytes.
Result<void> BpeTokenizer::push_symbol(const Symbol& symbol, std::string_view word,
                                       std::vector<int32_t>& ids) const {
  if (symbols_.is_token(symbol.id)) {
    ids.push_back(symbol.id);
    return {};
  }
  for (const char c : word.substr(symbol.begin, symbol.size)) {
    int32_t id = symbols_.symbol_of_byte(static_cast<uint8_t>(c));
    if (!symbols_.is_token(id)) id = table().special().unk;
    if (id == kNoToken) {
      return fail::invalid(
          "The vocabulary has no token for the byte 0x{:02X} and none for unknown "
          "text.",
          static_cast<uint8_t>(c));
    }
    ids.push_back(id);
  }
  return {};
}

}  // namespace

// Errors: kInvalidArgument for merges, kinds or special ids that do not fit.
Result<std::unique_ptr<Tokenizer>> make_bpe_tokenizer(Vocabulary vocabulary) {
  if (names_text_merges(vocabulary.pre_tokenizer)) {
    return make_sentencepiece_tokenizer(std::move(vocabulary));
  }
  const PreTokenizerSpec* spec = find_pre_tokenizer(vocabulary.pre_tokenizer);
  if (!spec) {
    return fail::invalid("The pre-tokenizer '{}' is not known; known are: {}.",
                         vocabulary.pre_tokenizer, pre_tokenizer_names());
  }
  QUERN_ASSIGN_OR_RETURN(TokenTable table, TokenTable::make(vocabulary));
  QUERN_ASSIGN_OR_RETURN(BpeSymbols symbols, BpeSymbols::make(table, vocabulary.merges));
  QUERN_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, PreTokenizer::make(*spec));
  const auto frame = BpeTokenizer::frame_of(table, vocabulary, *spec);
  return std::make_unique<BpeTokenizer>(std::move(table), vocabulary, frame, std::move(symbols),
                                        std::move(pre_tokenizer), spec->ignore_merges);
}

}  // namespace quern
