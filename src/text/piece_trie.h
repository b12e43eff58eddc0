// The pieces of a vocabulary as a tree of bytes: which of them begin at a place of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern {

// Immutable and thread-safe; keeps no texts.
class PieceTrie {
 public:
  // A text and what it stands for; where it stands twice, the lowest id counts.
  struct Piece {
    std::string_view text;  // not empty
    int32_t id;             // not negative
  };
  // Of no pieces.
  PieceTrie() : PieceTrie(std::vector<Piece>()) {}
  // Of pieces with the same text, the lowest id counts.
  explicit PieceTrie(std::vector<Piece> pieces);

  // Calls visit(size in bytes, id) for each piece that the text begins with, shortest first.
  template <class Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    uint32_t node = text.empty() ? kNone : roots_[static_cast<uint8_t>(text[0])];
    for (size_t size = 1; node != kNone; ++size) {
      if (nodes_[node].id >= 0) visit(size, nodes_[node].id);
      if (size == text.size()) return;
      node = child(nodes_[node], static_cast<uint8_t>(text[size]));
    }
  }

 private:
  // No child.
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Children lie beside each other, sorted by byte.
  struct Node {
    uint32_t first_child = 0;  // children stand together, by rising byte
    uint16_t num_children = 0;
    uint8_t byte = 0;
    int32_t id = -1;  // of the piece that ends here
  };
  // Index of the child, or kNone.
  uint32_t child(const Node& node, uint8_t byte) const;

  // Level by level; those of the first level have an entry in roots_.
  std::vector<Node> nodes_;
  std::array<uint32_t, 256> roots_;  // nodes of the first byte
};

}  // namespace quern
