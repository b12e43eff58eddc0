// With scores, the merge of two pieces is looked up by the joined text, which lies in one stretch
// of the input; with a list of merges, by the two ids.
#include "text/sentencepiece_tokenizer.h"

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "base/fail.h"
#include "text/merge_symbols-inl.h"
#include "text/merge_table.h"
#include "text/piece_text.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Highest score first, as a number that ascends. Scores are finite or infinite, never NaN.
uint32_t priority_of(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // -0 to +0
  // The order of IEEE floats as unsigned numbers: negatives reversed below, positives above. The
  // complement then makes the highest score the lowest priority number.
  const uint32_t ascending = bits & 0x80000000U ? ~bits : bits | 0x80000000U;
  return ~ascending;
}

// SentencePiece BPE (Kudo and Richardson 2018): merges by the score of what they make, over
// characters, with bytes for what has no piece. Immutable.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  // The parts were checked by make_sentencepiece_tokenizer().
  SentencePieceTokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame)
      : Tokenizer(std::move(table), vocabulary, frame) {
    byte_ids_ = append_piece_bytes(this->table(), bytes_);
    index_pieces(vocabulary.scores);
  }

  // Merges in the order of the list instead of by score.
  Result<void> rank_merges(std::span<const std::string> merges);

  // Begin and end tokens by the flags of the file, and the defaults of the family where it has
  // none.
  static Frame frame_of(const TokenTable& table, const Vocabulary& v) {
    const bool is_scored = v.model == "llama";
    Frame frame;
    frame.has_begin = v.add_bos.value_or(is_scored || v.model == "gemma4");
    frame.has_end = v.add_eos.value_or(false);
    frame.begin = table.special().bos;
    frame.end = table.special().eos;
    frame.has_space_prefix = v.add_space_prefix.value_or(is_scored);
    return frame;
  }

 private:
  Result<void> encode_parts(std::span<const TextPart> parts,
                            std::vector<int32_t>& ids) const override;
  // A text in which spaces are marks already.
  Result<void> encode_escaped(std::string_view text, MergeScratch& scratch,
                              std::vector<int32_t>& ids) const;
  // A run that no merge can cross is a word of its own: shorter words merge faster.
  Result<void> encode_word(std::string_view word, MergeScratch& scratch,
                           std::vector<int32_t>& ids) const;
  // Byte tokens, or the unknown token where the vocabulary has none.
  Result<void> push_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;
  // Where the next word begins.
  size_t word_end(std::string_view text) const;
  // Pieces with their ranks: a higher score merges first.
  void index_pieces(std::span<const float> scores);

  TextIndex pieces_;                         // tokens that text can become
  std::vector<Merge> merges_;                // by id: what joining to this token is
  uint32_t max_piece_size_ = 0;              // bytes
  std::optional<MergeTable> ranked_merges_;  // takes the place of merges_
  ByteIds byte_ids_{};
  // Whether some piece has a ▁ behind a character that ends with this byte. Where none has, no
  // merge reaches over that place, and the text can be cut there.
  std::array<bool, 256> joins_space_{};
};

// Control tokens never come out of text.
void SentencePieceTokenizer::index_pieces(std::span<const float> scores) {
  pieces_ = TextIndex(static_cast<size_t>(table().size()));
  merges_.resize(static_cast<size_t>(table().size()));
  for (int32_t id = 0; id < table().size(); ++id) {
    const std::string_view text = table().text(id);
    // A byte token stands for its byte where nothing else fits; its text "<0x41>" is never matched.
    if (text.empty() || table().is_special(id) || table().type(id) == TokenType::kByte) continue;
    pieces_.insert(text, id);
    const float score = scores.empty() ? 0.0F : scores[static_cast<size_t>(id)];
    merges_[static_cast<size_t>(id)] = {priority_of(score), id};
    max_piece_size_ = std::max(max_piece_size_, static_cast<uint32_t>(text.size()));
    for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
         at = text.find(kSpaceMark, at + 1)) {
      joins_space_[static_cast<uint8_t>(text[at - 1])] = true;
    }
  }
}

// Vocabularies that list merges as text, ranked by their place.
Result<void> SentencePieceTokenizer::rank_merges(std::span<const std::string> merges) {
  ranked_merges_.emplace(merges.size());
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);  // the left side is never empty
    const bool has_sides = space != std::string_view::npos && space + 1 < merge.size();
    const std::string_view left = merge.substr(0, has_sides ? space : 0);
    const std::string_view right = merge.substr(has_sides ? space + 1 : 0);
    joined.assign(left).append(right);
    const int32_t a = pieces_.find(left), b = pieces_.find(right), c = pieces_.find(joined);
    if (!has_sides || a < 0 || b < 0 || c < 0) {
      return fail::invalid("Merge {} is '{}'; it needs two tokens that join to a third.", rank,
                           merge);
    }
    ranked_merges_->insert(a, b, {static_cast<uint32_t>(rank), c});
  }
  return {};
}

// A space goes before the text where the model wants one.
Result<void> SentencePieceTokenizer::encode_parts(std::span<const TextPart> parts,
                                                  std::vector<int32_t>& ids) const {
  MergeScratch scratch;
  bool follows_special = true;  // the begin of the text counts as one
  for (const TextPart& part : parts) {
    if (part.id != kNoToken) {
      ids.push_back(part.id);
      follows_special = true;
      continue;
    }
    std::string escaped(follows_special && frame().has_space_prefix ? kSpaceMark : "");
    escaped += replace_all(part.text, " ", kSpaceMark);
    QUERN_TRY(encode_escaped(escaped, scratch, ids));
    follows_special = false;
  }
  return {};
}

// Spaces become the mark before merging.
Result<void> SentencePieceTokenizer::encode_escaped(std::string_view text, MergeScratch& scratch,
                                                    std::vector<int32_t>& ids) const {
  while (!text.empty()) {
    const size_t end = word_end(text);
    QUERN_TRY(encode_word(text.substr(0, end), scratch, ids));
    text.remove_prefix(end);
  }
  return {};
}

// The first place behind the begin where the text can be cut.
size_t SentencePieceTokenizer::word_end(std::string_view text) const {
  for (size_t at = 1;; ++at) {
    at = text.find(kSpaceMark, at);
    if (at == std::string_view::npos) return text.size();
    // Cutting there changes no token and keeps words short: merging costs n log n of a word.
    if (!joins_space_[static_cast<uint8_t>(text[at - 1])]) return at;
  }
}

// Characters first, then merges.
Result<void> SentencePieceTokenizer::encode_word(std::string_view word, MergeScratch& scratch,
                                                 std::vector<int32_t>& ids) const {
  scratch.symbols.clear();
  for (size_t at = 0; at < word.size();) {
    const Utf8Step step = decode_utf8(word.substr(at));
    const size_t size = step.status == Utf8Status::kValid ? step.size : 1;
    scratch.push(pieces_.find(word.substr(at, size)), static_cast<uint32_t>(size));
    at += size;
  }
  merge_symbols(scratch, [&](const Symbol& left, const Symbol& right) -> const Merge* {
    if (ranked_merges_) return ranked_merges_->find(left.id, right.id);
    const uint32_t size = left.size + right.size;
    if (size > max_piece_size_) return nullptr;
    const int32_t id = pieces_.find(word.substr(left.begin, size));
    return id < 0 ? nullptr : &merges_[static_cast<size_t>(id)];
  });
  for (int32_t i = 0; i >= 0; i = scratch.symbols[static_cast<size_t>(i)].next) {
    const Symbol& symbol = scratch.symbols[static_cast<size_t>(i)];
    if (symbol.id >= 0) {
      ids.push_back(symbol.id);
    } else {
      QUERN_TRY(push_bytes(word.substr(symbol.begin, symbol.size), ids));
    }
  }
  return {};
}

// A character without a token: its bytes, or one unknown token.
Result<void> SentencePieceTokenizer::push_bytes(std::string_view bytes,
                                                std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  for (const char c : bytes) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id != kNoToken) {
      ids.push_back(id);
      continue;
    }
    // Some bytes of the character were pushed: one unknown token stands for all of it.
    ids.resize(first);
    if (table().special().unk == kNoToken) {
      return fail::invalid(
          "The vocabulary has no token for the byte 0x{:02X} and none for unknown text.",
          static_cast<uint8_t>(c));
    }
    ids.push_back(table().special().unk);
    break;
  }
  return {};
}

}  // namespace

// Pre-tokenizers whose files carry merges as text instead of scores.
bool names_text_merges(std::string_view pre_tokenizer) {
  return pre_tokenizer == "gemma4" || pre_tokenizer == "granite-embed-multi-311m" ||
         pre_tokenizer == "sarvam-moe";
}

// Errors: kInvalidArgument for scores or special ids that do not fit.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(Vocabulary vocabulary) {
  QUERN_ASSIGN_OR_RETURN(TokenTable table, TokenTable::make(vocabulary));
  for (size_t id = 0; id < vocabulary.scores.size(); ++id) {
    if (std::isnan(vocabulary.scores[id])) {
      return fail::invalid("The score of token {} is not a number.", id);
    }
  }
  const auto frame = SentencePieceTokenizer::frame_of(table, vocabulary);
  auto tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(table), vocabulary, frame);
  if (vocabulary.model != "llama") QUERN_TRY(tokenizer->rank_merges(vocabulary.merges));
  return tokenizer;
}

}  // namespace quern
