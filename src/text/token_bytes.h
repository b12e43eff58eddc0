// What each token stands for in a text: one buffer for all, so that a vocabulary costs two
// allocations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

// Thread-safe after the last append().
class TokenBytes {
 public:
  // Before many add() calls.
  void reserve(size_t num_tokens, size_t num_bytes) {
    ends_.reserve(num_tokens);
    bytes_.reserve(num_bytes);
  }
  // The bytes of the next id.
  void append(std::string_view bytes) {
    bytes_ += bytes;
    ends_.push_back(bytes_.size());
  }
  // Of an id that was appended.
  std::string_view operator[](int32_t id) const {
    const auto i = static_cast<size_t>(id);
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(bytes_).substr(begin, ends_[i] - begin);
  }

 private:
  // Of all tokens, end to end: one allocation instead of one for each.
  std::string bytes_;
  // Where each token ends.
  std::vector<size_t> ends_;
};

}  // namespace quern
