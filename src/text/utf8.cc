// The decoder follows table 3-7 of the Unicode standard: only the second byte has special ranges.
#include "text/utf8.h"

#include <cstring>

namespace quern {
namespace {

// What the first byte of a character says.
struct LeadByte {
  size_t size;  // 0 for bytes that cannot lead
  uint8_t second_low;
  uint8_t second_high;
};

// By the ranges of Unicode's table 3-7.
LeadByte classify(uint8_t lead) {
  if (lead < 0xC2) return {0, 0, 0};  // continuation bytes and overlong two-byte forms
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};  // no overlong forms
  if (lead == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};  // up to U+10FFFF
  return {0, 0, 0};
}

// What stands for bytes that are no UTF-8.
constexpr uint32_t kReplacement = 0xFFFD;

// Eight bytes at a time.
size_t ascii_prefix(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080ULL) break;
  }
  while (i < text.size() && static_cast<uint8_t>(text[i]) < 0x80) ++i;
  return i;
}

}  // namespace

// Surrogates, overlong forms and values past U+10FFFF are invalid.
Utf8Step decode_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {Utf8Status::kValid, byte(0), 1};
  const LeadByte lead = classify(byte(0));
  if (lead.size == 0) return {Utf8Status::kInvalid, kReplacement, 1};
  //   size 2: 110xxxxx & 0x1F    size 3: 1110xxxx & 0x0F    size 4: 11110xxx & 0x07
  uint32_t code_point = byte(0) & (0x7F >> lead.size);
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == text.size()) return {Utf8Status::kTruncated, kReplacement, i};
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte(i) < low || byte(i) > high) return {Utf8Status::kInvalid, kReplacement, i};
    code_point = (code_point << 6) | (byte(i) & 0x3F);
  }
  return {Utf8Status::kValid, code_point, lead.size};
}

// The code point is valid.
void append_utf8(uint32_t code_point, std::string& out) {
  const auto push = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | (code_point >> 6));
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | (code_point >> 12));
    push(0x80 | ((code_point >> 6) & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | (code_point >> 18));
    push(0x80 | ((code_point >> 12) & 0x3F));
    push(0x80 | ((code_point >> 6) & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

// Bytes before the first that is wrong or unfinished.
size_t valid_utf8_prefix(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    position += ascii_prefix(text.substr(position));
    if (position == text.size()) break;
    const Utf8Step step = decode_utf8(text.substr(position));
    if (step.status != Utf8Status::kValid) break;
    position += step.size;
  }
  return position;
}

// Bytes of one maximal subpart: what becomes one replacement character (Unicode, chapter 3.9).
size_t invalid_utf8_prefix(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    const Utf8Step step = decode_utf8(text.substr(position));
    if (step.status == Utf8Status::kValid) break;
    position += step.size;
  }
  return position;
}

// One replacement character for each maximal subpart.
std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = valid_utf8_prefix(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += kReplacementCharacter;
    text.remove_prefix(decode_utf8(text).size);
  }
  return out;
}

}  // namespace quern
