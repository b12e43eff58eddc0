// The normalisation of SentencePiece: rules of the vocabulary, then white space.
#pragma once

#include <string>
#include <string_view>

#include "text/character_map.h"

namespace quern {

// What is done to spaces, by the flags of the model file.
struct PieceSpaces {
  bool add_prefix = true;    // a space in front of the text
  bool remove_extra = true;  // spaces at the ends, and all but one of several
};

// One text, piece by piece: text that is normalised, and stretches that stay as they are
// (user-defined tokens). Spaces become ▁. What is no UTF-8 becomes U+FFFD, byte by byte. One thread
// only; the map must live longer.
class PieceNormalizer {
 public:
  // Borrows the map. One text each.
  PieceNormalizer(const CharacterMap& map, const PieceSpaces& spaces)
      : map_(map), spaces_(spaces), follows_space_(spaces.remove_extra) {}

  // Ordinary text.
  void add_text(std::string_view text);
  // Appends the stretch and returns where it begins in text().
  size_t add_verbatim(std::string_view text);
  // Takes off spaces at the end, where they are extra.
  void finish();

  // What was added, normalised.
  const std::string& text() const { return out_; }

 private:
  // One normalised piece, with its spaces.
  void add_piece(std::string_view piece);
  // The space before the first piece, where the model wants one.
  void begin();

  // Replacements of characters (NFKC and the like).
  const CharacterMap& map_;
  PieceSpaces spaces_;
  // Of all that was added.
  std::string out_;
  // Spaces at the end of a user-defined token belong to the token.
  size_t verbatim_end_ = 0;  // nothing before is ever taken off
  bool has_begun_ = false;   // something but extra spaces was seen
  // Whether the last character was a space: another one is extra.
  bool follows_space_;
};

}  // namespace quern
