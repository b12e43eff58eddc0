// Every type of value against every getter.
#include "formats/metadata_value.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "formats/gguf_types.h"

namespace quern {
namespace {

template <class T>
std::string shown(const Result<T>& result) {
  if (!result) return result.error().message;
  if constexpr (std::same_as<T, std::string_view>) {
    return std::string(*result);
  } else {
    return std::to_string(*result);
  }
}

// What the four getters say of element 0.
std::array<std::string, 4> all_of(const MetadataValue& value) {
  return {shown(value.integer_at(0)), shown(value.number_at(0)), shown(value.bool_at(0)),
          shown(value.text_at(0))};
}

using Four = std::array<std::string, 4>;

// 0 and 1 are, as some converters write them.
TEST(MetadataValue, IntegersOfEveryWidthAreIntegersNumbersAndSometimesBools) {
  EXPECT_EQ(all_of(MetadataValue::number<uint8_t>(255)),
            (Four{"255", "255.000000", "holds 255; a bool is needed",
                  "is of type u8; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::number<int8_t>(-128)),
            (Four{"-128", "-128.000000", "holds -128; a bool is needed",
                  "is of type i8; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::number<uint16_t>(1)),
            (Four{"1", "1.000000", "1", "is of type u16; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::number<int16_t>(0)),
            (Four{"0", "0.000000", "0", "is of type i16; a string is needed"}));
  EXPECT_EQ(shown(MetadataValue::number<uint32_t>(4294967295U).integer_at(0)), "4294967295");
  EXPECT_EQ(shown(MetadataValue::number<int32_t>(INT32_MIN).integer_at(0)), "-2147483648");
  EXPECT_EQ(shown(MetadataValue::number<int64_t>(INT64_MIN).integer_at(0)), "-9223372036854775808");
  EXPECT_EQ(shown(MetadataValue::number<uint64_t>(uint64_t{1} << 63).integer_at(0)),
            "holds 9223372036854775808; the limit is 2^63 - 1");
  // Past int64, but exact as a double: number_at() must not go through integer_at().
  EXPECT_EQ(*MetadataValue::number<uint64_t>(uint64_t{1} << 63).number_at(0), 0x1p63);
  EXPECT_EQ(shown(MetadataValue::number<uint64_t>(uint64_t{1} << 63).bool_at(0)),
            "is of type u64; a bool is needed");
}

// No value is rounded or parsed in silence.
TEST(MetadataValue, FloatsBoolsAndTextsAreThemselvesOnly) {
  EXPECT_EQ(all_of(MetadataValue::number(0.5F)),
            (Four{"is of type f32; an integer is needed", "0.500000",
                  "is of type f32; a bool is needed", "is of type f32; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::number(-0.25)),
            (Four{"is of type f64; an integer is needed", "-0.250000",
                  "is of type f64; a bool is needed", "is of type f64; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::number(true)),
            (Four{"is of type bool; an integer is needed", "is of type bool; a number is needed",
                  "1", "is of type bool; a string is needed"}));
  EXPECT_EQ(all_of(MetadataValue::text("7")), (Four{"is of type string; an integer is needed",
                                                    "is of type string; a number is needed",
                                                    "is of type string; a bool is needed", "7"}));
  EXPECT_EQ(MetadataValue(), MetadataValue::text(""));
}

// An empty array has no element 0; a file may have one where a number or a text is expected.
TEST(MetadataValue, ElementsOutsideAreErrors) {
  const MetadataValue none = MetadataValue::numbers<int32_t>({});
  EXPECT_EQ(shown(none.integer_at(0)), "has 0 elements; element 0 is needed");
  EXPECT_EQ(shown(none.number_at(0)), "has 0 elements; element 0 is needed");
  EXPECT_EQ(shown(none.bool_at(0)), "has 0 elements; element 0 is needed");
  EXPECT_EQ(shown(MetadataValue::texts({}).text_at(0)), "has 0 elements; element 0 is needed");
  const MetadataValue two = MetadataValue::numbers<float>(std::array<float, 2>{1, 2});
  EXPECT_EQ(shown(two.number_at(2)), "has 2 elements; element 2 is needed");
  EXPECT_EQ(shown(two.number_at(-1)), "has 2 elements; element -1 is needed");
  EXPECT_EQ(shown(two.number_at(1)), "2.000000");
  EXPECT_EQ(shown(MetadataValue::text("x").text_at(1)), "has 1 elements; element 1 is needed");
}

// NaN payloads and negative zero too.
TEST(MetadataValue, ArraysKeepOrderAndBytes) {
  const std::array<uint16_t, 3> numbers = {1, 515, 65535};
  const MetadataValue value = MetadataValue::numbers<uint16_t>(numbers);
  EXPECT_EQ(value.size(), 3);
  EXPECT_TRUE(value.is_array());
  EXPECT_EQ(value.bytes(), std::string_view("\1\0\3\2\xff\xff", 6));
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(*value.integer_at(i), numbers[static_cast<size_t>(i)]);
  // Equal bytes of another type: what a file would hold differs in its type id.
  EXPECT_NE(value, MetadataValue::numbers<int16_t>(std::array<int16_t, 3>{1, 515, -1}));
}

// With empty ones and zeros between.
TEST(MetadataValue, TextsLieEndToEnd) {
  const MetadataValue value = MetadataValue::texts(
      std::array<std::string_view, 4>{"", "ab", "", std::string_view("\0c", 2)});
  EXPECT_EQ(value.size(), 4);
  EXPECT_EQ(value.bytes(), std::string_view("ab\0c", 4));
  EXPECT_EQ(*value.text_at(0), "");
  EXPECT_EQ(*value.text_at(1), "ab");
  EXPECT_EQ(*value.text_at(2), "");
  EXPECT_EQ(value.text_at(3)->size(), 2U);
  EXPECT_EQ(value, MetadataValue::packed_texts(std::string("ab\0c", 4), {0, 2, 2, 4}));
  // The same bytes cut elsewhere are another value.
  EXPECT_NE(value, MetadataValue::packed_texts(std::string("ab\0c", 4), {0, 1, 2, 4}));
}

// For errors and for bounds.
TEST(MetadataValue, NamesAndWidthsOfEveryType) {
  const std::array<std::string_view, kNumMetadataTypes> names = {
      "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "bool", "string"};
  const std::array<int, kNumMetadataTypes> widths = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, 0};
  for (size_t i = 0; i < names.size(); ++i) {
    const auto type = static_cast<MetadataType>(i);
    EXPECT_EQ(metadata_type_name(type), names[i]);
    EXPECT_EQ(metadata_type_bytes(type), widths[i]);
    EXPECT_EQ(gguf::find_metadata_type(gguf::metadata_type_id(type)), type);
  }
}

// They can never change.
TEST(GgufTypes, IdsOfValuesAreThoseOfTheFormat) {
  EXPECT_EQ(gguf::metadata_type_id(MetadataType::kUint8), 0U);
  EXPECT_EQ(gguf::metadata_type_id(MetadataType::kBool), 7U);
  EXPECT_EQ(gguf::metadata_type_id(MetadataType::kString), 8U);
  EXPECT_EQ(gguf::metadata_type_id(MetadataType::kUint64), 10U);
  EXPECT_EQ(gguf::metadata_type_id(MetadataType::kFloat64), 12U);
  EXPECT_EQ(gguf::find_metadata_type(gguf::kArrayId), std::nullopt);
  EXPECT_EQ(gguf::find_metadata_type(13), std::nullopt);
  EXPECT_EQ(gguf::find_metadata_type(UINT32_MAX), std::nullopt);
}

// Each id is one dtype or a reason; the ids that files use most are spelled out.
TEST(GgufTypes, IdsOfTensorsComeBack) {
  const std::pair<uint32_t, std::string_view> known[] = {
      {0, "f32"},  {1, "f16"},   {2, "q4_0"},  {3, "q4_1"},  {6, "q5_0"},  {7, "q5_1"},
      {8, "q8_0"}, {10, "q2_K"}, {12, "q4_K"}, {14, "q6_K"}, {15, "q8_K"}, {20, "iq4_nl"},
      {24, "i8"},  {28, "f64"},  {30, "bf16"}, {39, "mxfp4"}};
  for (const auto& [id, name] : known) {
    const auto dtype = gguf::find_tensor_dtype(id);
    ASSERT_TRUE(dtype) << id;
    EXPECT_EQ(dtype_name(*dtype), name);
  }
  int num_known = 0;
  for (uint32_t id = 0; id < 64; ++id) {
    const auto dtype = gguf::find_tensor_dtype(id);
    if (!dtype) continue;
    ++num_known;
    EXPECT_EQ(gguf::tensor_type_id(*dtype), id);
  }
  // The ids below 64 that have a dtype: 8 plain types (f16 to f64, bf16, i8 to i64) and 26 formats.
  EXPECT_EQ(num_known, 34);
  EXPECT_EQ(gguf::tensor_type_id(DType::kF8E4M3), std::nullopt);
  EXPECT_EQ(gguf::tensor_type_id(DType::kU8), std::nullopt);
  EXPECT_EQ(gguf::tensor_type_id(DType::kComplex64), std::nullopt);
}

// Old files and newer ones.
TEST(GgufTypes, RemovedAndUnknownIdsSayWhy) {
  EXPECT_EQ(gguf::find_tensor_dtype(4).error().message,
            "is of type 4 (q4_2), which was removed from the format; quantise the model again");
  EXPECT_EQ(gguf::find_tensor_dtype(38).error().message,
            "is of type 38 (iq4_nl_8_8), which was removed from the format; quantise the model "
            "again");
  EXPECT_EQ(gguf::find_tensor_dtype(9).error().code, ErrorCode::kUnimplemented);
  EXPECT_EQ(gguf::find_tensor_dtype(9).error().message,
            "is of type 9 (q8_1), which is for activations, not for weights");
  EXPECT_EQ(gguf::find_tensor_dtype(99).error().message, "is of the unknown type 99");
  EXPECT_EQ(gguf::find_tensor_dtype(99).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace quern
