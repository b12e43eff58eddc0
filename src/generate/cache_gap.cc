// The longest end of the cache that the prompt goes on with, by the automaton of Knuth, Morris and
// Pratt (1977): conversations may repeat a few tokens for as long as the context is.
#include "generate/cache_gap.h"

#include <algorithm>
#include <vector>

namespace quern {
namespace {

// For each prefix of `pattern`, the length of the longest shorter prefix that it ends with.
std::vector<size_t> borders_of(std::span<const int32_t> pattern) {
  std::vector<size_t> borders(pattern.size() + 1, 0);
  for (size_t i = 1, length = 0; i < pattern.size(); ++i) {
    while (length > 0 && pattern[i] != pattern[length]) length = borders[length];
    if (pattern[i] == pattern[length]) ++length;
    borders[i + 1] = length;
  }
  return borders;
}

// Length of the longest end of `text` that begins `pattern`.
size_t longest_end(std::span<const int32_t> text, std::span<const int32_t> pattern) {
  if (pattern.empty()) return 0;
  const std::vector<size_t> borders = borders_of(pattern);
  // Tokens of the pattern that the text read so far ends with.
  size_t length = 0;
  for (const int32_t token : text) {
    // A whole match goes on as its border does.
    if (length == pattern.size()) length = borders[length];
    while (length > 0 && token != pattern[length]) length = borders[length];
    if (token == pattern[length]) ++length;
  }
  return length;
}

}  // namespace

int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t limit = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(limit), b.begin()).first -
         a.begin();
}

// The longest surviving end leaves the shortest gap.
CacheGap find_cache_gap(std::span<const int32_t> cached, std::span<const int32_t> ids) {
  const int64_t start = common_prefix(cached, ids);
  const auto size = static_cast<int64_t>(cached.size());
  if (start == size) return {};
  // At least the first token that differs has to go.
  const auto text = cached.subspan(static_cast<size_t>(start) + 1);
  const auto rest = ids.subspan(static_cast<size_t>(start));
  const auto kept =
      // A longer pattern than the text cannot match further.
      static_cast<int64_t>(longest_end(text, rest.first(std::min(rest.size(), text.size()))));
  // A gap up to the very end is the plain cut, which needs no search.
  return kept == 0 ? CacheGap{} : CacheGap{start, size - start - kept};
}

}  // namespace quern
