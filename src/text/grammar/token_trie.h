// The bytes of all tokens of a vocabulary as a tree, for walks that share the work of common
// begins.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer.h"

namespace quern {

// Made once for a vocabulary. Thread-safe; the tokenizer must live longer.
//
// Tokens that stand for text only: no control or unknown tokens, none that end a generation, none
// without bytes, none over 65,535 bytes.
class TokenTrie {
 public:
  // No token ends here.
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Nodes in depth-first order, by rising byte; the root is left out.
  struct Node {
    uint32_t end = 0;          // the first node that is not below
    uint32_t first_token = 0;  // tokens that end at earlier nodes
    uint32_t below = kNone;    // index for below(), of nodes with many below
    uint16_t depth = 0;        // of the root's children: 1
    // On the edge to it.
    uint8_t byte = 0;
  };

  // Borrows the tokenizer, which must outlive it.
  explicit TokenTrie(const Tokenizer& tokenizer);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  size_t size() const { return nodes_.size() - 1; }
  const Node& node(size_t i) const { return nodes_[i]; }
  // The tokens that end at nodes first .. last - 1.
  std::span<const int32_t> tokens(size_t first, size_t last) const {
    const uint32_t begin = nodes_[first].first_token;
    return std::span(tokens_).subspan(begin, nodes_[last].first_token - begin);
  }
  // What is below the node with this index: the bytes of all nodes, and the depth of the deepest
  // one, counted from that node.
  struct Below {
    // Bytes of the subtree, and its height: lets a walk take it as a whole.
    std::bitset<256> bytes;
    size_t height = 0;
  };
  const Below& below(uint32_t index) const { return below_[index]; }
  // Of any token, in bytes.
  size_t max_depth() const { return max_depth_; }

 private:
  // While it is made.
  void add(std::string_view bytes, std::vector<uint32_t>& path);
  void collect_below();

  // Nodes in preorder; tokens that end at a node stand together.
  const Tokenizer* tokenizer_;
  std::vector<Node> nodes_;  // and one more that ends the last token
  std::vector<int32_t> tokens_;
  std::vector<Below> below_;
  size_t max_depth_ = 0;
};

}  // namespace quern
