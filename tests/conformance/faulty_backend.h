// Backends that are wrong on purpose, to show that the suite finds it.
#pragma once

#include <memory>
#include <string>

#include "quern/device.h"

namespace quern::test {

enum class Fault {
  kNone,
  kTruncates,      // the sum of two narrow tensors of one shape is cut off instead of rounded
  kOneUlp,         // one element of the first result is off by one ulp
  kLastRow,        // the last row of the first result is not written
  kOverrun,        // a byte after the first result is written
  kUnderrun,       // a byte before it
  kThreadCount,    // more than two threads give another last bit
  kEveryOtherRun,  // the second run on an executable gives another last bit
  kBatch,          // more than one row gives another last bit in the first
  kNoRefusal,      // errors of the kernel are swallowed
  kWrongCode,      // errors of the kernel get another code
  kFails,          // the kernel always fails
};

// The reference backend under the name "faulty", claiming the reference's bits (or,
// `is_approximate`, values within the bounds), with a fault in the kernel of one operation.
std::unique_ptr<Backend> make_faulty_backend(std::string op, Fault fault,
                                             bool is_approximate = false);

}  // namespace quern::test
