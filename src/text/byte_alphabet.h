// The alphabet of byte-level vocabularies (GPT-2): each byte is written as one printable code
// point. Bytes that print in Latin-1 stand for themselves; the 68 others are U+0100 to U+0143.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quern {

// GPT-2's alphabet: every byte is a printable letter, so that merges can be written as text.
uint32_t byte_to_letter(uint8_t byte);
// The inverse.
std::optional<uint8_t> letter_to_byte(uint32_t code_point);

// "Ġthe" becomes " the". Nothing when some code point is no letter of the alphabet.
std::optional<std::string> letters_to_bytes(std::string_view letters);

}  // namespace quern
