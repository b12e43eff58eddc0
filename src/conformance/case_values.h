// Seeded values for the inputs of conformance cases: the same numbers on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "conformance/case_pattern.h"
#include "quern/tensor.h"

namespace quern {

// How free values are drawn; bound ones (indices, probabilities, ...) are the same in all sets.
enum class ValueSet {
  kNormal,    // normal distribution
  kOutliers,  // the same with one element in 32 a thousand times larger, one as much smaller
  kSpecial,   // the same with one element in 4 a zero, denormal, infinity, NaN or extreme
};
std::string_view value_set_name(ValueSet set);

// A splitmix64 sequence. A plain value; one thread only.
class CaseRandom {
 public:
  explicit CaseRandom(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double normal();                                                          // near enough
 private:
  uint64_t state_;
};

// One tensor for each port of the pattern, empty where the port is absent.
// Errors: an extent that no tensor has; a dtype without values.
Result<std::vector<Tensor>> case_inputs(const CasePattern& pattern, const SymbolValues& sizes,
                                        DType tested, ValueSet set, uint64_t seed);

// Whether the sets differ on this pattern: it has free floats.
bool has_free_floats(const CasePattern& pattern);

}  // namespace quern
