// Where each block format keeps fields wider than a byte.
// Codes are bytes and stay; scales and sums are 16 or 32 bits wide and are swapped.
#include "formats/byte_order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

// `count` fields of `width` bytes that start at byte `offset` of a block.
struct Field {
  uint16_t offset;
  uint8_t width;
  uint8_t count;
};

// Widths of the fields of a block of two- and four-byte numbers; the rest is bytes.
struct BlockFields {
  DType dtype;
  std::array<Field, 2> fields;  // count 0: unused
};

// {offset, width, count} of each run of fields: {0, 2, 33} of iq2_xs is the scale with the 32 codes
// of 16 bits behind it, {260, 2, 16} of q8_K are the sums behind 4 + 256 bytes.
// From ggml's block structures. Block formats not listed have fields of single bytes only
// (mxfp4, nvfp4) or no defined order.
constexpr std::array kBlockFields = {
    BlockFields{DType::kQ4_0, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kQ4_1, {{{0, 2, 2}, {}}}},
    BlockFields{DType::kQ5_0, {{{0, 2, 1}, {2, 4, 1}}}},  // the high bits are one u32
    BlockFields{DType::kQ5_1, {{{0, 2, 2}, {4, 4, 1}}}},
    BlockFields{DType::kQ8_0, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kQ2_K, {{{80, 2, 2}, {}}}},
    BlockFields{DType::kQ3_K, {{{108, 2, 1}, {}}}},
    BlockFields{DType::kQ4_K, {{{0, 2, 2}, {}}}},
    BlockFields{DType::kQ5_K, {{{0, 2, 2}, {}}}},
    BlockFields{DType::kQ6_K, {{{208, 2, 1}, {}}}},
    BlockFields{DType::kQ8_K, {{{0, 4, 1}, {260, 2, 16}}}},
    BlockFields{DType::kIQ1_S, {{{0, 2, 1}, {34, 2, 8}}}},
    BlockFields{DType::kIQ2_XS, {{{0, 2, 33}, {}}}},
    BlockFields{DType::kIQ2_S, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kIQ3_S, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kIQ4_NL, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kIQ4_XS, {{{0, 2, 2}, {}}}},
    BlockFields{DType::kTQ1_0, {{{52, 2, 1}, {}}}},
    BlockFields{DType::kTQ2_0, {{{64, 2, 1}, {}}}},
    BlockFields{DType::kQ1_0, {{{0, 2, 1}, {}}}},
    BlockFields{DType::kQ2_0, {{{0, 2, 1}, {}}}},
};

// Types that look the same in both orders.
bool has_only_bytes(DType dtype) {
  return dtype == DType::kMXFP4 || dtype == DType::kNVFP4;
}

// Each field by its width.
void swap_fields(const BlockFields& format, std::span<std::byte> block) {
  for (const Field& field : format.fields) {
    const size_t size = size_t{field.width} * field.count;
    if (size > 0) reverse_byte_groups(block.subspan(field.offset, size), field.width);
  }
}

}  // namespace

// Groups of `width` bytes.
void reverse_byte_groups(std::span<std::byte> bytes, size_t width) {
  if (width < 2) return;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    std::ranges::reverse(bytes.subspan(at, width));
  }
}

// In place. Errors: kUnimplemented for types whose layout is not known here.
Result<void> swap_byte_order(DType dtype, std::span<std::byte> blocks) {
  const DTypeInfo& info = dtype_info(dtype);
  if (!info.is_quantized) {
    // A complex number is two floats, each swapped on its own.
    const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
    reverse_byte_groups(blocks, static_cast<size_t>(info.block_bytes / (is_complex ? 2 : 1)));
    return {};
  }
  if (has_only_bytes(dtype)) return {};
  const auto* format = std::ranges::find(kBlockFields, dtype, &BlockFields::dtype);
  if (format == kBlockFields.end()) {
    return fail::unimplemented("The format {} has no defined big-endian form.", info.name);
  }
  const auto block_bytes = static_cast<size_t>(info.block_bytes);
  for (size_t at = 0; at + block_bytes <= blocks.size(); at += block_bytes) {
    swap_fields(*format, blocks.subspan(at, block_bytes));
  }
  return {};
}

}  // namespace quern
