// The environment variables that Quern looks at; the one place that reads them.
#pragma once

#include <string>

namespace quern {

struct Environment {
  std::string home;  // HOME; "." where it is not set
};

Environment read_environment();

}  // namespace quern
