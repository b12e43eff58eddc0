// The direct packers write what decoding a block and coding it again gives.
#include "backends/cpu/kernels/direct_packing.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels/product_test_support.h"

namespace quern::cpu::test {
namespace {

constexpr std::array kDirect = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,
                                DType::kQ5_1, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

// A panel of `num_rows` of the rows of `weight`, by one of the two packers.
template <class Pack>
std::vector<std::byte> panel_of(const Tensor& weight, int num_rows, int lanes, int full_offset,
                                Pack pack) {
  const BlockFormat& format = *find_block_format(weight.dtype());
  const WeightScheme& s = scheme(scheme_of(format));
  const int64_t columns = weight.shape()[1];
  const int64_t row_bytes = columns / format.block_size * format.block_bytes;
  std::vector<std::byte> panel(
      static_cast<size_t>(columns / s.record_size() * s.record_bytes(lanes)));
  const PanelSource source{format, weight.host_view()->data(), row_bytes, num_rows, columns};
  pack(source, s, lanes, full_offset, panel.data());
  return panel;
}

class DirectPacking : public testing::TestWithParam<DType> {};

// 1,280 columns are whole blocks of every format. Rows below the lanes leave lanes that must be
// zeros in both.
TEST_P(DirectPacking, WritesTheBytesOfTheDecodingPacker) {
  Random random(static_cast<uint64_t>(GetParam()) + 11);
  for (const int lanes : {1, 4, 8, 16}) {
    const Tensor weight = random_blocks(GetParam(), lanes, 1280, random);
    for (const int num_rows : {0, 1, lanes / 2, lanes}) {
      for (const int full_offset : {0, 128}) {
        const auto expected = panel_of(weight, num_rows, lanes, full_offset, pack_decoded_panel);
        const auto actual = panel_of(
            weight, num_rows, lanes, full_offset,
            [](const auto&... arguments) { EXPECT_TRUE(pack_panel_directly(arguments...)); });
        ASSERT_TRUE(actual == expected)
            << lanes << " lanes, " << num_rows << " rows, offset " << full_offset;
      }
    }
  }
}

// All bytes at their ends; scales that are NaN keep being NaN, but with another payload.
// As f16 scales the bytes are zero, near 1, near the largest, a negative denormal and large
// negative numbers, but no NaN.
TEST_P(DirectPacking, TakesBlocksOfOneByte) {
  const BlockFormat& format = *find_block_format(GetParam());
  for (const int byte : {0x00, 0x3C, 0x55, 0x7B, 0x80, 0xAA, 0xF3}) {
    const std::vector<std::byte> bytes(static_cast<size_t>(4 * format.block_bytes),
                                       static_cast<std::byte>(byte));
    const auto weight = Tensor::from_bytes(GetParam(), {4, format.block_size}, bytes);
    ASSERT_TRUE(weight.has_value());
    const auto expected = panel_of(*weight, 4, 4, 128, pack_decoded_panel);
    const auto actual = panel_of(*weight, 4, 4, 128, pack_panel_directly);
    ASSERT_TRUE(actual == expected) << byte;
  }
}

INSTANTIATE_TEST_SUITE_P(AllFormats, DirectPacking, testing::ValuesIn(kDirect),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

// The panel is filled with 7s: a refused packer must not have written.
TEST(DirectPackingTest, LeavesOtherFormatsAndLaneCountsAlone) {
  Random random(5);
  std::vector<std::byte> panel(1 << 16, std::byte{7});
  for (const DType dtype : {DType::kQ2_K, DType::kIQ4_NL, DType::kMXFP4, DType::kTQ1_0}) {
    const BlockFormat& format = *find_block_format(dtype);
    const Tensor weight = random_blocks(dtype, 8, 256, random);
    const PanelSource source{format, weight.host_view()->data(),
                             256 / format.block_size * format.block_bytes, 8, 256};
    EXPECT_FALSE(pack_panel_directly(source, scheme(scheme_of(format)), 8, 128, panel.data()));
  }
  const BlockFormat& format = *find_block_format(DType::kQ8_0);
  const Tensor weight = random_blocks(DType::kQ8_0, 3, 256, random);
  const PanelSource source{format, weight.host_view()->data(), 272, 3, 256};
  EXPECT_FALSE(pack_panel_directly(source, scheme(SchemeId::kQ8), 3, 128, panel.data()));
  EXPECT_TRUE(std::ranges::all_of(panel, [](std::byte b) { return b == std::byte{7}; }));
}

}  // namespace
}  // namespace quern::cpu::test
