// Chooses scales and integers for a block of f32: the part of an encoder that is not byte layout.
// A quantised cache is made by it too, so its results are frozen; affine_fit.h says in what order.
#pragma once

#include "tensor/block_format.h"

namespace quern {

// Copies x with magnitudes cut to 2^28: past what a format with an f16 scale holds (65,504 * 128 *
// 32 and less), and the sums of squares stay finite. mxfp4 could hold more; no weight is that
// large. False when there is a NaN or an infinity.
bool copy_bounded(const float* x, int n, float* bounded);

// What an encoder stores for a block that is not finite: scales NaN, integers 0, sub-scales 1.
void fill_not_finite(DecodedBlock& out);

// The fits take bounded values; n is 32.

// scale = f16(amax / high), q = round(x / scale) in [-high, high]; no search.
void fit_amax(const float* x, int n, int high, DecodedBlock& out);
// An f16 scale and q in [low, high], low < 0.
void fit_scale(const float* x, int n, int low, int high, DecodedBlock& out);
// An f16 scale, an f16 minimum and q in [0, high].
void fit_scale_min(const float* x, int n, int high, DecodedBlock& out);

// Ranges of the integers of a super-block of 256.
struct SuperRanges {
  int sub_block;          // elements that share a sub-scale: 16 or 32
  int low, high;          // of q; low is 0 where there are minimums
  int sub_low, sub_high;  // of sub-scales, and of minimums where there are some
};

// An f16 scale over integer sub-scales: q3_K, q6_K.
// x holds the 256 values of a super-block.
void fit_super_scale(const float* x, const SuperRanges& ranges, DecodedBlock& out);
// An f16 scale and an f16 minimum over integer sub-scales and minimums: q2_K, q4_K, q5_K.
void fit_super_scale_min(const float* x, const SuperRanges& ranges, DecodedBlock& out);

}  // namespace quern
