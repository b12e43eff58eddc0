// Sorted tokens share begins with their neighbours, so nodes come out in depth-first order.
#include "text/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace quern {
namespace {

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

TokenTrie::TokenTrie(const Tokenizer& tokenizer)
    : tokenizer_(&tokenizer), next_equal_(static_cast<size_t>(tokenizer.vocab_size()), kNoToken) {
  std::vector<uint32_t> path;  // nodes from the root's child to the last token
  for (const int32_t token : sorted_text_tokens(tokenizer)) {
    add(token, tokenizer.token_bytes(token), path);
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

void TokenTrie::add(int32_t token, std::string_view bytes, std::vector<uint32_t>& path) {
  size_t common = 0;
  while (common < std::min(path.size(), bytes.size()) &&
         nodes_[path[common]].byte == static_cast<uint8_t>(bytes[common])) {
    ++common;
  }
  if (common == bytes.size()) {  // the same bytes as the token before
    int32_t& next = next_equal_[static_cast<size_t>(nodes_[path.back()].token)];
    next_equal_[static_cast<size_t>(token)] = next;
    next = token;
    return;
  }
  for (size_t i = common; i < path.size(); ++i) {
    nodes_[path[i]].end = static_cast<uint32_t>(nodes_.size());
  }
  path.resize(common);
  for (size_t i = common; i < bytes.size(); ++i) {
    path.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back({0, kNoToken, static_cast<uint16_t>(i + 1), static_cast<uint8_t>(bytes[i])});
  }
  nodes_.back().token = token;
  max_depth_ = std::max(max_depth_, bytes.size());
}

}  // namespace quern
