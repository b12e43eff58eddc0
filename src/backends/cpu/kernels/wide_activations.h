// 16-bit activations as 16-bit integers instead of two planes of 8, for levels of 256 bits: without
// an int8 dot product, a weight of 8 bits costs four multiplications with the planes (two nibbles
// each) and two with the integers.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/weight_scheme.h"

namespace quern::cpu {

// Whether the products of a scheme read wide activations; `lanes` tells the level. Super schemes
// need the sums of both planes, which their definition rounds apart. Static: see vector-inl.h.
static constexpr bool uses_wide_activations(const WeightScheme& s, int lanes, int planes) {
  return lanes == 8 && planes == 2 && !s.is_super() && (s.bits == 8 || s.table == CodeTable::kIq4);
}

// Wide activations have the places and the size of the planes q [K / 32][W][plane][32] of
// activation_layout.h. The 64 bytes of a token hold for each quad (a0, a2), then (a1, a3):
// the pairs that multiply the even and the odd bytes of a quad of weights.

}  // namespace quern::cpu
