// Viterbi over the lattice of pieces, one window after the other: a window ends where no piece that
// began in it reaches further, so the best path surely goes through there.
#include "text/unigram_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fail.h"
#include "text/character_map.h"
#include "text/piece_normalizer.h"
#include "text/piece_text.h"
#include "text/piece_trie.h"
#include "text/utf8.h"

namespace quern {
namespace {

constexpr double kUnknownPenalty = 10;  // SentencePiece's kUnkPenalty

// The best way to a place: its last piece and where that begins.
//   steps[end] = the best way to cut text[0, end): its score and its last piece [begin, end)
struct Step {
  // Of the best way to here.
  double score = -std::numeric_limits<double>::infinity();
  size_t begin = 0;
  int32_t id = kNoToken;  // kNoToken: an unknown character
};

// Unigram language model (Kudo 2018): of all ways to cut a text, the one with the highest sum of
// scores, found by dynamic programming. Immutable.
class UnigramTokenizer final : public Tokenizer {
 public:
  // The parts were checked by make_unigram_tokenizer().
  UnigramTokenizer(TokenTable table, const Vocabulary& vocabulary, const Frame& frame,
                   CharacterMap map)
      : Tokenizer(std::move(table), vocabulary, frame), map_(std::move(map)) {
    spaces_.add_prefix = frame.has_space_prefix;
    spaces_.remove_extra = vocabulary.remove_extra_whitespaces.value_or(true);
    byte_ids_ = append_piece_bytes(this->table(), bytes_);
    has_all_bytes_ =
        std::none_of(byte_ids_.begin(), byte_ids_.end(), [](int32_t id) { return id == kNoToken; });
    index_pieces(vocabulary.scores);
  }

  // T5 ends texts with a token, XLM-R has both.
  static Frame frame_of(const TokenTable& table, const Vocabulary& v) {
    Frame frame;
    frame.has_begin = v.add_bos.value_or(false);
    frame.has_end = v.add_eos.value_or(true);
    frame.begin = table.special().bos;
    frame.end = table.special().eos;
    frame.has_space_prefix = v.add_space_prefix.value_or(true);
    return frame;
  }

 private:
  // The ids of one call; and whether the last of them is an unknown token that can take more.
  struct Output {
    std::vector<int32_t>& ids;
    bool ends_unknown = false;
  };

  Result<void> encode_parts(std::span<const TextPart> parts,
                            std::vector<int32_t>& ids) const override;
  // Text between special tokens, which is normalised as one.
  Result<void> encode_run(std::span<const TextPart> parts, std::vector<int32_t>& ids) const;
  // Windows of bounded length, so that memory does not grow with the text.
  Result<void> encode_text(std::string_view text, Output& output) const;
  // Best steps to each place of the window; gives where it may be cut.
  size_t fill_window(std::string_view text, std::vector<Step>& steps) const;
  // Unknown characters in a row are one token.
  Result<void> push_unknown(std::string_view bytes, Output& output) const;
  // Pieces by text with their scores.
  void index_pieces(std::span<const float> scores);

  CharacterMap map_;
  PieceSpaces spaces_;
  PieceTrie pieces_;
  std::vector<float> scores_;  // by id
  double unknown_score_ = 0;
  ByteIds byte_ids_{};
  bool has_all_bytes_ = false;
};

// Normal tokens only: user-defined ones are cut out before, the others never come out of text.
void UnigramTokenizer::index_pieces(std::span<const float> scores) {
  std::vector<PieceTrie::Piece> pieces;
  scores_.assign(static_cast<size_t>(table().size()), 0.0F);
  std::copy_n(scores.begin(), std::min(scores.size(), scores_.size()), scores_.begin());
  float lowest = std::numeric_limits<float>::infinity();
  for (int32_t id = 0; id < table().size(); ++id) {
    if (table().type(id) != TokenType::kNormal || table().text(id).empty()) continue;
    pieces.push_back({table().text(id), id});
    lowest = std::min(lowest, scores_[static_cast<size_t>(id)]);
  }
  unknown_score_ = (pieces.empty() ? 0.0 : double{lowest}) - kUnknownPenalty;
  pieces_ = PieceTrie(std::move(pieces));
}

// Control tokens stand between texts that know nothing of each other; user-defined tokens are part
// of a text.
Result<void> UnigramTokenizer::encode_parts(std::span<const TextPart> parts,
                                            std::vector<int32_t>& ids) const {
  const auto is_control = [this](const TextPart& part) {
    return part.id != kNoToken && table().type(part.id) != TokenType::kUserDefined;
  };
  for (size_t i = 0; i < parts.size();) {
    if (is_control(parts[i])) {
      ids.push_back(parts[i++].id);
      continue;
    }
    const size_t begin = i;
    while (i < parts.size() && !is_control(parts[i])) ++i;
    QUERN_TRY(encode_run(parts.subspan(begin, i - begin), ids));
  }
  return {};
}

// Normalised first, with one space before it where the model wants it.
Result<void> UnigramTokenizer::encode_run(std::span<const TextPart> parts,
                                          std::vector<int32_t>& ids) const {
  struct Verbatim {
    size_t begin;
    size_t size;
    int32_t id;
  };
  std::vector<Verbatim> verbatims;
  PieceNormalizer normalizer(map_, spaces_);
  for (const TextPart& part : parts) {
    if (part.id == kNoToken) {
      normalizer.add_text(part.text);
    } else {
      verbatims.push_back({normalizer.add_verbatim(part.text), part.text.size(), part.id});
    }
  }
  normalizer.finish();
  const std::string_view text = normalizer.text();
  Output output{ids};
  size_t at = 0;
  for (const Verbatim& verbatim : verbatims) {
    QUERN_TRY(encode_text(text.substr(at, verbatim.begin - at), output));
    ids.push_back(verbatim.id);
    output.ends_unknown = false;
    at = verbatim.begin + verbatim.size;
  }
  return encode_text(text.substr(at), output);
}

// Fills steps[0 .. size] of the window that the text begins with, and returns its size.
size_t UnigramTokenizer::fill_window(std::string_view text, std::vector<Step>& steps) const {
  steps.assign(1, Step{0.0, 0, kNoToken});
  const auto offer = [&steps](size_t end, const Step& step) {
    if (end >= steps.size()) steps.resize(end + 1);
    // Strictly better: of equals, the one that begins first stays, as in SentencePiece.
    if (step.score > steps[end].score) steps[end] = step;
  };
  size_t at = 0;
  do {
    const size_t size = decode_utf8(text.substr(at)).size;
    const double score = steps[at].score;
    bool has_character = false;
    pieces_.for_each_prefix(text.substr(at), [&](size_t piece_size, int32_t id) {
      has_character = has_character || piece_size == size;
      offer(at + piece_size, {score + double{scores_[static_cast<size_t>(id)]}, at, id});
    });
    // Below every piece by the penalty: an unknown character is taken only where no piece covers
    // it.
    if (!has_character) offer(at + size, {score + unknown_score_, at, kNoToken});
    at += size;
  // steps reaches to the furthest end that a piece has offered: at its end all ways have met.
  } while (at + 1 < steps.size());
  return at;
}

// Walks the best path back, then emits it forwards.
Result<void> UnigramTokenizer::encode_text(std::string_view text, Output& output) const {
  std::vector<Step> steps;
  std::vector<size_t> ends;
  while (!text.empty()) {
    const size_t size = fill_window(text, steps);
    ends.clear();
    for (size_t end = size; end > 0; end = steps[end].begin) ends.push_back(end);
    std::reverse(ends.begin(), ends.end());
    for (const size_t end : ends) {
      const Step& step = steps[end];
      if (step.id == kNoToken) {
        QUERN_TRY(push_unknown(text.substr(step.begin, end - step.begin), output));
      } else {
        output.ids.push_back(step.id);
        output.ends_unknown = false;
      }
    }
    text.remove_prefix(size);
  }
  return {};
}

// As bytes where the vocabulary has byte tokens.
Result<void> UnigramTokenizer::push_unknown(std::string_view bytes, Output& output) const {
  if (has_all_bytes_) {
    for (const char c : bytes) output.ids.push_back(byte_ids_[static_cast<uint8_t>(c)]);
    return {};
  }
  if (output.ends_unknown) return {};
  if (table().special().unk == kNoToken) {
    return fail::invalid("The vocabulary has no piece for '{}' and no token for unknown text.",
                         replace_invalid_utf8(bytes));
  }
  output.ids.push_back(table().special().unk);
  output.ends_unknown = true;
  return {};
}

// Errors: kInvalidArgument for scores that are no finite numbers and pieces that are too long.
Result<void> check_pieces(const TokenTable& table, const Vocabulary& vocabulary) {
  for (size_t id = 0; id < vocabulary.scores.size(); ++id) {
    if (!std::isfinite(vocabulary.scores[id])) {
      return fail::invalid("The score of token {} is not a finite number.", id);
    }
  }
  for (int32_t id = 0; id < table.size(); ++id) {
    if (table.text(id).size() > kMaxPieceBytes && table.type(id) == TokenType::kNormal) {
      return fail::invalid("Token {} has {} bytes; the limit of this kind is {}.", id,
                           table.text(id).size(), kMaxPieceBytes);
    }
  }
  return {};
}

}  // namespace

// Errors: those of check_pieces() and of the character map.
Result<std::unique_ptr<Tokenizer>> make_unigram_tokenizer(Vocabulary vocabulary) {
  QUERN_ASSIGN_OR_RETURN(TokenTable table, TokenTable::make(vocabulary));
  QUERN_TRY(check_pieces(table, vocabulary));
  QUERN_ASSIGN_OR_RETURN(CharacterMap map,
                         CharacterMap::make(std::move(vocabulary.precompiled_charsmap)));
  const auto frame = UnigramTokenizer::frame_of(table, vocabulary);
  return std::make_unique<UnigramTokenizer>(std::move(table), vocabulary, frame, std::move(map));
}

}  // namespace quern
