// Files that one command writes.
#pragma once

#include <string>
#include <vector>

#include "quern/error.h"

namespace quern::cli {

// Refuses two paths that name one file ("y.npy", "./y.npy"): one of the outputs would be lost in
// silence. Empty paths are outputs that nobody asked for. Errors: kInvalidArgument, with the path.
Result<void> check_distinct(const std::vector<std::string>& paths);

}  // namespace quern::cli
