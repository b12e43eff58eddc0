// Built level by level from the sorted texts, so that the children of a node stand together.
// A look-up walks the text once and finds every piece on the way.
#include "text/piece_trie.h"

#include <algorithm>

namespace quern {

// Sorted first, so that children lie beside each other.
PieceTrie::PieceTrie(std::vector<Piece> pieces) {
  roots_.fill(kNone);
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.text != b.text ? a.text < b.text : a.id < b.id;
  });
  // Pieces first .. last - 1 share their first `depth` bytes, which lead to `node`.
  struct Range {
    size_t first;
    size_t last;
    size_t depth;
    uint32_t node;
  };
  // One node per next byte of the range; returns how many, appending their ranges.
  std::vector<Range> ranges;
  const auto split = [&](Range range) {
    uint16_t count = 0;
    while (range.first < range.last) {
      const char byte = pieces[range.first].text[range.depth];
      size_t end = range.first + 1;
      while (end < range.last && pieces[end].text[range.depth] == byte) ++end;
      nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
      ranges.push_back(
          {range.first, end, range.depth + 1, static_cast<uint32_t>(nodes_.size() - 1)});
      range.first = end;
      ++count;
    }
    return count;
  };
  //   sorted: a an and b    nodes: [a b] [n] [d]    one level after the other
  // The first level has a table of 256 entries, the others are searched.
  split({0, pieces.size(), 0, kNone});
  for (const Range& range : ranges) roots_[nodes_[range.node].byte] = range.node;
  // `ranges` grows in the loop: each range adds those of its children behind all that are there.
  for (size_t i = 0; i < ranges.size(); ++i) {
    Range range = ranges[i];
    // The shortest texts come first in a range.
    while (range.first < range.last && pieces[range.first].text.size() == range.depth) {
      int32_t& id = nodes_[range.node].id;
      if (id < 0) id = pieces[range.first].id;
      ++range.first;
    }
    nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
    const uint16_t count = split(range);
    nodes_[range.node].num_children = count;
  }
}

// A binary search: children are sorted by byte. kNone where there is no such child.
uint32_t PieceTrie::child(const Node& node, uint8_t byte) const {
  const auto first = nodes_.begin() + node.first_child;
  const auto last = first + node.num_children;
  const auto found = std::lower_bound(first, last, byte,
                                      [](const Node& n, uint8_t value) { return n.byte < value; });
  if (found == last || found->byte != byte) return kNone;
  return static_cast<uint32_t>(found - nodes_.begin());
}

}  // namespace quern
