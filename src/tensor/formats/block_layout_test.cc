// Where each element and each scale of a block lies, as a formula of its index: written apart from
// the decoders, which walk bytes. Random blocks must decode to what the formulas read.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tensor/block_format.h"
#include "tensor/convert.h"

namespace quern {
namespace {

using Bytes = std::vector<std::byte>;

// `width` bits of a byte from bit `shift` on.
int bits(const Bytes& block, int byte, int shift, int width) {
  return std::to_integer<int>(block[static_cast<size_t>(byte)]) >> shift & ((1 << width) - 1);
}

float half(const Bytes& block, int byte) {
  return f16_to_f32(
      static_cast<uint16_t>(bits(block, byte, 0, 8) | bits(block, byte + 1, 0, 8) << 8));
}

int signed_byte(const Bytes& block, int byte) {
  return static_cast<int8_t>(bits(block, byte, 0, 8));
}

// One format: the integer of element i, and the numbers that scale it.
// The formulas are those of the published structs of ggml (and of OCP MX for mxfp4), with the byte
// offset of each field written out as a number.
struct LayoutCase {
  DType dtype;
  std::function<int(const Bytes&, int)> element;
  std::function<float(const Bytes&, int)> scale;                // of scale group g
  std::function<int(const Bytes&, int)> sub_scale = nullptr;    // of sub-block j
  std::function<int(const Bytes&, int)> sub_minimum = nullptr;  // of sub-block j
  std::function<float(const Bytes&)> minimum = nullptr;
};

// The nibble of element i of a block of `n` that are split in two halves.
// Byte first + i % (n / 2): the low half for i < n / 2, the high half for the rest.
int nibble(const Bytes& block, int first, int i, int n) {
  return bits(block, first + i % (n / 2), i / (n / 2) * 4, 4);
}

// Numbers of the K formats with 6-bit scales and minimums (q4_K, q5_K) in 12 bytes from `first`.
//   byte      0-3              4-7              8-11
//   bits 0-5  scale 0-3        minimum 0-3      bits 0-3 low half of scale 4-7
//   bits 6-7  top of scale 4-7 top of min 4-7   bits 4-7 low half of minimum 4-7
int six_bits(const Bytes& block, int first, int j, bool is_minimum) {
  if (j < 4) return bits(block, first + j + (is_minimum ? 4 : 0), 0, 6);
  const int low = bits(block, first + 4 + j, is_minimum ? 4 : 0, 4);
  return low | bits(block, first + j - 4 + (is_minimum ? 4 : 0), 6, 2) << 4;
}

constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// e2m1 doubled: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
constexpr int kFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

const std::vector<LayoutCase>& layouts() {
  static const std::vector<LayoutCase> cases = {
      {DType::kQ8_0, [](const Bytes& b, int i) { return signed_byte(b, 2 + i); },
       [](const Bytes& b, int) { return half(b, 0); }},
      {DType::kQ4_0, [](const Bytes& b, int i) { return nibble(b, 2, i, 32) - 8; },
       [](const Bytes& b, int) { return half(b, 0); }},
      {.dtype = DType::kQ4_1,
       .element = [](const Bytes& b, int i) { return nibble(b, 4, i, 32); },
       .scale = [](const Bytes& b, int) { return half(b, 0); },
       .minimum = [](const Bytes& b) { return half(b, 2); }},
      {DType::kQ5_0,
       [](const Bytes& b, int i) {
         return (nibble(b, 6, i, 32) | bits(b, 2 + i / 8, i % 8, 1) << 4) - 16;
       },
       [](const Bytes& b, int) { return half(b, 0); }},
      {.dtype = DType::kQ5_1,
       .element = [](const Bytes& b,
                     int i) { return nibble(b, 8, i, 32) | bits(b, 4 + i / 8, i % 8, 1) << 4; },
       .scale = [](const Bytes& b, int) { return half(b, 0); },
       .minimum = [](const Bytes& b) { return half(b, 2); }},
      {DType::kQ1_0, [](const Bytes& b, int i) { return 2 * bits(b, 2 + i / 8, i % 8, 1) - 1; },
       [](const Bytes& b, int) { return half(b, 0); }},
      {DType::kQ2_0, [](const Bytes& b, int i) { return bits(b, 2 + i / 4, i % 4 * 2, 2) - 1; },
       [](const Bytes& b, int) { return half(b, 0); }},
      {DType::kQ2_K,
       [](const Bytes& b, int i) {
         return bits(b, 16 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
       },
       [](const Bytes& b, int) { return half(b, 80); },
       [](const Bytes& b, int j) { return bits(b, j, 0, 4); },
       [](const Bytes& b, int j) { return bits(b, j, 4, 4); },
       [](const Bytes& b) { return half(b, 82); }},
      {DType::kQ3_K,
       [](const Bytes& b, int i) {
         const int low = bits(b, 32 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2);
         return (low | bits(b, i % 32, i / 32, 1) << 2) - 4;
       },
       [](const Bytes& b, int) { return half(b, 108); },
       [](const Bytes& b, int j) {
         const int low = bits(b, 96 + j % 8, j / 8 * 4, 4);
         return (low | bits(b, 104 + j % 4, j / 4 * 2, 2) << 4) - 32;
       }},
      {DType::kQ4_K,
       [](const Bytes& b, int i) { return bits(b, 16 + i / 64 * 32 + i % 32, i % 64 / 32 * 4, 4); },
       [](const Bytes& b, int) { return half(b, 0); },
       [](const Bytes& b, int j) { return six_bits(b, 4, j, false); },
       [](const Bytes& b, int j) { return six_bits(b, 4, j, true); },
       [](const Bytes& b) { return half(b, 2); }},
      {DType::kQ5_K,
       [](const Bytes& b, int i) {
         const int low = bits(b, 48 + i / 64 * 32 + i % 32, i % 64 / 32 * 4, 4);
         return low | bits(b, 16 + i % 32, i / 32, 1) << 4;
       },
       [](const Bytes& b, int) { return half(b, 0); },
       [](const Bytes& b, int j) { return six_bits(b, 4, j, false); },
       [](const Bytes& b, int j) { return six_bits(b, 4, j, true); },
       [](const Bytes& b) { return half(b, 2); }},
      {DType::kQ6_K,
       [](const Bytes& b, int i) {
         const int low = bits(b, i / 128 * 64 + i % 64, i % 128 / 64 * 4, 4);
         return (low | bits(b, 128 + i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2) << 4) - 32;
       },
       [](const Bytes& b, int) { return half(b, 208); },
       [](const Bytes& b, int j) { return signed_byte(b, 192 + j); }},
      {DType::kTQ2_0,
       [](const Bytes& b, int i) {
         return bits(b, i / 128 * 32 + i % 32, i % 128 / 32 * 2, 2) - 1;
       },
       [](const Bytes& b, int) { return half(b, 64); }},
      {DType::kIQ4_NL, [](const Bytes& b, int i) { return kIq4[nibble(b, 2, i, 32)]; },
       [](const Bytes& b, int) { return half(b, 0); }},
      {DType::kIQ4_XS,
       [](const Bytes& b, int i) { return kIq4[nibble(b, 8 + i / 32 * 16, i % 32, 32)]; },
       [](const Bytes& b, int) { return half(b, 0); },
       [](const Bytes& b, int j) {
         return (bits(b, 4 + j / 2, j % 2 * 4, 4) | bits(b, 2 + j / 4, j % 4 * 2, 2) << 4) - 32;
       }},
      // Half of e8m0, since the integers are doubled.
      {DType::kMXFP4, [](const Bytes& b, int i) { return kFp4[nibble(b, 1, i, 32)]; },
       [](const Bytes& b, int) { return std::ldexp(1.0f, bits(b, 0, 0, 8) - 128); }},
      {DType::kNVFP4,
       [](const Bytes& b, int i) { return kFp4[nibble(b, 4 + i / 16 * 8, i % 16, 16)]; },
       [](const Bytes& b, int g) {
         const int code = bits(b, g, 0, 7);
         return code == 127 ? 0.0f : f8e4m3_to_f32(static_cast<uint8_t>(code)) / 2;
       }},
  };
  return cases;
}

Bytes random_block(const BlockFormat& format, std::mt19937& random) {
  Bytes block(static_cast<size_t>(format.block_bytes));
  for (std::byte& b : block) b = static_cast<std::byte>(random());
  return block;
}

bool is_same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

class BlockLayout : public testing::TestWithParam<size_t> {
 protected:
  const LayoutCase& layout() const { return layouts()[GetParam()]; }
  const BlockFormat& format() const { return *find_block_format(layout().dtype); }
};

// One bit set at a time, by the published layouts.
TEST_P(BlockLayout, ElementsAndScalesLieWhereTheFormulasSay) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Bytes block = random_block(format(), random);
    DecodedBlock decoded;
    format().decode(block.data(), decoded);
    for (int i = 0; i < format().block_size; ++i) {
      ASSERT_EQ(decoded.q[i], layout().element(block, i)) << "element " << i;
    }
    for (int g = 0; g < format().num_scales(); ++g) {
      ASSERT_TRUE(is_same(decoded.scale[g], layout().scale(block, g))) << "scale " << g;
    }
    for (int j = 0; j < format().num_sub_blocks(); ++j) {
      const int expected = layout().sub_scale ? layout().sub_scale(block, j) : 1;
      ASSERT_EQ(decoded.sub[j], expected) << "sub-scale " << j;
      if (layout().sub_minimum) {
        ASSERT_EQ(decoded.mins[j], layout().sub_minimum(block, j));
      }
    }
    if (layout().minimum) {
      ASSERT_TRUE(is_same(decoded.minimum, layout().minimum(block)));
    }
  }
}

// w = (D * sub) * q, then + M or - (Dmin * m), every step in f32.
TEST_P(BlockLayout, ValuesAreTheStatedProducts) {
  std::mt19937 random(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Bytes block = random_block(format(), random);
    std::vector<float> values(static_cast<size_t>(format().block_size));
    dequantize_row(layout().dtype, block.data(), values.data(), format().block_size);
    for (int i = 0; i < format().block_size; ++i) {
      const int j = i / format().sub_block;
      const float sub =
          layout().sub_scale ? static_cast<float>(layout().sub_scale(block, j)) : 1.0f;
      float w = layout().scale(block, i / format().scale_group) * sub *
                static_cast<float>(layout().element(block, i));
      if (layout().minimum && layout().sub_minimum) {
        w = w - layout().minimum(block) * static_cast<float>(layout().sub_minimum(block, j));
      } else if (layout().minimum) {
        w = w + layout().minimum(block);
      }
      ASSERT_TRUE(is_same(values[static_cast<size_t>(i)], w)) << "element " << i;
    }
  }
}

// A row is its blocks, one after the other.
TEST_P(BlockLayout, RowsAreBlocksEndToEnd) {
  std::mt19937 random(3);
  Bytes row;
  std::vector<float> apart;
  for (int b = 0; b < 3; ++b) {
    const Bytes block = random_block(format(), random);
    row.insert(row.end(), block.begin(), block.end());
    std::vector<float> values(static_cast<size_t>(format().block_size));
    dequantize_row(layout().dtype, block.data(), values.data(), format().block_size);
    apart.insert(apart.end(), values.begin(), values.end());
  }
  std::vector<float> together(apart.size());
  dequantize_row(layout().dtype, row.data(), together.data(),
                 static_cast<int64_t>(together.size()));
  for (size_t i = 0; i < apart.size(); ++i) ASSERT_TRUE(is_same(together[i], apart[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockLayout, testing::Range(size_t{0}, layouts().size()),
                         [](const auto& info) {
                           return std::string(dtype_name(layouts()[info.param].dtype));
                         });

// Five base-3 digits d0 .. d4 are packed as the smallest byte b with b / 256 >= 0.d0 d1 d2 d3 d4 in
// base 3: every combination reads back.
TEST(TernaryLayout, EveryGroupOfFiveDigitsReadsBack) {
  const BlockFormat& format = *find_block_format(DType::kTQ1_0);
  for (int code = 0; code < 243; ++code) {
    std::array<int, 5> digits{};
    for (int n = 4, rest = code; n >= 0; --n, rest /= 3) digits[static_cast<size_t>(n)] = rest % 3;
    // The smallest byte b with b / 256 >= code / 243: rounding up, so that truncation finds the
    // digits.
    const int packed = (code * 256 + 242) / 243;
    Bytes block(static_cast<size_t>(format.block_bytes));
    block[7] = static_cast<std::byte>(packed);   // of the 32 bytes of 5 digits
    block[40] = static_cast<std::byte>(packed);  // of the 16
    DecodedBlock decoded;
    format.decode(block.data(), decoded);
    for (size_t n = 0; n < 5; ++n) {
      EXPECT_EQ(decoded.q[n * 32 + 7], digits[n] - 1) << code;
      EXPECT_EQ(decoded.q[160 + n * 16 + 8], digits[n] - 1) << code;
    }
  }
}

// The last four bytes hold four digits each.
TEST(TernaryLayout, EveryGroupOfFourDigitsReadsBack) {
  const BlockFormat& format = *find_block_format(DType::kTQ1_0);
  for (int code = 0; code < 81; ++code) {
    std::array<int, 4> digits{};
    for (int n = 3, rest = code; n >= 0; --n, rest /= 3) digits[static_cast<size_t>(n)] = rest % 3;
    Bytes block(static_cast<size_t>(format.block_bytes));
    // Four digits are five with a last digit of 0: code * 3 of 243.
    block[50] = static_cast<std::byte>((code * 3 * 256 + 242) / 243);
    DecodedBlock decoded;
    format.decode(block.data(), decoded);
    for (size_t n = 0; n < 4; ++n) EXPECT_EQ(decoded.q[240 + n * 4 + 2], digits[n] - 1) << code;
  }
}

// The signs of the iq2_xxs, iq2_xs and iq3_xxs rows: seven are stored, the eighth makes their
// number even.
TEST(SignLayout, NegativeElementsAreEvenInNumber) {
  std::mt19937 random(4);
  for (const DType dtype : {DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ3_XXS}) {
    const BlockFormat& format = *find_block_format(dtype);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Bytes block = random_block(format, random);
      DecodedBlock decoded;
      format.decode(block.data(), decoded);
      // 256 elements in 32 rows of 8; a row has its own 7 sign bits.
      for (int row = 0; row < 32; ++row) {
        int negative = 0;
        for (int i = 0; i < 8; ++i) negative += decoded.q[row * 8 + i] < 0;
        EXPECT_EQ(negative % 2, 0) << dtype_name(dtype);
      }
    }
  }
}

// Sub-scales of the iq formats are odd: s + 1/2, doubled.
TEST(SignLayout, SubScalesAreOdd) {
  std::mt19937 random(5);
  for (const DType dtype : {DType::kIQ1_S, DType::kIQ1_M, DType::kIQ2_XXS, DType::kIQ2_XS,
                            DType::kIQ2_S, DType::kIQ3_XXS, DType::kIQ3_S}) {
    const BlockFormat& format = *find_block_format(dtype);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Bytes block = random_block(format, random);
      DecodedBlock decoded;
      format.decode(block.data(), decoded);
      const bool has_three_bits = dtype == DType::kIQ1_S || dtype == DType::kIQ1_M;
      for (int j = 0; j < format.num_sub_blocks(); ++j) {
        EXPECT_EQ(decoded.sub[j] % 2, 1) << dtype_name(dtype);
        // 2 s + 1 with s of 3 bits is at most 15, of 4 bits at most 31.
        EXPECT_LE(decoded.sub[j], has_three_bits ? 15 : 31) << dtype_name(dtype);
        EXPECT_GE(decoded.sub[j], 1);
      }
    }
  }
}

// Encoding what a block decodes to gives values that are no further away: a fixed point in value.
TEST(Encoders, TheirOwnValuesAreKept) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  for (const DTypeInfo& info : all_dtypes()) {
    if (!info.is_quantized || !can_encode(info.dtype) || !can_dequantize(info.dtype)) continue;
    const auto n = static_cast<size_t>(info.block_size);
    for (int repeat = 0; repeat < 10; ++repeat) {
      std::vector<float> x(n), once(n), twice(n);
      for (float& v : x) v = normal(random);
      Bytes block(static_cast<size_t>(info.block_bytes));
      const auto pass = [&](const std::vector<float>& from, std::vector<float>& to) {
        quantize_row(info.dtype, from.data(), block.data(), static_cast<int64_t>(n));
        dequantize_row(info.dtype, block.data(), to.data(), static_cast<int64_t>(n));
      };
      pass(x, once);
      pass(once, twice);
      double first = 0, second = 0;
      for (size_t i = 0; i < n; ++i) {
        first += (once[i] - x[i]) * (once[i] - x[i]);
        second += (twice[i] - once[i]) * (twice[i] - once[i]);
      }
      // Not 0: the sub-scales of a super-block are searched again and may settle elsewhere. Half
      // the error of the first pass is far from what a wrong layout would give.
      EXPECT_LE(second, first * 0.25) << info.name;
    }
  }
}

// The mean error of standard normal numbers, against 1 for no information at all; each bit more
// divides it by about four.
TEST(Encoders, ErrorsFollowTheirBits) {
  struct Case {
    DType dtype;
    double limit;
  };
  const std::vector<Case> cases = {
      // Uniform steps of width s have the mean square error s^2 / 12. Blocks of 32 normal numbers
      // reach about 2.1 deviations to each side, so b bits have s = 4.2 / 2^b: 4 bits give 5.7e-3.
      // The limits are two to five times such estimates, for scales that are rounded too (most for
      // mxfp4, whose scales are powers of two).
      {DType::kQ8_0, 1e-4},   {DType::kQ6_K, 1e-3},     {DType::kQ5_K, 3e-3},
      {DType::kQ5_0, 4e-3},   {DType::kQ5_1, 3e-3},     {DType::kQ4_K, 1.1e-2},
      {DType::kQ4_0, 1.5e-2}, {DType::kQ4_1, 1.2e-2},   {DType::kQ3_K, 5e-2},
      {DType::kQ2_K, 0.16},   {DType::kIQ4_NL, 1.1e-2}, {DType::kMXFP4, 3e-2}};
  for (const Case& c : cases) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    constexpr int64_t kCount = 8192;
    std::vector<float> x(kCount), y(kCount);
    for (float& v : x) v = normal(random);
    const DTypeInfo& info = dtype_info(c.dtype);
    Bytes bytes(static_cast<size_t>(kCount / info.block_size * info.block_bytes));
    quantize_row(c.dtype, x.data(), bytes.data(), kCount);
    dequantize_row(c.dtype, bytes.data(), y.data(), kCount);
    double error = 0, size = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      error += double{x[i] - y[i]} * double{x[i] - y[i]};
      size += double{x[i]} * double{x[i]};
    }
    EXPECT_LT(error / size, c.limit) << info.name;
  }
}

// Scaling all values by a power of two scales the result by it, while scales stay normal halves.
TEST(Encoders, PowersOfTwoPassThrough) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  for (const DTypeInfo& info : all_dtypes()) {
    if (!info.is_quantized || !can_encode(info.dtype) || !can_dequantize(info.dtype)) continue;
    const auto n = static_cast<int64_t>(info.block_size);
    std::vector<float> x(static_cast<size_t>(n)), scaled(x.size()), y(x.size()), z(x.size());
    for (float& v : x) v = normal(random);
    // Every step of a fit scales exactly, and so does an f16 or e8m0 scale: any difference would be
    // a constant of the search that has the size of the weights in it.
    for (size_t i = 0; i < x.size(); ++i) scaled[i] = x[i] * 4;
    Bytes block(static_cast<size_t>(info.block_bytes));
    quantize_row(info.dtype, x.data(), block.data(), n);
    dequantize_row(info.dtype, block.data(), y.data(), n);
    quantize_row(info.dtype, scaled.data(), block.data(), n);
    dequantize_row(info.dtype, block.data(), z.data(), n);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(z[i], y[i] * 4) << info.name << " " << i;
  }
}

}  // namespace
}  // namespace quern
