// Activations as 16-bit integers instead of planes of 8, for AVX2. Without an int8 dot product, a
// weight of 8 bits takes two multiplications and two other steps with one plane (signs, a second
// widening), four and six with two (two nibbles each), and two and two with integers.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/weight_scheme.h"

namespace quern::cpu {

// Whether the products of a scheme read wide activations at a level that has them. Super schemes
// need the sums of both planes, which their definition rounds apart. Static: see vector-inl.h.
static constexpr bool uses_wide_activations(const WeightScheme& s, bool level_has_them) {
  return level_has_them && !s.is_super() && (s.bits == 8 || s.table == CodeTable::kIq4);
}

// Wide activations are int16 [K / 32][W][8 quads][4], tile by tile as in activation_layout.h. A
// quad of elements a0 .. a3 is stored as (a0, a2), then (a1, a3): the pairs that multiply the even
// and the odd bytes of a quad of weights.

}  // namespace quern::cpu
