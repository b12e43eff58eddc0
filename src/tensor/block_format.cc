// Lookup of block formats, and rows of blocks to and from f32.
#include "tensor/block_format.h"

#include "base/check.h"
#include "tensor/convert.h"
#include "tensor/formats/families.h"

namespace quern {
namespace {

using Kind = BlockFormat::Kind;

// Elements of a block in runs that share scale, sub-scale and minimum.
template <Kind kKind>
void dequantize_block(const BlockFormat& format, const DecodedBlock& block, float* out) {
  // The products scale * sub and minimum * min are exact, so taking them once per run gives the
  // bits of taking them per element.
  const int run = std::min(format.scale_group, format.sub_block);
  for (int begin = 0; begin < format.block_size; begin += run) {
    const int j = begin / format.sub_block;
    const float scale = block.scale[begin / format.scale_group] * static_cast<float>(block.sub[j]);
    float minimum = 0;
    if constexpr (kKind == Kind::kScaleMin) minimum = block.minimum;
    if constexpr (kKind == Kind::kSuperScaleMin) {
      minimum = block.minimum * static_cast<float>(block.mins[j]);
    }
    for (int i = begin; i < begin + run; ++i) {
      // Exact: an f16 scale has 11 significant bits, sub-scales and q together at most 12 (iq4_xs:
      // 5 and 7; q6_K: 7 and 5), and f32 holds 24. The one rounding of an element is the sum below,
      // so an order of evaluation cannot change the bits.
      const float product = scale * static_cast<float>(block.q[i]);
      if constexpr (kKind == Kind::kScaleMin) {
        out[i] = product + minimum;
      } else if constexpr (kKind == Kind::kSuperScaleMin) {
        out[i] = product - minimum;
      } else {
        out[i] = product;
      }
    }
  }
}

template <Kind kKind>
// Block after block through the decoder of the format.
void dequantize_blocks(const BlockFormat& format, const std::byte* row, float* out, int64_t n) {
  DecodedBlock block;
  for (int64_t i = 0; i < n; i += format.block_size) {
    format.decode(row, block);
    dequantize_block<kKind>(format, block, out + i);
    row += format.block_bytes;
  }
}

}  // namespace

// The format of a dtype; null for dtypes without blocks.
const BlockFormat* find_block_format(DType dtype) {
  // 25 formats in 5 tables: callers look one up once for a tensor, never for a row.
  for (const auto family : {simple_block_formats(), codebook_block_formats(),
                            ternary_block_formats(), k_block_formats(), iq_block_formats()}) {
    for (const BlockFormat& format : family) {
      if (format.dtype == dtype) return &format;
    }
  }
  return nullptr;
}

// Whether dequantize_row() takes the dtype: plain numbers and all block formats.
bool can_dequantize(DType dtype) {
  return can_widen(dtype) || find_block_format(dtype) != nullptr;
}

// Any such row to f32. Rows of blocks are whole.
void dequantize_row(DType dtype, const std::byte* row, float* out, int64_t n) {
  // The kind is a template argument from here on, so that the element loops hold no branch on it.
  if (can_widen(dtype)) return widen_row(dtype, row, out, n);
  const BlockFormat* format = find_block_format(dtype);
  QUERN_CHECK(format != nullptr && n % format->block_size == 0);
  switch (format->kind) {
    case Kind::kScale:
    case Kind::kSuperScale:
      // kScale has sub-scales of 1: multiplying by 1 is exact, so both kinds share one loop.
      return dequantize_blocks<Kind::kScale>(*format, row, out, n);
    case Kind::kScaleMin:
      return dequantize_blocks<Kind::kScaleMin>(*format, row, out, n);
    case Kind::kSuperScaleMin:
      return dequantize_blocks<Kind::kSuperScaleMin>(*format, row, out, n);
  }
}

// Whether quantize_row() takes the dtype: floats, and block formats that we write.
bool can_encode(DType dtype) {
  const BlockFormat* format = find_block_format(dtype);
  return is_float(dtype) || (format != nullptr && format->encode != nullptr);
}

// f32 to any such row, rounded or fitted block by block.
void quantize_row(DType dtype, const float* row, std::byte* out, int64_t n) {
  if (is_float(dtype)) return narrow_row(dtype, row, out, n);
  const BlockFormat* format = find_block_format(dtype);
  QUERN_CHECK(format != nullptr && format->encode != nullptr && n % format->block_size == 0);
  for (int64_t i = 0; i < n; i += format->block_size) {
    format->encode(row + i, out);
    out += format->block_bytes;
  }
}

}  // namespace quern
