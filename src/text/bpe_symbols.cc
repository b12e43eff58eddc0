// Interning of symbols. Merges that join to the same text give the same symbol, as in the files.
// Symbols that are no tokens get ids behind the vocabulary: merges may pass through them.
#include "text/bpe_symbols.h"

#include <deque>
#include <string_view>

#include "base/fail.h"
#include "text/byte_alphabet.h"
#include "text/text_index.h"
#include "text/utf8.h"

namespace quern {
namespace {

// Merges beyond this do not fit the 32 bits of a priority with room for hashing.
constexpr size_t kMaxMerges = size_t{1} << 28;

// Gives ids to texts: tokens keep theirs, others get the next.
class Interner {
 public:
  // Gives a number to each text: a token's id, or one behind all tokens.
  explicit Interner(const TokenTable& table) : table_(table), next_(table.size()) {}
  // The same text has the same number each time.
  int32_t symbol(std::string_view text) {
    // The lowest id with this text, so that merges lead to the token that a look-up by text gives.
    int32_t id = table_.find(text);
    if (id < 0) id = others_.find(text);
    return id >= 0 ? id : others_.insert(kept_.emplace_back(text), next_++);
  }
  // Some vocabularies have "ø" as a user-defined token: that text is not the byte F8, whose letter
  // it is. The byte then is a symbol without a text.
  int32_t symbol_of_byte(uint8_t byte) {
    std::string letter;
    append_utf8(byte_to_letter(byte), letter);
    const int32_t id = symbol(letter);
    // A letter of one byte is ASCII and the byte itself: token text and byte cannot differ.
    if (id >= table_.size() || letter.size() == 1) return id;
    const bool is_text = table_.type(id) == TokenType::kUserDefined || table_.is_special(id);
    // A number that nothing else has and that is no token: the byte has no token of its own.
    return is_text ? next_++ : id;
  }

 private:
  const TokenTable& table_;
  TextIndex others_;
  std::deque<std::string> kept_;  // the keys of others_
  int32_t next_;
};

}  // namespace

// Merges are "left right" by falling priority. Errors: kInvalidArgument with the place of the first
// that is no pair.
Result<BpeSymbols> BpeSymbols::make(const TokenTable& table, std::span<const std::string> merges) {
  if (merges.size() > kMaxMerges) {
    return fail::invalid("The vocabulary has {} merges; the limit is {}.", merges.size(),
                         kMaxMerges);
  }
  BpeSymbols symbols;
  symbols.num_tokens_ = table.size();
  symbols.merges_ = MergeTable(merges.size());
  Interner interner(table);
  for (size_t b = 0; b < 256; ++b) {
    symbols.bytes_[b] = interner.symbol_of_byte(static_cast<uint8_t>(b));
  }
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    // Letters of the byte alphabet are never a blank, so the first one separates the two sides.
    const size_t space = merge.find(' ', 1);  // the left side is never empty
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      return fail::invalid("Merge {} is '{}'; it needs two sides with a space between.", rank,
                           merge);
    }
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    joined.assign(left).append(right);
    symbols.merges_.insert(interner.symbol(left), interner.symbol(right),
                           {static_cast<uint32_t>(rank), interner.symbol(joined)});
  }
  return symbols;
}

}  // namespace quern
