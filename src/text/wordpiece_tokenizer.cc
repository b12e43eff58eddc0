// Longest match by trying lengths downwards, never longer than the longest token.
// A word that cannot be covered is unknown as a whole.
#include "text/wordpiece_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "text/bert_words.h"

namespace quern {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81";  // ▁ U+2581
// Longer words become the unknown token, as in BERT's own tokenizer.
constexpr size_t kMaxWordCharacters = 100;

// WordPiece (Wu et al. 2016) as BERT uses it: the longest piece first, from the left. Immutable.
class WordPieceTokenizer final : public Tokenizer {
 public:
  // The parts were checked by make_wordpiece_tokenizer().
  WordPieceTokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame)
      : Tokenizer(std::move(table), vocabulary, frame) {
    normalization_.lowercase = vocabulary.lowercase.value_or(true);
    normalization_.strip_accents = vocabulary.strip_accents.value_or(normalization_.lowercase);
    fill_bytes();
  }

  // [CLS] before and [SEP] behind a text.
  static Frame frame_of(const TokenTable& table, const Vocabulary& v) {
    const SpecialIds& ids = table.special();
    Frame frame;
    frame.has_begin = v.add_bos.value_or(true);
    frame.has_end = v.add_sep.value_or(true);
    frame.begin = ids.cls != kNoToken ? ids.cls : ids.bos;
    frame.end = ids.sep;
    frame.has_space_prefix = true;
    return frame;
  }

 private:
  Result<void> encode_parts(std::span<const TextPart> parts,
                            std::vector<int32_t>& ids) const override;
  // False where some part of the word has no piece: the whole word is unknown then.
  bool encode_word(std::string_view marked_word, std::vector<int32_t>& ids) const;
  // Pieces as text: a mark begins words, others continue them.
  void fill_bytes();

  BertNormalization normalization_;
  TextIndex pieces_;           // tokens that text can become
  size_t max_piece_size_ = 0;  // bytes
};

// The mark becomes a space.
void WordPieceTokenizer::fill_bytes() {
  pieces_ = TextIndex(static_cast<size_t>(table().size()));
  for (int32_t id = 0; id < table().size(); ++id) {
    const std::string_view text = table().text(id);
    if (table().is_special(id) || text.empty()) {
      bytes_.append(text);
      continue;
    }
    const bool begins_word = text.starts_with(kWordMark);
    bytes_.append(begins_word ? " " + std::string(text.substr(kWordMark.size())) : text);
    pieces_.insert(text, id);
    max_piece_size_ = std::max(max_piece_size_, text.size());
  }
}

// Normalised and split into words first; special tokens stand for themselves.
Result<void> WordPieceTokenizer::encode_parts(std::span<const TextPart> parts,
                                              std::vector<int32_t>& ids) const {
  for (const TextPart& part : parts) {
    if (part.id != kNoToken) {
      ids.push_back(part.id);
      continue;
    }
    for (const std::string& word : bert_words(part.text, normalization_)) {
      const size_t before = ids.size();
      if (encode_word(std::string(kWordMark) + word, ids)) continue;
      ids.resize(before);
      if (table().special().unk == kNoToken) {
        return fail::invalid(
            "The vocabulary has no tokens for the word '{}' and none for unknown "
            "text.",
            word);
      }
      ids.push_back(table().special().unk);
    }
  }
  return {};
}

// False when no tokens cover the word.
bool WordPieceTokenizer::encode_word(std::string_view marked_word,
                                     std::vector<int32_t>& ids) const {
  const auto is_lead = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; };
  // Without the mark, which is one character.
  const auto characters = std::count_if(marked_word.begin(), marked_word.end(), is_lead) - 1;
  if (static_cast<size_t>(characters) > kMaxWordCharacters) return false;
  while (!marked_word.empty()) {
    // Downwards from the longest piece there is; cuts inside of a character match no piece.
    size_t size = std::min(marked_word.size(), max_piece_size_);
    int32_t id = kNoToken;
    while (size > 0 && (id = pieces_.find(marked_word.substr(0, size))) == kNoToken) --size;
    if (size == 0) return false;
    ids.push_back(id);
    marked_word.remove_prefix(size);
  }
  return true;
}

}  // namespace

// Errors: those of TokenTable::make(). A vocabulary without an unknown token fails at the first
// word that it does not cover.
Result<std::unique_ptr<Tokenizer>> make_wordpiece_tokenizer(Vocabulary vocabulary) {
  QUERN_ASSIGN_OR_RETURN(TokenTable table, TokenTable::make(vocabulary));
  const auto frame = WordPieceTokenizer::frame_of(table, vocabulary);
  return std::make_unique<WordPieceTokenizer>(std::move(table), vocabulary, frame);
}

}  // namespace quern
