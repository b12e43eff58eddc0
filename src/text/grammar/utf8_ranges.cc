// A range is cut until its ends differ only in trailing bytes that run from 80 to BF.
#include "text/grammar/utf8_ranges.h"

#include <algorithm>
#include <string>

#include "text/utf8.h"

namespace quern {
namespace {

// Code points with the same number of bytes, surrogates left out.
constexpr std::array<CodeRange, 5> kBlocks = {{
    {0x0, 0x7F},
    {0x80, 0x7FF},
    {0x800, 0xD7FF},
    {0xE000, 0xFFFF},
    {0x10000, kMaxCodePoint},
}};

// Splits where the number of bytes changes, and where ranges of bytes would not be independent.
void append_sequence(CodeRange range, std::vector<ByteSequence>& out) {
  std::string first;
  std::string last;
  append_utf8(range.first, first);
  append_utf8(range.last, last);
  ByteSequence sequence;
  sequence.size = first.size();
  for (size_t i = 0; i < first.size(); ++i) {
    sequence.ranges[i] = {static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])};
  }
  out.push_back(sequence);
}

// `range` lies in one block.
void split(CodeRange range, std::vector<ByteSequence>& out) {
  for (uint32_t bits = 6; bits <= 18 && range.last > 0x7F; bits += 6) {
    const uint32_t low = (uint32_t{1} << bits) - 1;
    if ((range.first & ~low) == (range.last & ~low)) break;
    //   U+1234-U+5678:  1234-123F | 1240-1FFF | 2000-4FFF | 5000-563F | 5640-5678
    // Each part has a first byte, or first bytes, and then full or equal ranges of trailing bytes.
    if ((range.first & low) != 0) {
      split({range.first, range.first | low}, out);
      split({(range.first | low) + 1, range.last}, out);
      return;
    }
    if ((range.last & low) != low) {
      split({range.first, (range.last & ~low) - 1}, out);
      split({range.last & ~low, range.last}, out);
      return;
    }
  }
  append_sequence(range, out);
}

}  // namespace

// A few for each range of code points.
std::vector<ByteSequence> utf8_sequences(const CodeSet& set) {
  std::vector<ByteSequence> sequences;
  for (const CodeRange& range : set) {
    for (const CodeRange& block : kBlocks) {
      const CodeRange part{std::max(range.first, block.first), std::min(range.last, block.last)};
      if (part.first <= part.last) split(part, sequences);
    }
  }
  return sequences;
}

}  // namespace quern
