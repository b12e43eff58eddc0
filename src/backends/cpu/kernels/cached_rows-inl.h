// Vectors of the keys or values of a page, as f32, whatever type the cache has.
// Included after QUERN_ISA_HEADER.
#pragma once

#include "backends/cpu/kernels/attention_kernels.h"

namespace quern::cpu {
namespace {

constexpr int64_t kLineBytes = 64;

constexpr bool is_quantized_cache(CacheType type) {
  return type == CacheType::kQ8_0 || type == CacheType::kQ4_0;
}
// Bytes of the codes of a quantised block.
constexpr int64_t code_bytes_of(CacheType type) {
  return type == CacheType::kQ8_0 ? kKeyBlock : kKeyBlock / 2;
}

// Steps of a product between which some lines are read ahead.
constexpr int64_t kStepsAtOnce = 16;

// Goes through a ReadAhead, its place in registers meanwhile; null: does nothing.
class ReadingAhead {
 public:
  QUERN_INLINE explicit ReadingAhead(ReadAhead* ahead) : ahead_(ahead) {
    if (ahead == nullptr) return;
    lines_ = ahead->lines_per_step;
    at_ = ahead->at;
    end_ = ahead->end;
  }
  // The lines of `count` steps.
  QUERN_INLINE void steps(int64_t count) {
    for (int64_t i = 0; i < count * lines_; ++i, at_ += kLineBytes) {
      if (at_ >= end_ && !next_block()) return;
      __builtin_prefetch(at_, 0, 2);
    }
  }
  QUERN_INLINE void finish() {
    if (ahead_ == nullptr) return;
    ahead_->at = at_;
    ahead_->end = end_;
  }

 private:
  QUERN_INLINE bool next_block() {
    if (ahead_->block == ahead_->num_blocks) return false;
    at_ = ahead_->blocks[ahead_->block++];
    end_ = at_ + ahead_->block_bytes;
    return true;
  }

  ReadAhead* ahead_;
  int64_t lines_ = 0;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
};

// Rows of floats from one column on.
template <CacheType kType>
struct CachedColumns {
  static constexpr int64_t kBytes = kType == CacheType::kF32 ? 4 : 2;
  const char* data;
  int64_t stride;  // bytes

  QUERN_INLINE CachedColumns(const void* page, int64_t row_elements, int64_t column)
      : data(static_cast<const char*>(page) + column * kBytes), stride(row_elements * kBytes) {}

  // Vector v of row k.
  QUERN_INLINE VecF32 at(int64_t k, int v) const {
    const char* p = data + k * stride + v * kLanes * kBytes;
    if constexpr (kType == CacheType::kF32) {
      return load<VecF32>(p);
    } else if constexpr (kType == CacheType::kF16) {
      return widen_f16(reinterpret_cast<const uint16_t*>(p));
    } else {
      return widen_bf16(reinterpret_cast<const uint16_t*>(p));
    }
  }
};

// Rows of quantised values from one column on: scale * integer, exact in f32. Tiles of 32 columns
// and more begin at blocks, and smaller ones lie in one, so that places within them are constants.
template <CacheType kType>
requires(is_quantized_cache(kType)) struct CachedColumns<kType> {
  static constexpr int64_t kCodeBytes = code_bytes_of(kType);
  const int8_t* codes;
  const float* scales;  // [blocks][64]
  int64_t stride;       // of codes
  int shift = 0;

  QUERN_INLINE CachedColumns(const void* page, const float* widened_scales, int64_t num_blocks,
                             int64_t column)
      : codes(static_cast<const int8_t*>(page) + num_blocks * kPageKeys * 2),
        scales(widened_scales + column / kKeyBlock * kPageKeys),
        stride(num_blocks * kCodeBytes) {
    if constexpr (kType == CacheType::kQ8_0) {
      codes += column;
    } else {  // of a block, the low halves of the bytes are the first 16
      codes += column / kKeyBlock * kCodeBytes + column % 16;
      shift = column % kKeyBlock < 16 ? 0 : 4;
    }
  }

  QUERN_INLINE VecF32 at(int64_t k, int v) const {
    const int place = v * kLanes;
    return multiply_broadcast(to_f32(integers(codes + k * stride, place)),
                              scales + place / kKeyBlock * kPageKeys + k);
  }

 private:
  QUERN_INLINE VecI32 integers(const int8_t* row, int place) const {
    if constexpr (kType == CacheType::kQ8_0) {
      return load_i8(row + place);
    } else {
      const VecI32 both = load_i8(row + place / kKeyBlock * kCodeBytes + place % 16);
      return ((both >> (shift + place % kKeyBlock / 16 * 4)) & 15) - 8;
    }
  }
};

// A page of quantised values to f32 rows, `stride` elements apart.
template <CacheType kType>
QUERN_INLINE void widen_values(const void* page, const float* scales, int64_t num_blocks,
                               float* values, int64_t stride) {
  for (int64_t column = 0; column < num_blocks * kKeyBlock; column += kLanes) {
    const CachedColumns<kType> columns(page, scales, num_blocks, column);
    for (int64_t k = 0; k < kPageKeys; ++k) {
      store(values + k * stride + column, columns.at(k, 0));
    }
  }
}

// The scales of a page of quantised values as floats, [blocks][64].
QUERN_INLINE void widen_scales(const void* page, int64_t num_blocks, float* scales) {
  const auto* codes = static_cast<const uint16_t*>(page);
  for (int64_t i = 0; i < num_blocks * kPageKeys; i += kLanes) {
    store(scales + i, widen_f16(codes + i));
  }
}

}  // namespace
}  // namespace quern::cpu
