// A message whose format does not fit its arguments fails when it is compiled, not when it is
// shown. Refused: constant expression|consteval|immediate function
#include "base/fail.h"

quern::Result<int> refuse(int rows) {
#ifdef REFUSED
  return quern::fail::invalid("{} rows are over {}.", rows);
#else
  return quern::fail::invalid("{} rows are over {}.", rows, 5);
#endif
}
