// Sets of code points as the byte sequences of their UTF-8 forms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/grammar/code_set.h"

namespace quern {

// Both ends included.
struct ByteRange {
  uint8_t first = 0;
  uint8_t last = 0;  // included
};

// Any byte of the first range, then any of the second, ...
struct ByteSequence {
  // As many ranges as bytes.
  std::array<ByteRange, 4> ranges = {};
  size_t size = 0;
};

// Together they match exactly the UTF-8 forms of the set; surrogates have none.
std::vector<ByteSequence> utf8_sequences(const CodeSet& set);

}  // namespace quern
