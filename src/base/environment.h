// The environment variables that Quern looks at; the one place that reads them.
#pragma once

#include <string>

namespace quern {

struct Environment {
  std::string home;  // HOME; "." where it is not set
  // For files that can be made again: QUERN_CACHE, or else quern in XDG_CACHE_HOME or ~/.cache.
  std::string cache_folder;
};

Environment read_environment();

}  // namespace quern
