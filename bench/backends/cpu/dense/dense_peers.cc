// The list of peers.
#include "dense_peers.h"

#include <sstream>

namespace quern::bench {

std::vector<std::string> words_of(const std::string& name) {
  std::istringstream stream(name);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<DensePeer> dense_peers() {
  return {onednn_peer(), openblas_peer(), plain_peer(), memory_peer()};
}

}  // namespace quern::bench
