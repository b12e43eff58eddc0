// Token ids on a command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/error.h"

namespace quern::cli {

// "1,2,3" or "1 2 3". Errors name the part that is not an id.
Result<std::vector<int32_t>> parse_token_list(std::string_view text);

}  // namespace quern::cli
