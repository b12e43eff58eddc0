// The normalisation rules that SentencePiece stores beside a vocabulary: stretches of text and what
// to write in their place (NFKC, white space, ...).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quern/error.h"

namespace quern {

// Layout of the bytes (SentencePiece's "precompiled_charsmap"): u32 size of a double array in
// bytes; its units, u32 each; replacement texts, each ended by a zero byte. All little-endian.
// Immutable and thread-safe. The bytes are untrusted: no content makes a search read outside of
// them or take more than kMaxRuleBytes steps.
class CharacterMap {
 public:
  // A damaged array may lead in circles: the limit bounds the walk at each place of a text.
  static constexpr size_t kMaxRuleBytes = 256;          // longer stretches are not looked up
  static constexpr size_t kMaxReplacementBytes = 1024;  // longer ones are refused

  CharacterMap() = default;  // without rules
  // Empty bytes are a map without rules.
  // Errors: kInvalidArgument for sizes that do not fit, an array that is no multiple of 4 bytes, a
  // last text without its end, or a text that is too long.
  static Result<CharacterMap> make(std::string bytes);

  // What match() found: how much of the text it covers, and what takes its place.
  struct Match {
    size_t size = 0;  // bytes of the stretch; 0: no rule applies
    // A view into the map's own bytes.
    std::string_view replacement;
  };
  // The longest stretch with a rule that the text begins with.
  Match match(std::string_view text) const;

 private:
  // A unit of the double array of Darts-clone.
  uint32_t unit(size_t index) const;

  // The table as the file has it: size of the trie, its units, the replacements.
  std::string bytes_;
  size_t num_units_ = 0;
  size_t texts_begin_ = 0;  // of the replacements, in bytes_
};

}  // namespace quern
