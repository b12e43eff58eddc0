// Tests of the table of element types against facts that are written down elsewhere.
#include "quern/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quern {
namespace {

// They are part of file formats.
TEST(DType, NamesRoundTripAndAreDistinct) {
  std::set<std::string_view> names;
  for (const DTypeInfo& info : all_dtypes()) {
    EXPECT_EQ(find_dtype(info.name), info.dtype);
    EXPECT_EQ(dtype_name(info.dtype), info.name);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumDTypes));
}

// No prefixes, no case.
TEST(DType, UnknownNamesAreNothing) {
  // "q4" is the beginning of three names and "f32 " is one with a blank: neither may match.
  for (const std::string_view name : {"", "q9_9", "F32", "f32 ", "Q4_K", "float32", "q4"}) {
    EXPECT_FALSE(find_dtype(name)) << name;
  }
}

// Kernels switch on it.
TEST(DType, EachTypeIsOfOneKindAtMost) {
  for (const DTypeInfo& info : all_dtypes()) {
    // Complex types are of no kind: no arithmetic kernel may take them by a test of kinds.
    const int kinds = int{info.is_float} + int{info.is_integer} + int{info.is_quantized};
    const bool is_complex = info.name.starts_with("complex");
    EXPECT_EQ(kinds, is_complex ? 0 : 1) << info.name;
    EXPECT_EQ(is_float(info.dtype), info.is_float);
    EXPECT_EQ(is_integer(info.dtype), info.is_integer);
    EXPECT_EQ(is_quantized(info.dtype), info.is_quantized);
    EXPECT_GE(info.block_size, 1) << info.name;
    EXPECT_GE(info.block_bytes, 1) << info.name;
  }
}

// i16 has two bytes.
TEST(DType, PlainNumbersHaveTheWidthOfTheirName) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.is_quantized || info.name.starts_with("complex") || info.name == "bf16") continue;
    // "f8e4m3" is 8 bits wide: the first number in the name.
    const size_t digit = info.name.find_first_of("0123456789");
    const int bits = std::stoi(std::string(info.name.substr(digit)));
    EXPECT_EQ(info.block_bytes * 8 / info.block_size, bits) << info.name;
  }
}

// Bits per weight as the documentation of the formats states them.
TEST(DType, BlocksHaveTheStatedBitsPerWeight) {
  const auto bits = [](DType dtype) {
    return dtype_info(dtype).block_bytes * 8.0 / dtype_info(dtype).block_size;
  };
  // 4 bits an element and 16 for the scale of 32: 4 + 16 / 32. The other values follow in the same
  // way from the fields of a block, which src/tensor/formats pictures.
  EXPECT_EQ(bits(DType::kQ4_0), 4.5);
  EXPECT_EQ(bits(DType::kQ8_0), 8.5);
  EXPECT_EQ(bits(DType::kQ2_K), 2.625);
  EXPECT_EQ(bits(DType::kQ3_K), 3.4375);
  EXPECT_EQ(bits(DType::kQ4_K), 4.5);
  EXPECT_EQ(bits(DType::kQ5_K), 5.5);
  EXPECT_EQ(bits(DType::kQ6_K), 6.5625);
  EXPECT_EQ(bits(DType::kIQ1_S), 1.5625);
  EXPECT_EQ(bits(DType::kIQ1_M), 1.75);
  EXPECT_EQ(bits(DType::kIQ2_XXS), 2.0625);
  EXPECT_EQ(bits(DType::kIQ2_XS), 2.3125);
  EXPECT_EQ(bits(DType::kIQ3_XXS), 3.0625);
  EXPECT_EQ(bits(DType::kIQ4_XS), 4.25);
  EXPECT_EQ(bits(DType::kIQ4_NL), 4.5);
  EXPECT_EQ(bits(DType::kTQ1_0), 1.6875);
  EXPECT_EQ(bits(DType::kTQ2_0), 2.0625);
  EXPECT_EQ(bits(DType::kMXFP4), 4.25);
  EXPECT_EQ(bits(DType::kNVFP4), 4.5);
}

// One that equality forgot would never be noticed.
TEST(QuantSpec, ComparesAllFields) {
  const QuantSpec spec;
  QuantSpec other = spec;
  EXPECT_EQ(spec, other);
  other.static_activation_scale = 0.5;
  EXPECT_NE(spec, other);
  other = spec;
  other.is_symmetric = false;
  EXPECT_NE(spec, other);
  other = spec;
  other.axis = QuantSpec::Axis::kChannel;
  EXPECT_NE(spec, other);
}

}  // namespace
}  // namespace quern
