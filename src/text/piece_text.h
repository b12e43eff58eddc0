// How SentencePiece vocabularies write what their pieces stand for: ▁ for a space, <0x0A> for a
// byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/token_bytes.h"
#include "text/token_table.h"

namespace quern {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁ U+2581

// 0x0A of "<0x0A>"; nothing for any other text.
std::optional<uint8_t> parse_byte_token(std::string_view text);

// `from` must not be empty.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// The ids of byte tokens, by byte; kNoToken where a byte has none.
using ByteIds = std::array<int32_t, 256>;

// Appends what each token of the table stands for, in the order of ids, and returns its byte
// tokens. Special and user-defined tokens stand for their own text.
ByteIds append_piece_bytes(const TokenTable& table, TokenBytes& bytes);

}  // namespace quern
