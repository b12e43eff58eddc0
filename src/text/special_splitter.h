// Finds special and user-defined tokens in a text, before anything else looks at it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/token_table.h"
#include "text/vocabulary.h"

namespace quern {

// Either a token (id >= 0) or a stretch of text to encode.
struct TextPart {
  std::string_view text;  // of the token, when it is one
  // kNoToken for ordinary text.
  int32_t id = kNoToken;
};

// Leftmost match first, the longest of those that begin at the same place. User-defined tokens are
// always found; control and unknown ones only on demand. Thread-safe.
class SpecialSplitter {
 public:
  // The vocabulary gives the hints on white space (model name, architecture, pre-tokenizer).
  SpecialSplitter(const TokenTable& table, const Vocabulary& vocabulary);

  // Parts borrow from `text`; no text part is empty.
  std::vector<TextPart> split(std::string_view text, bool parse_special) const;

 private:
  // A special token and how it takes the spaces around it.
  struct Entry {
    std::string_view text;  // in the table
    int32_t id;
    bool strips_left;   // swallows ASCII white space before it
    bool strips_right;  // and behind it
  };
  // Sorted texts, found by narrowing a range byte by byte.
  class Matcher {
   public:
    // Before finish().
    void add(const Entry& entry) { entries_.push_back(entry); }
    void finish();
    // The longest entry that the text begins with, or null.
    const Entry* match(std::string_view text) const;

   private:
    // Sorted by text.
    std::vector<Entry> entries_;
    std::array<uint32_t, 257> first_{};  // entries that begin with byte b: [first_[b], first_[b+1])
  };

  // Tokens that stand in text for everybody, and those that only trusted text may name.
  Matcher user_defined_;
  Matcher all_;
};

}  // namespace quern
