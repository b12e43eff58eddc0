// Fits x ~ scale * value to 32 elements, values out of a codebook of 16 integers.
// Frozen, in the orders of affine_fit.h; x is bounded as there.
#pragma once

#include "tensor/block_format.h"

namespace quern {

// iq4_nl: an f16 scale and q of kIq4Values; the best of 10 starting scales, each also refitted
// twice by least squares.
void fit_iq4(const float* x, DecodedBlock& out);

// mxfp4: a scale that is a power of two and q of kFp4Values, ties to the even code; the best of the
// 3 exponents around the smallest that cuts nothing off. The scale is 2^-126 to 2^126.
void fit_fp4(const float* x, DecodedBlock& out);

}  // namespace quern
