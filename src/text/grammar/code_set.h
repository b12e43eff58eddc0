// Sets of Unicode code points, as sorted ranges.
#pragma once

#include <cstdint>
#include <vector>

namespace quern {

// The last code point of Unicode.
inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

// Both ends included.
struct CodeRange {
  uint32_t first = 0;
  uint32_t last = 0;  // included
  bool operator==(const CodeRange&) const = default;
};

// Sorted, disjoint, not adjacent.
using CodeSet = std::vector<CodeRange>;

// Sorts and joins; ranges with first > last count as empty.
CodeSet make_code_set(std::vector<CodeRange> ranges);
// All code points that are not in the set.
CodeSet complement(const CodeSet& set);
// Set arithmetic; the results are sorted and joined too.
CodeSet intersection(const CodeSet& a, const CodeSet& b);
CodeSet difference(const CodeSet& a, const CodeSet& b);
bool contains(const CodeSet& set, uint32_t code_point);

}  // namespace quern
