// Whole text files, for commands.
#pragma once

#include <string>

#include "quern/error.h"

namespace quern::cli {

// The bytes of a file or pipe. Errors: one that cannot be opened or read, a directory for example,
// with the reason.
Result<std::string> read_text_file(const std::string& path);

}  // namespace quern::cli
