// UTF-8: step-by-step decoding, validation, and replacement of what is broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

// What the begin of a text is.
enum class Utf8Status {
  kValid,      // a whole code point
  kInvalid,    // bytes that no continuation can repair
  kTruncated,  // the text ends inside a sequence that is right so far
};

// What stands at the begin of a text. For kInvalid, `size` is the maximal subpart of the Unicode
// standard (section 3.9, the same that Python and browsers replace by one U+FFFD), at least 1.
struct Utf8Step {
  // kTruncated: more bytes could make it valid.
  Utf8Status status;
  uint32_t code_point;  // U+FFFD unless kValid
  size_t size;          // bytes, > 0
};

// `text` must not be empty. Surrogates, overlong forms and values over U+10FFFF are invalid.
Utf8Step decode_utf8(std::string_view text);

// Appends the 1 to 4 bytes of a code point up to U+10FFFF.
void append_utf8(uint32_t code_point, std::string& out);

// Length of the longest prefix that is valid UTF-8.
size_t valid_utf8_prefix(std::string_view text);
// Length of the longest prefix in which no valid sequence begins.
size_t invalid_utf8_prefix(std::string_view text);

// Each invalid or truncated part becomes one U+FFFD, as Python's errors="replace".
std::string replace_invalid_utf8(std::string_view text);

// U+FFFD in UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

}  // namespace quern
