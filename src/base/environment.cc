// The only calls of getenv.
#include "base/environment.h"

#include <cstdlib>

namespace quern {

// QUERN_CACHE wins over XDG_CACHE_HOME, which wins over the home folder (XDG base directory
// specification).
Environment read_environment() {
  Environment environment;
  const char* home = std::getenv("HOME");
  // A service or container may run without a home; the current folder can still be written to.
  environment.home = home == nullptr ? "." : home;
  if (const char* cache = std::getenv("QUERN_CACHE")) {
    environment.cache_folder = cache;
  } else if (const char* xdg = std::getenv("XDG_CACHE_HOME")) {
    environment.cache_folder = std::string(xdg) + "/quern";
  } else {
    environment.cache_folder = environment.home + "/.cache/quern";
  }
  return environment;
}

}  // namespace quern
