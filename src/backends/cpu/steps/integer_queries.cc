// From floats to pairs of integers.
#include "backends/cpu/steps/integer_queries.h"

#include <algorithm>

#include "base/checked_math.h"

namespace quern::cpu {
namespace {

// Two integers of 16 bits, the first in the low half.
int32_t pair_of(int32_t first, int32_t second) {
  return static_cast<int32_t>((static_cast<uint32_t>(first) & 0xFFFFU) |
                              (static_cast<uint32_t>(second) << 16));
}

// Rows of the cache are whole blocks; the last is filled with zeros, which add nothing.
int64_t padded_dim(const HostKvStore& store) {
  return round_up(store.key_dim(), kKeyBlock);
}

}  // namespace

// Pairs of a page of keys, pairs and scales of all rows, a row and its integers and scales.
int64_t IntegerQueries::scratch_bytes(const HostKvStore& store) {
  const int64_t dim = padded_dim(store);
  const int64_t blocks = dim / kKeyBlock;
  const int64_t keys = dim / 2 * kPageKeys;
  const int64_t words = keys + (dim / 2 + blocks) * kMaxTileRows + dim + dim / 2 + blocks;
  return round_up(words * 4, 64) + 64;
}

IntegerQueries::IntegerQueries(const HostKvStore& store, const KernelTable& kernels, int bits,
                               std::byte* scratch)
    : kernels_(kernels), bits_(bits), key_dim_(store.key_dim()), padded_dim_(padded_dim(store)) {
  const int64_t blocks = padded_dim_ / kKeyBlock;
  // Parts of the scratch memory.
  const auto take = [&](int64_t words) {
    std::byte* taken = scratch;
    scratch += words * 4;
    return taken;
  };
  key_pairs_ = reinterpret_cast<int32_t*>(take(padded_dim_ / 2 * kPageKeys));
  pairs_ = reinterpret_cast<int32_t*>(take(padded_dim_ / 2 * kMaxTileRows));
  scales_ = reinterpret_cast<float*>(take(blocks * kMaxTileRows));
  row_ = reinterpret_cast<float*>(take(padded_dim_));
  integers_ = reinterpret_cast<int16_t*>(take(padded_dim_ / 2));
  row_scales_ = reinterpret_cast<float*>(take(blocks));
  // Elements behind key_dim stay 0 for every query.
  std::fill_n(row_, padded_dim_, 0.0F);
}

void IntegerQueries::load(int row, const float* x) {
  std::copy_n(x, key_dim_, row_);
  kernels_.quantize.quantize_row[bits_ / 8 - 1](row_, padded_dim_, kKeyBlock, integers_,
                                                row_scales_);
  // 8-bit integers use half of the room.
  const auto* bytes = reinterpret_cast<const int8_t*>(integers_);
  for (int64_t i = 0; i < padded_dim_ / 2; ++i) {
    const int64_t e = first_of_pair(i);
    pairs_[i * kMaxTileRows + row] =
        bits_ == 16 ? pair_of(integers_[e], integers_[e + 2]) : pair_of(bytes[e], bytes[e + 2]);
  }
  for (int64_t i = 0; i < padded_dim_ / kKeyBlock; ++i) {
    scales_[i * kMaxTileRows + row] = row_scales_[i];
  }
}

IntegerQuery IntegerQueries::query() const {
  return {padded_dim_ / kKeyBlock, pairs_, scales_, key_pairs_};
}

}  // namespace quern::cpu
