// Sorted tokens share begins with their neighbours, so nodes come out in depth-first order.
#include "text/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace quern {
namespace {

constexpr size_t kManyNodes = 8;  // below it, a set of bytes costs more than the steps it saves

// Tokens that add text, by their bytes: neighbours share their begins.
std::vector<int32_t> sorted_text_tokens(const Tokenizer& tokenizer) {
  std::vector<int32_t> tokens;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const size_t size = tokenizer.token_bytes(id).size();
    if (size == 0 || size > std::numeric_limits<uint16_t>::max()) continue;
    if (tokenizer.is_special(id) || tokenizer.is_end_of_generation(id)) continue;
    tokens.push_back(id);
  }
  std::sort(tokens.begin(), tokens.end(), [&](int32_t a, int32_t b) {
    const std::string_view x = tokenizer.token_bytes(a);
    const std::string_view y = tokenizer.token_bytes(b);
    return x != y ? x < y : a < b;
  });
  return tokens;
}

}  // namespace

// Nodes in order of a walk, each with where its subtree ends.
TokenTrie::TokenTrie(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {
  std::vector<uint32_t> path;  // nodes from the root's child to the last token
  for (const int32_t token : sorted_text_tokens(tokenizer)) {
    add(tokenizer.token_bytes(token), path);
    tokens_.push_back(token);
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  collect_below();
  nodes_.emplace_back().first_token = static_cast<uint32_t>(tokens_.size());
}

// `bytes` sort behind those of all tokens so far, or equal the last.
void TokenTrie::add(std::string_view bytes, std::vector<uint32_t>& path) {
  size_t common = 0;
  while (common < std::min(path.size(), bytes.size()) &&
         nodes_[path[common]].byte == static_cast<uint8_t>(bytes[common])) {
    ++common;
  }
  if (common == bytes.size()) return;  // the same token again, at the node that is last
  for (size_t i = common; i < path.size(); ++i) {
    nodes_[path[i]].end = static_cast<uint32_t>(nodes_.size());
  }
  path.resize(common);
  for (size_t i = common; i < bytes.size(); ++i) {
    path.push_back(static_cast<uint32_t>(nodes_.size()));
    Node& node = nodes_.emplace_back();
    node.first_token = static_cast<uint32_t>(tokens_.size());
    node.depth = static_cast<uint16_t>(i + 1);
    node.byte = static_cast<uint8_t>(bytes[i]);
  }
  max_depth_ = std::max(max_depth_, bytes.size());
}

// From the last node to the first, so that every node comes after all that are below it.
void TokenTrie::collect_below() {
  // Per depth: bytes of the nodes from there down, and the deepest of them, in the subtree that is
  // being closed.
  std::vector<Below> open(max_depth_ + 2);
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    const size_t depth = node.depth;
    // Children were met already and have gathered in open[depth + 1]; the parent takes and empties
    // it.
    const Below below = std::exchange(open[depth + 1], {});
    if (node.end - i > kManyNodes) {
      node.below = static_cast<uint32_t>(below_.size());
      below_.push_back(below);
    }
    open[depth].bytes |= below.bytes;
    open[depth].bytes.set(node.byte);
    open[depth].height = std::max(open[depth].height, below.height + 1);
  }
}

}  // namespace quern
