// The bytes of all tokens of a vocabulary as a tree, for walks that share the work of common
// begins.
#pragma once

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
  // Nodes in depth-first order, by rising byte; `end` is the first node that is not below.
  struct Node {
    uint32_t end = 0;
    int32_t token = kNoToken;  // the first one that ends here; more in next_equal()
    uint16_t depth = 0;        // of the root's children: 1
    uint8_t byte = 0;
  };

  explicit TokenTrie(const Tokenizer& tokenizer);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  // Without the root.
  std::span<const Node> nodes() const { return nodes_; }
  // The next token with the same bytes, or kNoToken.
  int32_t next_equal(int32_t token) const { return next_equal_[static_cast<size_t>(token)]; }
  size_t max_depth() const { return max_depth_; }

 private:
  void add(int32_t token, std::string_view bytes, std::vector<uint32_t>& path);

  const Tokenizer* tokenizer_;
  std::vector<Node> nodes_;
  std::vector<int32_t> next_equal_;
  size_t max_depth_ = 0;
};

}  // namespace quern
