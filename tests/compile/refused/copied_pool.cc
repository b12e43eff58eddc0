// A pool of threads is neither copied nor moved: its workers hold its address.
// Refused: deleted
#include "base/thread_pool.h"

void caller(quern::ThreadPool& pool) {
#ifdef REFUSED
  quern::ThreadPool copy = pool;
  (void)copy;
#else
  (void)pool.num_threads();
#endif
}
