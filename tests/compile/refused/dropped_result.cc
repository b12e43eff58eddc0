// An error cannot be dropped by accident.
// Refused: nodiscard
#include "quern/error.h"

quern::Result<void> work();

void caller() {
#ifdef REFUSED
  work();
#else
  (void)work();
#endif
}
