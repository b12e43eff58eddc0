// The normalisation of SentencePiece: rules of the vocabulary, then white space.
#pragma once

#include <string>
#include <string_view>

#include "text/character_map.h"

namespace quern {

struct PieceSpaces {
  bool add_prefix = true;    // a space in front of the text
  bool remove_extra = true;  // spaces at the ends, and all but one of several
};

// One text, piece by piece: text that is normalised, and stretches that stay as they are
// (user-defined tokens). Spaces become ▁. What is no UTF-8 becomes U+FFFD, byte by byte. One thread
// only; the map must live longer.
class PieceNormalizer {
 public:
  PieceNormalizer(const CharacterMap& map, const PieceSpaces& spaces)
      : map_(map), spaces_(spaces), follows_space_(spaces.remove_extra) {}

  void add_text(std::string_view text);
  // Appends the stretch and returns where it begins in text().
  size_t add_verbatim(std::string_view text);
  // Takes off spaces at the end, where they are extra.
  void finish();

  const std::string& text() const { return out_; }

 private:
  void add_piece(std::string_view piece);
  void begin();

  const CharacterMap& map_;
  PieceSpaces spaces_;
  std::string out_;
  size_t verbatim_end_ = 0;  // nothing before is ever taken off
  bool has_begun_ = false;   // something but extra spaces was seen
  bool follows_space_;
};

}  // namespace quern
