// Products of a block-quantised weight row with quantised activations: the term table of strict
// numerics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/block_format.h"

namespace quern {

// A weight row as decoded blocks. The format outlives it.
// Memory is reused from row to row: decode replaces what was there. One thread only.
class DecodedRow {
 public:
  explicit DecodedRow(const BlockFormat& format) : format_(&format) {}
  // Decodes n elements; n is a multiple of the block size.
  // `row` has n / block_size * block_bytes bytes. Any bytes decode (BlockFormat::Decode).
  void decode(const std::byte* row, int64_t n);

  const BlockFormat& format() const { return *format_; }
  std::span<const DecodedBlock> blocks() const { return blocks_; }

 private:
  const BlockFormat* format_;
  std::vector<DecodedBlock> blocks_;
};

// A row of `quant.dynamic`, its 16-bit integers split into planes (q = 256 * hi + lo). With 8 bits
// `hi` is empty and `lo` holds the integers.
// One thread only while it is assigned; `d` must outlive its use.
struct ActivationRow {
  std::vector<int8_t> hi;
  std::vector<int8_t> lo;
  std::span<const float> d;  // one for each activation block of the weight's format

  // `limit` is that of the width: dynamic_limit(8) or dynamic_limit(16). Borrows the scales.
  template <class Int>
  void assign(std::span<const Int> q, int32_t limit, std::span<const float> scales);
};

extern template void ActivationRow::assign(std::span<const int8_t>, int32_t,
                                           std::span<const float>);
extern template void ActivationRow::assign(std::span<const int16_t>, int32_t,
                                           std::span<const float>);
extern template void ActivationRow::assign(std::span<const int32_t>, int32_t,
                                           std::span<const float>);

// The terms of the row folded blocked(256). With integers I (16 bits: 256 * f32(I_hi) + f32(I_lo),
// one rounded addition), S = sum of the activation integers, D, M, Dmin of the weight block:
//   kScale, kSuperScale  (D * d) * f32(I)
//   kScaleMin            (D * d) * f32(I) + M * (d * f32(S))
//   kSuperScaleMin       (D * d) * f32(I) - (Dmin * d) * f32(m),  m = sum of mins[j] * S_j
// I holds the integer sub-scales. A term covers the elements that share weight and activation
// scale. All integer sums are exact.
// `weight` and `x` have the same number of elements, and x the activation block of weight's format.
float integer_dot(const DecodedRow& weight, const ActivationRow& x);

}  // namespace quern
