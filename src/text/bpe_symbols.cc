// Interning of symbols. Merges that join to the same text give the same symbol, as in the files.
#include "text/bpe_symbols.h"

#include <deque>
#include <string_view>

#include "base/fail.h"
#include "text/byte_alphabet.h"
#include "text/text_index.h"
#include "text/utf8.h"

namespace quern {
namespace {

constexpr size_t kMaxMerges = size_t{1} << 28;

// Gives ids to texts: tokens keep theirs, others get the next.
class Interner {
 public:
  Interner(const TokenTable& table, size_t num_more)
      : index_(static_cast<size_t>(table.size()) + num_more), next_(table.size()) {
    for (int32_t id = 0; id < table.size(); ++id) index_.insert(table.text(id), id);
  }
  int32_t symbol(std::string_view text) {
    const int32_t id = index_.find(text);
    return id >= 0 ? id : index_.insert(kept_.emplace_back(text), next_++);
  }

 private:
  TextIndex index_;
  std::deque<std::string> kept_;  // texts that are no tokens
  int32_t next_;
};

}  // namespace

Result<BpeSymbols> BpeSymbols::make(const TokenTable& table, std::span<const std::string> merges) {
  if (merges.size() > kMaxMerges) {
    return fail::invalid("The vocabulary has {} merges; the limit is {}.", merges.size(),
                         kMaxMerges);
  }
  BpeSymbols symbols;
  symbols.num_tokens_ = table.size();
  symbols.merges_ = MergeTable(merges.size());
  Interner interner(table, 256);
  for (int b = 0; b < 256; ++b) {
    std::string letter;
    append_utf8(byte_to_letter(static_cast<uint8_t>(b)), letter);
    symbols.bytes_[static_cast<size_t>(b)] = interner.symbol(letter);
  }
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
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
