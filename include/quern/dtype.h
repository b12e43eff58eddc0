// Element types of tensors: plain numbers and the block-quantised formats of ggml.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace quern {

// The type of a tensor's elements. The order is frozen only within one build: files and text name
// types by dtype_name().
enum class DType : uint8_t {
  // IEEE 754 floats, the upper half of an f32 (bf16), and the two 8-bit floats of OCP FP8 1.0:
  // e4m3 without infinities, e5m2 with them.
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  // Two's complement and unsigned integers.
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  // Packed: two elements to a byte, the first in the low half; b1 eight, the first in bit 0.
  kI4,
  kU4,
  kB1,
  // Real part, then imaginary part, each f32 or f64.
  kComplex64,
  kComplex128,
  // Block-quantised: a block of elements shares scales. Names and bytes are ggml's.
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  kQ2_0,
};
// Number of element types, for tables indexed by DType.
inline constexpr int kNumDTypes = static_cast<int>(DType::kQ2_0) + 1;

// Facts of one element type. A row of a table that lives as long as the process.
struct DTypeInfo {
  DType dtype;
  std::string_view name;  // "f32", "q4_K", ...
  int32_t block_size;     // elements in a block; 1 for plain types, 2 for i4 and u4, 8 for b1
  int32_t block_bytes;    // bytes of a block
  bool is_float;
  bool is_integer;    // plain integers; b1 is one
  bool is_quantized;  // a block-quantised format
};

// The facts of `dtype`. The reference is to a static table.
const DTypeInfo& dtype_info(DType dtype);
// All types in the order of the enumeration.
std::span<const DTypeInfo> all_dtypes();
// "f32", "bf16", "q4_K", ...: the name in messages, in text and on the command line.
std::string_view dtype_name(DType dtype);
// The dtype of this name, or nothing. Names are case-sensitive.
std::optional<DType> find_dtype(std::string_view name);

// Block-quantised: elements cannot be addressed one by one.
inline bool is_quantized(DType d) {
  return dtype_info(d).is_quantized;
}
// f64, f32, f16, bf16, f8e4m3, f8e5m2.
inline bool is_float(DType d) {
  return dtype_info(d).is_float;
}
// i64 to i8, u64 to u8, i4, u4 and b1.
inline bool is_integer(DType d) {
  return dtype_info(d).is_integer;
}

// How a tensor's integers stand for real numbers, for quantisation that is not a ggml format:
// integers q and scales d, x = d * (q - zero_point), one scale per block, channel or tensor. A
// plain value; thread-compatible.
struct QuantSpec {
  // Which elements share a scale: all, those of one output channel (row), or runs along a row.
  enum class Axis : uint8_t { kTensor, kChannel, kBlock };
  Axis axis = Axis::kBlock;
  int32_t block = 32;        // elements that share a scale when axis is kBlock
  int32_t bits = 8;          // significant bits of an integer, 2 to 16
  bool is_symmetric = true;  // false: a zero point per scale
  DType scale_type = DType::kF32;
  std::optional<double> static_activation_scale = {};  // absent: scales are found at run time
  bool operator==(const QuantSpec&) const = default;
};

}  // namespace quern
