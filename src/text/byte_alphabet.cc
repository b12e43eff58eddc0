// Both directions come from one table that is computed at compile time.
// 68 bytes have no printable letter of Latin-1 and take the code points from U+0100 on.
#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace quern {
namespace {

// The first code point for bytes that are no printable letters of Latin-1, in order of the bytes.
constexpr uint32_t kFirstExtra = 0x100;
// 0x00-0x20 (33), 0x7F-0xA0 (34) and the soft hyphen 0xAD.
constexpr uint32_t kNumExtra = 68;

// Printable in Latin-1: such bytes are their own letters.
constexpr bool is_printable(uint32_t b) {
  return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
}

// The bytes in order that the extra letters stand for.
constexpr std::array<uint8_t, kNumExtra> make_extras() {
  std::array<uint8_t, kNumExtra> extras{};
  size_t count = 0;
  for (uint32_t b = 0; b < 256; ++b) {
    if (!is_printable(b)) extras[count++] = static_cast<uint8_t>(b);
  }
  return extras;
}
constexpr std::array<uint8_t, kNumExtra> kExtras = make_extras();

// The letter of each byte.
constexpr std::array<uint32_t, 256> make_letters() {
  std::array<uint32_t, 256> letters{};
  for (uint32_t b = 0; b < 256; ++b) letters[b] = b;
  for (uint32_t i = 0; i < kNumExtra; ++i) letters[kExtras[i]] = kFirstExtra + i;
  return letters;
}
constexpr std::array<uint32_t, 256> kLetters = make_letters();

}  // namespace

// A table look-up.
uint32_t byte_to_letter(uint8_t byte) {
  return kLetters[byte];
}

// Nothing for code points that are no letters of the alphabet.
std::optional<uint8_t> letter_to_byte(uint32_t code_point) {
  // Latin-1 letters stand for themselves; U+0100 and on for the 68 others, in order.
  if (code_point < 256) {
    if (!is_printable(code_point)) return std::nullopt;
    return static_cast<uint8_t>(code_point);
  }
  if (code_point >= kFirstExtra + kNumExtra) return std::nullopt;
  return kExtras[code_point - kFirstExtra];
}

// Nothing if any letter is not of the alphabet, or the text is no UTF-8.
std::optional<std::string> letters_to_bytes(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size());
  while (!letters.empty()) {
    const Utf8Step step = decode_utf8(letters);
    const auto byte = letter_to_byte(step.code_point);
    if (step.status != Utf8Status::kValid || !byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    letters.remove_prefix(step.size);
  }
  return bytes;
}

}  // namespace quern
