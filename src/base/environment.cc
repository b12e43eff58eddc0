// The only calls of getenv.
#include "base/environment.h"

#include <cstdlib>

namespace quern {

Environment read_environment() {
  Environment environment;
  const char* home = std::getenv("HOME");
  environment.home = home == nullptr ? "." : home;
  return environment;
}

}  // namespace quern
