// The environment variables that Quern looks at; the one place that reads them.
#pragma once

#include <string>

namespace quern {

// What was read at the call, as values: nobody else looks at the environment. Thread-compatible.
struct Environment {
  std::string home;  // HOME; "." where it is not set
  // For files that can be made again: QUERN_CACHE, or else quern in XDG_CACHE_HOME or ~/.cache.
  std::string cache_folder;
};

// Asks the system each time. Thread-safe as long as nobody changes the environment.
Environment read_environment();

}  // namespace quern
