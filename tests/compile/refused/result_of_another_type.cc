// The value of a Result is not another type's, and a Result is no value.
// Refused: could not convert|no viable conversion
#include <string>

#include "quern/error.h"

quern::Result<std::string> name();

std::string caller() {
#ifdef REFUSED
  return name();
#else
  return name().value_or("");
#endif
}
