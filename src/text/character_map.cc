// The double array of Darts-clone: the child of a node for byte c stands at (offset of the node) ^
// c if its label is c; a node with a leaf has the value of its path at offset ^ 0.
#include "text/character_map.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// Little-endian, from the first four bytes.
uint32_t read_u32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

// Bits of a unit: 0-7 label, 8 "has a leaf", 9 "offset is in 256s", 10-30 offset, 31 "is a value".
size_t offset_of(uint32_t unit) {
  // Bit 9 moved down by 6 is 8: the offset counts in steps of 256.
  return size_t{unit >> 10} << ((unit & (1U << 9)) >> 6);
}
// Bits of a unit of the double-array trie (Aoe 1989) as SentencePiece stores it.
bool has_leaf(uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
// A value has bit 31 set, so it is never mistaken for a child.
uint32_t label_of(uint32_t unit) {
  return unit & (1U << 31 | 0xFF);
}
// Of a leaf: the offset of its replacement.
uint32_t value_of(uint32_t unit) {
  return unit & ~(1U << 31);
}

// Every replacement must end with a zero byte inside of the table.
Result<void> check_texts(std::string_view texts) {
  if (!texts.empty() && texts.back() != '\0') {
    return fail::invalid("The last text of the character map has no end.");
  }
  for (size_t begin = 0; begin < texts.size();) {
    const size_t end = texts.find('\0', begin);
    if (end - begin > CharacterMap::kMaxReplacementBytes) {
      return fail::invalid("A text of the character map has {} bytes; the limit is {}.",
                           end - begin, CharacterMap::kMaxReplacementBytes);
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

// Untrusted bytes: each offset is checked when it is followed. Errors: kInvalidArgument for sizes
// and texts that do not fit.
Result<CharacterMap> CharacterMap::make(std::string bytes) {
  CharacterMap map;
  if (bytes.empty()) return map;
  if (bytes.size() < 4) {
    return fail::invalid("The character map has {} bytes; its header needs 4.", bytes.size());
  }
  const size_t array_bytes = read_u32(bytes);
  if (array_bytes > bytes.size() - 4 || array_bytes % 4 != 0) {
    return fail::invalid("The character map of {} bytes says that its array has {}.", bytes.size(),
                         array_bytes);
  }
  map.num_units_ = array_bytes / 4;
  map.texts_begin_ = 4 + array_bytes;
  QUERN_TRY(check_texts(std::string_view(bytes).substr(map.texts_begin_)));
  map.bytes_ = std::move(bytes);
  return map;
}

// Outside of the array: a unit that is no child of any node, since no byte has its label.
uint32_t CharacterMap::unit(size_t index) const {
  if (index >= num_units_) return 1U << 31;
  return read_u32(std::string_view(bytes_).substr(4 + 4 * index, 4));
}

// The longest key that begins the text.
CharacterMap::Match CharacterMap::match(std::string_view text) const {
  Match best;
  if (num_units_ == 0) return best;
  const std::string_view texts = std::string_view(bytes_).substr(texts_begin_);
  size_t node = offset_of(unit(0));
  const size_t limit = std::min(text.size(), kMaxRuleBytes);
  for (size_t i = 0; i < limit; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) break;  // the label of leaves
    //   array[node ^ byte]  is the child for the byte, if its label says so
    //   array[child ^ 0]    is its value, where it has a leaf
    node ^= byte;
    const uint32_t child = unit(node);
    if (label_of(child) != byte) break;
    node ^= offset_of(child);
    if (!has_leaf(child)) continue;
    const size_t begin = value_of(unit(node));
    // Each text has its end in the map; a value outside of the texts is no rule.
    // A damaged table may point anywhere; it then has no rule there.
    if (begin < texts.size()) {
      best = {i + 1, texts.substr(begin, texts.find('\0', begin) - begin)};
    }
  }
  return best;
}

}  // namespace quern
