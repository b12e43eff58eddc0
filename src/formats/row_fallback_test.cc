#include "formats/row_fallback.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "formats/quantize_types.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

// Whole blocks.
TEST(RowFallback, ADTypeThatFitsStays) {
  for (const DTypeInfo& info : all_dtypes()) {
    EXPECT_TRUE(rows_fit(info.dtype, info.block_size * 3LL)) << info.name;
    EXPECT_EQ(dtype_for_rows(info.dtype, info.block_size * 3LL), info.dtype) << info.name;
  }
}

// Rows of 32, 64, 96... fit blocks of 32 only: the replacement has at least as many bits per
// weight.
TEST(RowFallback, LargeBlocksFallBackToBlocksOf32) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (!info.is_quantized || info.block_size <= 32 || info.dtype == DType::kQ8_K) continue;
    const DType given = dtype_for_rows(info.dtype, 32);
    const DTypeInfo& other = dtype_info(given);
    EXPECT_EQ(other.block_size, 32) << info.name;
    EXPECT_TRUE(rows_fit(given, 32));
    // Bytes an element, multiplied out: other.bytes / other.size >= info.bytes / info.size.
    EXPECT_GE(other.block_bytes * info.block_size, info.block_bytes * other.block_size)
        << info.name << " to " << other.name;
    EXPECT_TRUE(can_encode(given)) << other.name;
  }
}

// No block format fits.
TEST(RowFallback, OddRowsAreF16) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (!info.is_quantized) continue;
    EXPECT_FALSE(rows_fit(info.dtype, 33)) << info.name;
    EXPECT_EQ(dtype_for_rows(info.dtype, 33), DType::kF16) << info.name;
    // 33 is one past a block of 32, and odd; 1 is the shortest row there is.
    EXPECT_EQ(dtype_for_rows(info.dtype, 1), DType::kF16) << info.name;
  }
}

// q4_k_m is what people type.
TEST(QuantMixtures, NamesAreUniqueAndFoundInAnyCase) {
  std::set<std::string> names;
  for (const QuantMixture& mixture : quant_mixtures()) {
    std::string lower;
    std::string upper;
    for (const char c : mixture.name) {
      lower += static_cast<char>(std::tolower(c));
      upper += static_cast<char>(std::toupper(c));
    }
    EXPECT_TRUE(names.insert(lower).second) << mixture.name;
    for (const std::string& name : {lower, upper, std::string(mixture.name)}) {
      const auto found = find_quant_mixture(name);
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->name, mixture.name);
    }
    EXPECT_TRUE(can_encode(mixture.base)) << mixture.name;
  }
  const auto unknown = find_quant_mixture("Q9_X");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message.find("'Q9_X' is not a type to quantise to; the types are f32, "
                                         "f16, bf16, q8_0"),
            0U);
  EXPECT_FALSE(find_quant_mixture(""));
}

// Numbers of general.file_type.
TEST(QuantMixtures, FileTypesAreThoseThatOtherToolsKnow) {
  const std::pair<std::string_view, uint32_t> expected[] = {
      {"f32", 0},     {"f16", 1},     {"q4_0", 2},    {"q4_1", 3},    {"q8_0", 7},
      {"q5_0", 8},    {"q5_1", 9},    {"Q2_K", 10},   {"Q3_K_S", 11}, {"Q3_K_M", 12},
      {"Q3_K_L", 13}, {"Q4_K_S", 14}, {"Q4_K_M", 15}, {"Q5_K_S", 16}, {"Q5_K_M", 17},
      {"Q6_K", 18},   {"iq4_nl", 25}, {"bf16", 32},   {"mxfp4", 38}};
  for (const auto& [name, number] : expected) {
    EXPECT_EQ(find_quant_mixture(name)->file_type, number) << name;
  }
}

// The rules of a user: patterns with and without wildcards.
std::string dtype_with(const std::string& pattern, const std::string& name) {
  const std::vector<WeightInfo> tensors = {{name, DType::kF32, Shape{256, 256}},
                                           {"zz.weight", DType::kF32, Shape{256, 256}}};
  const std::vector<KeepRule> rules = {{pattern, DType::kQ8_0}};
  const auto choices =
      choose_types(Metadata(), tensors, *find_quant_mixture("Q4_K_S"), rules, false);
  if (!choices) return choices.error().message;
  return std::string(dtype_name((*choices)[0].dtype));
}

// Against names of real models.
TEST(KeepRules, StarsAndQuestionMarks) {
  const std::string name = "blk.12.ffn_up.weight";
  for (const char* pattern :
       {"ffn_up", "blk.12", "weight", "*", "*.weight", "blk.*", "blk.??.ffn_up.weight", "*12*up*",
        // A star may stand for nothing, and two of them for the same as one.
        "?lk.12.ffn_up.weight", "**", "blk.12.ffn_up.weight*"}) {
    EXPECT_EQ(dtype_with(pattern, name), "q8_0") << pattern;
  }
  for (const char* pattern :
       // With a wildcard the whole name must match: "lk.*" lacks the first letter, "blk.?." has one
       // character for two digits, and the last would need "ffn" twice.
       {"ffn_down", "blk.1.", "*.bias", "?", "blk.?.ffn_up.weight", "*x", "lk.*", "*ffn*ffn_up*"}) {
    EXPECT_EQ(dtype_with(pattern, name),
              fmt::format("No matrix of the model matches the pattern '{}'.", pattern));
  }
  EXPECT_EQ(dtype_with("", name), "No matrix of the model matches the pattern ''.");
}

// In the order of the command line.
TEST(KeepRules, TheFirstRuleThatMatchesDecides) {
  const std::vector<WeightInfo> tensors = {{"a.weight", DType::kF32, Shape{4, 256}},
                                           {"b.weight", DType::kF32, Shape{4, 256}}};
  const std::vector<KeepRule> rules = {{"a", DType::kF16}, {"weight", DType::kQ8_0}};
  const auto choices = choose_types(Metadata(), tensors, *find_quant_mixture("q4_0"), rules, false);
  ASSERT_TRUE(choices);
  EXPECT_EQ((*choices)[0].dtype, DType::kF16);
  EXPECT_EQ((*choices)[1].dtype, DType::kQ8_0);
}

// A model whose architecture is an empty list of names has no facts, and crashes nobody.
TEST(ChooseTypes, EmptyMetadataArraysAreHarmless) {
  Metadata m;
  m.set("general.architecture", MetadataValue::texts({}));
  const std::vector<WeightInfo> tensors = {{"a.weight", DType::kF32, Shape{4, 256}}};
  EXPECT_TRUE(choose_types(m, tensors, *find_quant_mixture("Q4_K_M"), {}, false));
}

// Routers and norms are small and matter.
TEST(ChooseTypes, WhatSteersIsCopied) {
  const std::vector<WeightInfo> tensors = {
      {"blk.0.attn_norm.weight", DType::kF32, Shape{8, 256}},
      {"blk.0.ffn_gate_inp.weight", DType::kF32, Shape{8, 256}},
      {"blk.0.attn_q.bias", DType::kF32, Shape{8, 256}},
      {"blk.0.ssm_conv1d.weight", DType::kF32, Shape{8, 256}},
      {"position_embd.weight", DType::kF32, Shape{8, 256}},
      {"vector.weight", DType::kF32, Shape{256}},
      {"integers.weight", DType::kI32, Shape{8, 256}},
      {"blk.0.attn_q.weight", DType::kF32, Shape{8, 256}}};
  const auto choices = choose_types(Metadata(), tensors, *find_quant_mixture("q8_0"), {}, true);
  ASSERT_TRUE(choices);
  for (size_t i = 0; i + 1 < tensors.size(); ++i) {
    EXPECT_FALSE((*choices)[i].is_converted) << tensors[i].name;
    EXPECT_EQ((*choices)[i].dtype, tensors[i].dtype) << tensors[i].name;
  }
  EXPECT_TRUE(choices->back().is_converted);
  EXPECT_EQ(choices->back().dtype, DType::kQ8_0);
}

}  // namespace
}  // namespace quern
