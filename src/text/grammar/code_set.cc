// Set arithmetic on sorted ranges.
// All operations are linear in the number of ranges.
#include "text/grammar/code_set.h"

#include <algorithm>

namespace quern {

// Sorts the ranges and joins those that overlap or touch.
CodeSet make_code_set(std::vector<CodeRange> ranges) {
  std::erase_if(ranges, [](const CodeRange& range) { return range.first > range.last; });
  std::sort(ranges.begin(), ranges.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
  CodeSet set;
  for (const CodeRange& range : ranges) {
    // Touching ranges join too: equal sets have equal lists, so that == compares sets.
    if (!set.empty() && range.first <= set.back().last + 1) {
      set.back().last = std::max(set.back().last, range.last);
    } else {
      set.push_back(range);
    }
  }
  return set;
}

// All code points that are not in the set.
CodeSet complement(const CodeSet& set) {
  CodeSet result;
  uint32_t next = 0;
  for (const CodeRange& range : set) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMaxCodePoint) result.push_back({next, kMaxCodePoint});
  return result;
}

// Code points of both.
CodeSet intersection(const CodeSet& a, const CodeSet& b) {
  CodeSet result;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const uint32_t first = std::max(a[i].first, b[j].first);
    const uint32_t last = std::min(a[i].last, b[j].last);
    if (first <= last) result.push_back({first, last});
    // The range that ends first meets no further range of the other set.
    if (a[i].last < b[j].last) {
      ++i;
    } else {
      ++j;
    }
  }
  return result;
}

// Of `a` that are not in `b`.
CodeSet difference(const CodeSet& a, const CodeSet& b) {
  return intersection(a, complement(b));
}

// Linear: sets have few ranges.
bool contains(const CodeSet& set, uint32_t code_point) {
  return std::any_of(set.begin(), set.end(), [&](const CodeRange& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

}  // namespace quern
