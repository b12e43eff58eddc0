// Integer products of decoded weight blocks with activation planes.
#include "ops/integer_dot.h"

#include <algorithm>

#include "base/check.h"
#include "ops/blocked.h"
#include "ops/quant_dynamic.h"

namespace quern {
namespace {

// The exact product of n bytes: |sum| <= 256 * 128 * 128, far from overflow.
int32_t dot(const int8_t* a, const int8_t* b, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += int32_t{a[i]} * int32_t{b[i]};
  return sum;
}

// The exact sum of n bytes.
// At most 256 * 128.
int32_t sum_of(const int8_t* a, int n) {
  int32_t sum = 0;
  for (int i = 0; i < n; ++i) sum += a[i];
  return sum;
}

// One term: `size` elements from index `first` of the row, which begin at `offset` in their block.
// A term's activation scale is d[first / activation_block], its weight scale that of its
// scale_group; both are constant over a term, since its size is the smaller of the two.
struct Term {
  const BlockFormat& format;
  const DecodedBlock& block;
  const ActivationRow& x;
  int64_t first;
  int offset;
  int size;

  // Calls f(j, begin, count) for each run of elements with sub-scale j; `begin` in the term.
  // Where a term is shorter than a sub-block there is one run, which is the term.
  template <class F>
  void for_each_run(F&& f) const {
    const int run = std::min(size, format.sub_block);
    for (int begin = 0; begin < size; begin += run) {
      f(static_cast<size_t>((offset + begin) / format.sub_block), begin, run);
    }
  }

  // Sum over the sub-blocks of sub * (weight integers times a plane).
  // Summed in i64, so that no sub-scale can overflow; the conversion to f32 is the one rounding of
  // I.
  float product(const std::vector<int8_t>& plane) const {
    int64_t sum = 0;
    for_each_run([&](size_t j, int begin, int count) {
      const int64_t partial = dot(block.q + offset + begin, plane.data() + first + begin, count);
      sum += int64_t{block.sub[j]} * partial;
    });
    return static_cast<float>(sum);
  }

  // f32(I): with 16-bit activations the two planes are multiplied apart and joined once in f32.
  float integer_product() const {
    if (x.hi.empty()) return product(x.lo);
    return 256.0f * product(x.hi) + product(x.lo);
  }

  // The exact sum of the activations' integers in part of the term.
  // S of numerics; for 16 bits the planes add up to q itself.
  int64_t activation_sum(int begin, int count) const {
    const int64_t low = sum_of(x.lo.data() + first + begin, count);
    if (x.hi.empty()) return low;
    return int64_t{256} * sum_of(x.hi.data() + first + begin, count) + low;
  }

  // f32(m): the sub-blocks' minima times the sums of their activations.
  float minimum_product() const {
    int64_t sum = 0;
    for_each_run([&](size_t j, int begin, int count) {
      sum += int64_t{block.mins[j]} * activation_sum(begin, count);
    });
    return static_cast<float>(sum);
  }

  // The term's contribution: scales times the integer product, corrected by the minimum of the
  // kinds that have one (docs/numerics, quantised products).
  // In the order of the table: D * d first, then times f32(I); the minimum's product is rounded
  // apart and joined by one sum or difference.
  float value() const {
    const float d = x.d[static_cast<size_t>(first / format.activation_block)];
    const float main = (block.scale[offset / format.scale_group] * d) * integer_product();
    switch (format.kind) {
      case BlockFormat::Kind::kScaleMin:
        return main + block.minimum * (d * static_cast<float>(activation_sum(0, size)));
      case BlockFormat::Kind::kSuperScaleMin:
        return main - (block.minimum * d) * minimum_product();
      default:
        return main;
    }
  }
};

}  // namespace

// Decodes `n` elements, whole blocks, into integers and scales.
// `row` is n / block_size blocks, at any alignment.
void DecodedRow::decode(const std::byte* row, int64_t n) {
  QUERN_DCHECK(n % format_->block_size == 0);
  blocks_.resize(static_cast<size_t>(n / format_->block_size));
  for (DecodedBlock& block : blocks_) {
    format_->decode(row, block);
    row += format_->block_bytes;
  }
}

// Splits the integers into bytes. With 8 bits they are bytes already; wider ones become a high
// and a low plane that are multiplied separately.
// `q` and `scales` belong to one row of quant.dynamic; the scales are borrowed, the planes are
// copies.
template <class Int>
void ActivationRow::assign(std::span<const Int> q, int32_t limit, std::span<const float> scales) {
  const bool has_planes = limit != dynamic_limit(8);
  hi.resize(has_planes ? q.size() : 0);
  lo.resize(q.size());
  if (has_planes) std::ranges::transform(q, hi.begin(), high_plane);
  for (size_t i = 0; i < q.size(); ++i) {
    lo[i] = has_planes ? low_plane(q[i]) : static_cast<int8_t>(q[i]);
  }
  d = scales;
}
template void ActivationRow::assign(std::span<const int8_t>, int32_t, std::span<const float>);
template void ActivationRow::assign(std::span<const int16_t>, int32_t, std::span<const float>);
template void ActivationRow::assign(std::span<const int32_t>, int32_t, std::span<const float>);

// Sum of the terms in groups of kDotBlock elements, the order that all backends share.
// A fold block covers kDotBlock elements: 8 terms of 32, 16 of 16 or 1 of 256.
float integer_dot(const DecodedRow& weight, const ActivationRow& x) {
  const BlockFormat& format = weight.format();
  const int size = format.term_size();
  const int terms_per_block = format.block_size / size;
  const auto num_terms = static_cast<int64_t>(weight.blocks().size()) * terms_per_block;
  return blocked_sum_of<float>(num_terms, kDotBlock / size, [&](int64_t t) {
    const DecodedBlock& block = weight.blocks()[static_cast<size_t>(t / terms_per_block)];
    const int offset = static_cast<int>(t % terms_per_block) * size;
    return Term{format, block, x, t * size, offset, size}.value();
  });
}

}  // namespace quern
