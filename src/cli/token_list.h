// Token ids on a command line and in a terminal.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "text/tokenizer.h"

namespace quern::cli {

// Ids between commas, blanks, line breaks or brackets: "1,2,3", "1 2 3", "[1, 2]"; none for an
// empty text. Errors: kInvalidArgument, naming the part that is not an id from 0 to 2^31 - 1.
Result<std::vector<int32_t>> parse_token_list(std::string_view text);

// A line per token: its id and, in quotes, the bytes that it stands for. Line breaks and the like
// are written as in C; bytes that are no UTF-8 by themselves as \xNN.
std::string describe_tokens(const Tokenizer& tokenizer, std::span<const int32_t> ids);

}  // namespace quern::cli
