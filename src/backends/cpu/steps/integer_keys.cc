// From blocks to pairs of integers, key by key.
#include "backends/cpu/steps/integer_keys.h"

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

const CachedBlockReaders* find_readers(const KernelTable& kernels, DType dtype) {
  if (dtype == DType::kQ8_0) return &kernels.integer_keys.q8_0;
  return dtype == DType::kQ4_0 ? &kernels.integer_keys.q4_0 : nullptr;
}

bool IntegerKeys::serves(DType key_type) {
  const BlockFormat* format = find_block_format(key_type);
  return format != nullptr && format->block_size == kKeyBlock &&
         format->kind == BlockFormat::Kind::kScale && format->scale_group == kKeyBlock &&
         format->sub_block == kKeyBlock;
}

// Query pairs and scales, key pairs and scales, a row and its integers and scales.
int64_t IntegerKeys::scratch_bytes(const HostKvStore& store) {
  const int64_t dim = padded_dim(store);
  const int64_t blocks = dim / kKeyBlock;
  const int64_t words = (dim / 2 + blocks) * (kMaxTileRows + kPageKeys) + dim + dim / 2 + blocks;
  return round_up(words * 4, 64) + 64;
}

IntegerKeys::IntegerKeys(const HostKvStore& store, const KernelTable& kernels, int bits,
                         std::byte* scratch)
    : kernels_(kernels),
      format_(*find_block_format(store.key_type())),
      bits_(bits),
      key_dim_(store.key_dim()),
      key_row_bytes_(store.key_row_bytes()) {
  const int64_t dim = padded_dim(store);
  const int64_t blocks = dim / kKeyBlock;
  // Parts of the scratch memory, vectors first so that they keep its alignment.
  const auto take = [&](int64_t words) {
    std::byte* taken = scratch;
    scratch += words * 4;
    return taken;
  };
  key_pairs_ = reinterpret_cast<int32_t*>(take(dim / 2 * kPageKeys));
  key_scales_ = reinterpret_cast<float*>(take(blocks * kPageKeys));
  query_pairs_ = reinterpret_cast<int32_t*>(take(dim / 2 * kMaxTileRows));
  query_scales_ = reinterpret_cast<float*>(take(blocks * kMaxTileRows));
  row_ = reinterpret_cast<float*>(take(dim));
  integers_ = reinterpret_cast<int16_t*>(take(dim / 2));
  row_scales_ = reinterpret_cast<float*>(take(blocks));
  // Elements behind key_dim stay 0 for every query.
  std::fill_n(row_, dim, 0.0F);
  page_ = {.padded_dim = dim,
           .query_pairs = query_pairs_,
           .query_scales = query_scales_,
           .key_pairs = key_pairs_,
           .key_scales = key_scales_};
}

void IntegerKeys::load_query(int row, const float* x) {
  std::copy_n(x, key_dim_, row_);
  kernels_.quantize.quantize_row[bits_ / 8 - 1](row_, page_.padded_dim, kKeyBlock, integers_,
                                                row_scales_);
  // 8-bit integers use half of the room.
  const auto* bytes = reinterpret_cast<const int8_t*>(integers_);
  for (int64_t i = 0; i < page_.padded_dim / 2; ++i) {
    const int64_t e = first_of_pair(i);
    query_pairs_[i * kMaxTileRows + row] =
        bits_ == 16 ? pair_of(integers_[e], integers_[e + 2]) : pair_of(bytes[e], bytes[e + 2]);
  }
  for (int64_t i = 0; i < page_.padded_dim / kKeyBlock; ++i) {
    query_scales_[i * kMaxTileRows + row] = row_scales_[i];
  }
}

void IntegerKeys::load_page(const std::byte* keys, const std::byte* next, int64_t rows) {
  const CachedBlockReaders* readers = find_readers(kernels_, format_.dtype);
  if (readers != nullptr) {
    readers->unpack_keys({keys, next, rows, key_row_bytes_, page_.padded_dim / kKeyBlock},
                         key_pairs_, key_scales_);
    return;
  }
  DecodedBlock decoded;
  for (int64_t key = 0; key < rows; ++key) {
    const std::byte* block = keys + key * key_row_bytes_;
    for (int64_t b = 0; b < page_.padded_dim / kKeyBlock; ++b, block += format_.block_bytes) {
      format_.decode(block, decoded);
      key_scales_[b * kPageKeys + key] = decoded.scale[0];
      int32_t* pairs = key_pairs_ + b * (kKeyBlock / 2) * kPageKeys + key;
      for (int64_t i = 0; i < kKeyBlock / 2; ++i) {
        const int64_t e = first_of_pair(i);
        pairs[i * kPageKeys] = pair_of(decoded.q[e], decoded.q[e + 2]);
      }
    }
  }
}

void IntegerKeys::dot(int num_rows, float* scores) {
  page_.num_rows = num_rows;
  page_.scores = scores;
  kernels_.integer_keys.dot_keys(page_);
}

}  // namespace quern::cpu
