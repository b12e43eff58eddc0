// The object that owns the compiled headers.
#include "support/test_headers.h"
