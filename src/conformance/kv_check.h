// The operations on key-value states, in runs that build on each other.
#pragma once

#include <functional>
#include <string_view>

#include "conformance/case_check.h"

namespace quern {

// Prefill, decode and mixed batches of two sequences over the types that caches have, with windows,
// caps and sinks; keys kept unrotated, read back and written anew. `report_of` gives the report of
// an operation, or null where it is not wanted. Errors: defects of the scenarios.
Result<void> check_kv_operations(TestBench& bench,
                                 const std::function<OpReport*(std::string_view)>& report_of);

}  // namespace quern
