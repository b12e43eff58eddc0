#include "text/piece_normalizer.h"

#include "text/piece_text.h"
#include "text/utf8.h"

namespace quern {

// The prefix stands in front of the first piece that is no extra space: a text of extra spaces is
// empty.
void PieceNormalizer::begin() {
  if (!has_begun_ && spaces_.add_prefix) out_ += kSpaceMark;
  has_begun_ = true;
}

// Longest match first; bytes that are no UTF-8 become the replacement character.
void PieceNormalizer::add_text(std::string_view text) {
  while (!text.empty()) {
    const CharacterMap::Match rule = map_.match(text);
    if (rule.size > 0) {
      add_piece(rule.replacement);
      text.remove_prefix(rule.size);
      continue;
    }
    const Utf8Step step = decode_utf8(text);
    const bool is_valid = step.status == Utf8Status::kValid;
    const size_t size = is_valid ? step.size : 1;
    add_piece(is_valid ? text.substr(0, size) : kReplacementCharacter);
    text.remove_prefix(size);
  }
}

// Spaces become the mark of SentencePiece; runs of them one, where extra ones are removed.
void PieceNormalizer::add_piece(std::string_view piece) {
  // The text has begun with it, so the prefix stands, though nothing else is written.
  if (piece.empty()) begin();  // a character that a rule deletes is no space
  while (follows_space_ && piece.starts_with(' ')) piece.remove_prefix(1);
  if (piece.empty()) return;
  begin();
  out_ += replace_all(piece, " ", kSpaceMark);
  follows_space_ = spaces_.remove_extra && piece.ends_with(' ');
}

// User-defined tokens are not normalised. Gives how far the text reaches.
size_t PieceNormalizer::add_verbatim(std::string_view text) {
  begin();
  const size_t at = out_.size();
  out_ += text;
  verbatim_end_ = out_.size();
  follows_space_ = spaces_.remove_extra && text.ends_with(' ');
  return at;
}

// A space at the end is dropped where extra ones are.
void PieceNormalizer::finish() {
  while (spaces_.remove_extra && out_.size() - verbatim_end_ >= kSpaceMark.size() &&
         out_.ends_with(kSpaceMark)) {
    out_.resize(out_.size() - kSpaceMark.size());
  }
}

}  // namespace quern
