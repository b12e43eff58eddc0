// A mapping has one owner: it cannot be copied, nor made around open().
// Refused: private|deleted|delete
#include "base/mapped_file.h"

void caller(const quern::MappedFile& file) {
#ifdef REFUSED
  quern::MappedFile copy = file;
  (void)copy;
#else
  (void)file.bytes();
#endif
}
