#include "text/piece_text.h"

#include <charconv>

namespace quern {

// "<0x41>" is the byte 0x41; nothing for other texts.
std::optional<uint8_t> parse_byte_token(std::string_view text) {
  // Exactly two digits: "<0x+1>" and "<0x1 >" are text, which the end of from_chars() tells.
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return byte;
}

// Every place, from the left.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t begin = 0;;) {
    const size_t at = text.find(from, begin);
    out += text.substr(begin, at - begin);
    if (at == std::string_view::npos) return out;
    out += to;
    begin = at + from.size();
  }
}

// Appends what each piece stands for, and tells which token stands for each byte.
ByteIds append_piece_bytes(const TokenTable& table, TokenBytes& bytes) {
  size_t size = 0;
  for (int32_t id = 0; id < table.size(); ++id) size += table.text(id).size();
  bytes.reserve(static_cast<size_t>(table.size()), size);
  ByteIds byte_ids;
  byte_ids.fill(kNoToken);
  for (int32_t id = 0; id < table.size(); ++id) {
    const std::string_view text = table.text(id);
    const auto byte = parse_byte_token(text);
    // Both the type and the text must say so: a user may define "<0x41>" as a token.
    if (table.type(id) == TokenType::kByte && byte) {
      const char c = static_cast<char>(*byte);
      bytes.append({&c, 1});
      byte_ids[*byte] = id;
    } else if (table.is_special(id) || table.type(id) == TokenType::kUserDefined) {
      bytes.append(text);
    } else {
      bytes.append(replace_all(text, kSpaceMark, " "));
    }
  }
  return byte_ids;
}

}  // namespace quern
