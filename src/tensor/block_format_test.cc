#include "tensor/block_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "support/npz_reader.h"
#include "tensor/formats/iq_grids.h"

namespace quern {
namespace {

// The input of the golden files: 4 rows of 1,024 values, whole blocks of every format.
constexpr int64_t kRows = 4;
constexpr int64_t kColumns = 1024;

// Every format of suites/quant_golden, the two plain ones included.
std::vector<DType> golden_dtypes() {
  std::vector<DType> dtypes = {DType::kF16, DType::kBF16};
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.is_quantized && info.dtype != DType::kQ8_K) dtypes.push_back(info.dtype);
  }
  return dtypes;
}

std::vector<float> dequantize(DType dtype, std::span<const std::byte> bytes, int64_t n) {
  const DTypeInfo& info = dtype_info(dtype);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), n / info.block_size * info.block_bytes);
  std::vector<float> values(static_cast<size_t>(n));
  dequantize_row(dtype, bytes.data(), values.data(), n);
  return values;
}

// Equal bits, where all NaNs count as one.
void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << "element " << i << ": " << actual[i] << " for " << expected[i];
  }
}

// The fields of consecutive blocks, each as one long row.
struct DecodedRow {
  std::vector<int8_t> q;
  std::vector<int16_t> sub;
  std::vector<int16_t> mins;
  std::vector<float> scales;
  std::vector<float> minimums;
};

DecodedRow decode_all(const BlockFormat& format, std::span<const std::byte> bytes) {
  DecodedRow row;
  DecodedBlock block;
  const auto step = static_cast<size_t>(format.block_bytes);
  for (size_t at = 0; at + step <= bytes.size(); at += step) {
    format.decode(bytes.data() + at, block);
    row.q.insert(row.q.end(), block.q, block.q + format.block_size);
    row.sub.insert(row.sub.end(), block.sub, block.sub + format.num_sub_blocks());
    row.mins.insert(row.mins.end(), block.mins, block.mins + format.num_sub_blocks());
    row.scales.insert(row.scales.end(), block.scale, block.scale + format.num_scales());
    row.minimums.push_back(block.minimum);
  }
  return row;
}

// bytes_ are blocks that ggml's quantizer wrote, values_ what its own dequantizer read from them;
// arrays_ hold the same blocks taken apart into integers and scales (q, sub, mins, D, M, Dmin), and
// blocks of random bytes ("fuzz") or of large integers ("heavy") with the values that they stand
// for.
class BlockFormatGolden : public testing::TestWithParam<DType> {
 protected:
  std::string name() const { return std::string(dtype_name(GetParam())); }

  // Loads both suites; skips where they are absent.
  void SetUp() override {
    const std::string folder = QUERN_SUITES_DIR "/quant_golden/";
    auto bytes = MappedFile::open(folder + name() + ".quant.bin");
    auto values = MappedFile::open(folder + name() + ".dequant_f32.bin");
    auto archive = test::read_npz(QUERN_SUITES_DIR "/strict_golden/w_" + name() + ".npz");
    if (!bytes || !values || !archive) GTEST_SKIP() << "No golden data for " << name() << ".";
    bytes_ = *bytes;
    values_ = *values;
    arrays_ = *std::move(archive);
  }

  std::vector<float> golden_values() const {
    std::vector<float> values(values_->bytes().size() / sizeof(float));
    std::memcpy(values.data(), values_->bytes().data(), values_->bytes().size());
    return values;
  }

  std::shared_ptr<const MappedFile> bytes_;
  std::shared_ptr<const MappedFile> values_;
  test::NpzArchive arrays_;
};

// Blocks and floats of ggml.
TEST_P(BlockFormatGolden, DequantizesToTheReferenceBits) {
  expect_same_bits(dequantize(GetParam(), bytes_->bytes(), kRows * kColumns), golden_values());
}

// What products use.
TEST_P(BlockFormatGolden, DecodesToTheStrictIntegersAndScales) {
  const BlockFormat* format = find_block_format(GetParam());
  if (format == nullptr) return;  // f16 and bf16 have no blocks
  const DecodedRow row = decode_all(*format, bytes_->bytes());
  EXPECT_EQ(row.q, arrays_.at("q").as<int8_t>());
  // D has the format's power of two in it (1/8 for the iq2 kinds, 1/2 for fp4), as products expect.
  expect_same_bits(row.scales, arrays_.at("D").as<float>());
  if (arrays_.contains("sub")) {
    EXPECT_EQ(row.sub, arrays_.at("sub").as<int16_t>());
  } else {
    // No array of sub-scales: products still multiply by sub, so it must be 1 and not left unset.
    EXPECT_EQ(std::set<int16_t>(row.sub.begin(), row.sub.end()), std::set<int16_t>{1});
  }
  // The kind decides which fields a product reads; the archive says which the format has.
  EXPECT_EQ(arrays_.contains("M"), format->kind == BlockFormat::Kind::kScaleMin);
  EXPECT_EQ(arrays_.contains("Dmin"), format->kind == BlockFormat::Kind::kSuperScaleMin);
  if (arrays_.contains("M")) expect_same_bits(row.minimums, arrays_.at("M").as<float>());
  if (arrays_.contains("Dmin")) {
    expect_same_bits(row.minimums, arrays_.at("Dmin").as<float>());
    EXPECT_EQ(row.mins, arrays_.at("mins").as<int16_t>());
  }
}

// Random and extreme bytes: infinities and NaNs in scales, every code.
TEST_P(BlockFormatGolden, DequantizesAnyBytes) {
  for (const std::string kind : {"fuzz", "heavy"}) {
    if (!arrays_.contains(kind + "_w")) continue;
    const test::NpyArray& expected = arrays_.at(kind + "_w");
    SCOPED_TRACE(kind);
    expect_same_bits(
        dequantize(GetParam(), arrays_.at(kind + "_bytes").bytes, expected.num_elements()),
        expected.as<float>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlockFormatGolden, testing::ValuesIn(golden_dtypes()),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

// Two tables, one truth.
TEST(BlockFormat, EveryQuantizedWeightHasOneThatAgreesWithItsDtype) {
  for (const DTypeInfo& info : all_dtypes()) {
    const BlockFormat* format = find_block_format(info.dtype);
    const bool is_weight = info.is_quantized && info.dtype != DType::kQ8_K;
    ASSERT_EQ(format != nullptr, is_weight) << info.name;
    if (format == nullptr) continue;
    EXPECT_EQ(format->dtype, info.dtype);
    EXPECT_EQ(format->block_size, info.block_size) << info.name;
    EXPECT_EQ(format->block_bytes, info.block_bytes) << info.name;
    // Strict products pair blocks of 256 with activations quantised in blocks of 256, all others
    // with blocks of 32, also where the weight block is longer (q1_0: 128, q2_0 and nvfp4: 64).
    EXPECT_EQ(format->activation_block, info.block_size == 256 ? 256 : 32) << info.name;
    EXPECT_EQ(format->block_size % format->term_size(), 0) << info.name;
    // The sizes of the arrays in DecodedBlock: a larger count would write past them.
    EXPECT_LE(format->num_sub_blocks(), 16) << info.name;
    EXPECT_LE(format->num_scales(), 4) << info.name;
  }
}

// Denormal scales too.
TEST(BlockFormat, Mxfp4ScalesReachBothEndsOfTheExponent) {
  std::byte block[17] = {};
  DecodedBlock decoded;
  const BlockFormat* format = find_block_format(DType::kMXFP4);
  format->decode(block, decoded);
  // Byte 0 is 2^-127 in e8m0; half of it is 2^-128, which only a denormal f32 holds.
  EXPECT_EQ(decoded.scale[0], 0x1p-128f);
  block[0] = std::byte{1};
  format->decode(block, decoded);
  EXPECT_EQ(decoded.scale[0], 0x1p-127f);
  block[0] = std::byte{255};
  format->decode(block, decoded);
  EXPECT_EQ(decoded.scale[0], 0x1p127f);
}

// n = 0.
TEST(BlockFormat, EmptyRowsWriteNothing) {
  float untouched = 7;
  // A null row is what an empty tensor has: nothing may be read from it either.
  dequantize_row(DType::kQ4_K, nullptr, &untouched, 0);
  EXPECT_EQ(untouched, 7);
}

// One call for all weights.
TEST(BlockFormat, PlainTypesDequantizeByWidening) {
  const int8_t row[] = {-128, 0, 127};
  float out[3];
  dequantize_row(DType::kI8, reinterpret_cast<const std::byte*>(row), out, 3);
  EXPECT_EQ(out[0], -128);
  EXPECT_EQ(out[2], 127);
  // q8_K is what activations become, never a weight of a file; i4 has two elements in a byte and is
  // no row that widen_row() walks.
  EXPECT_FALSE(can_dequantize(DType::kQ8_K));
  EXPECT_FALSE(can_dequantize(DType::kI4));
}

template <size_t kElements, size_t kNumRows>
void expect_distinct_rows(const IqGrid<kElements, kNumRows>& grid, std::set<int8_t> levels) {
  // A repeated row would be a copying slip: no grid of the formats has one.
  std::set<std::array<int8_t, kElements>> rows(grid.begin(), grid.end());
  EXPECT_EQ(rows.size(), kNumRows);
  for (const auto& row : grid) {
    for (int8_t value : row) ASSERT_TRUE(levels.contains(value)) << static_cast<int>(value);
  }
}

// A slip in a table of thousands.
TEST(IqGrids, RowsAreDistinctAndUseTheLevelsOfTheFormat) {
  expect_distinct_rows(kIq1Grid, {-1, 0, 1});
  expect_distinct_rows(kIq2XxsGrid, {8, 25, 43});
  expect_distinct_rows(kIq2XsGrid, {8, 25, 43});
  expect_distinct_rows(kIq2SGrid, {8, 25, 43});
  expect_distinct_rows(kIq3XxsGrid, {4, 12, 20, 28, 36, 44, 52, 62});
  expect_distinct_rows(kIq3SGrid, {1, 3, 5, 7, 9, 11, 13, 15});
}

}  // namespace
}  // namespace quern
