// The table of element types.
#include "quern/dtype.h"

#include <array>
#include <cstddef>

namespace quern {
namespace {

// Rows of the table by kind: float, integer (packed ones count a byte or more as a block), complex,
// and the formats of ggml with elements and bytes of a block.
constexpr DTypeInfo floating(DType d, std::string_view name, int bytes) {
  return {d, name, 1, bytes, true, false, false};
}
constexpr DTypeInfo integer(DType d, std::string_view name, int bytes, int block = 1) {
  return {d, name, block, bytes, false, true, false};
}
constexpr DTypeInfo complex(DType d, std::string_view name, int bytes) {
  return {d, name, 1, bytes, false, false, false};
}
constexpr DTypeInfo quantized(DType d, std::string_view name, int block, int bytes) {
  return {d, name, block, bytes, false, false, true};
}

// Bytes of the formats, field by field (f16 scale 2, f16 minimum 2, then scales and integers):
//   q4_0 2 + 16, q4_1 4 + 16, q5_0 2 + 4 + 16, q5_1 4 + 4 + 16, q8_0 2 + 32
//   q2_K 16 + 64 + 4, q3_K 32 + 64 + 12 + 2, q4_K 4 + 12 + 128, q5_K 4 + 12 + 32 + 128,
//   q6_K 128 + 64 + 16 + 2, q8_K (activations) 4 + 256 + 32: an f32 scale, bytes, 16 i16 sums
//   iq1_s 2 + 32 + 16, iq1_m 32 + 16 + 8, iq2_xxs 2 + 64, iq2_xs 2 + 64 + 8,
//   iq2_s 2 + 32 + 32 + 8 + 8, iq3_xxs 2 + 64 + 32, iq3_s 2 + 64 + 8 + 32 + 4, iq4_nl 2 + 16,
//   iq4_xs 2 + 2 + 4 + 128, tq1_0 32 + 16 + 4 + 2, tq2_0 64 + 2, mxfp4 1 + 16, nvfp4 4 + 32,
//   q1_0 2 + 16 (128 signs), q2_0 2 + 16 (64 pairs)
constexpr std::array<DTypeInfo, kNumDTypes> kTable = {
    floating(DType::kF64, "f64", 8),
    floating(DType::kF32, "f32", 4),
    floating(DType::kF16, "f16", 2),
    floating(DType::kBF16, "bf16", 2),
    floating(DType::kF8E4M3, "f8e4m3", 1),
    floating(DType::kF8E5M2, "f8e5m2", 1),
    integer(DType::kI64, "i64", 8),
    integer(DType::kI32, "i32", 4),
    integer(DType::kI16, "i16", 2),
    integer(DType::kI8, "i8", 1),
    integer(DType::kU64, "u64", 8),
    integer(DType::kU32, "u32", 4),
    integer(DType::kU16, "u16", 2),
    integer(DType::kU8, "u8", 1),
    integer(DType::kI4, "i4", 1, 2),
    integer(DType::kU4, "u4", 1, 2),
    integer(DType::kB1, "b1", 1, 8),
    complex(DType::kComplex64, "complex64", 8),
    complex(DType::kComplex128, "complex128", 16),
    quantized(DType::kQ4_0, "q4_0", 32, 18),
    quantized(DType::kQ4_1, "q4_1", 32, 20),
    quantized(DType::kQ5_0, "q5_0", 32, 22),
    quantized(DType::kQ5_1, "q5_1", 32, 24),
    quantized(DType::kQ8_0, "q8_0", 32, 34),
    quantized(DType::kQ2_K, "q2_K", 256, 84),
    quantized(DType::kQ3_K, "q3_K", 256, 110),
    quantized(DType::kQ4_K, "q4_K", 256, 144),
    quantized(DType::kQ5_K, "q5_K", 256, 176),
    quantized(DType::kQ6_K, "q6_K", 256, 210),
    quantized(DType::kQ8_K, "q8_K", 256, 292),
    quantized(DType::kIQ1_S, "iq1_s", 256, 50),
    quantized(DType::kIQ1_M, "iq1_m", 256, 56),
    quantized(DType::kIQ2_XXS, "iq2_xxs", 256, 66),
    quantized(DType::kIQ2_XS, "iq2_xs", 256, 74),
    quantized(DType::kIQ2_S, "iq2_s", 256, 82),
    quantized(DType::kIQ3_XXS, "iq3_xxs", 256, 98),
    quantized(DType::kIQ3_S, "iq3_s", 256, 110),
    quantized(DType::kIQ4_NL, "iq4_nl", 32, 18),
    quantized(DType::kIQ4_XS, "iq4_xs", 256, 136),
    quantized(DType::kTQ1_0, "tq1_0", 256, 54),
    quantized(DType::kTQ2_0, "tq2_0", 256, 66),
    quantized(DType::kMXFP4, "mxfp4", 32, 17),
    quantized(DType::kNVFP4, "nvfp4", 64, 36),
    quantized(DType::kQ1_0, "q1_0", 128, 18),
    quantized(DType::kQ2_0, "q2_0", 64, 18),
};

// dtype_info() indexes the table by the enumeration.
constexpr bool table_is_in_order() {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (static_cast<int>(kTable[static_cast<size_t>(i)].dtype) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "a row of the dtype table is out of order");

}  // namespace

// The row of a dtype.
const DTypeInfo& dtype_info(DType dtype) {
  return kTable[static_cast<size_t>(dtype)];
}

// All rows, in the order of the enumeration.
std::span<const DTypeInfo> all_dtypes() {
  return kTable;
}

// The name of the text forms: "f32", "q4_K".
std::string_view dtype_name(DType dtype) {
  return dtype_info(dtype).name;
}

// 45 short names: a walk costs less than a table of hashes.
std::optional<DType> find_dtype(std::string_view name) {
  for (const DTypeInfo& info : kTable) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

}  // namespace quern
