// Compared as they are written, since the files need not exist yet.
#include "cli/output_paths.h"

#include <filesystem>
#include <set>

#include "base/fail.h"

namespace quern::cli {

Result<void> check_distinct(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> seen;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    if (!seen.insert(std::filesystem::path(path).lexically_normal()).second) {
      return fail::invalid("Two outputs would be written to '{}'.", path);
    }
  }
  return {};
}

}  // namespace quern::cli
