// Encoders of block formats: errors against ggml's, special values, and frozen bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<DType> encodable_blocks() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.is_quantized && can_encode(info.dtype)) dtypes.push_back(info.dtype);
  }
  return dtypes;
}

std::vector<std::byte> encode(DType dtype, const std::vector<float>& x) {
  const DTypeInfo& info = dtype_info(dtype);
  const size_t blocks = x.size() / static_cast<size_t>(info.block_size);
  std::vector<std::byte> bytes(blocks * static_cast<size_t>(info.block_bytes));
  quantize_row(dtype, x.data(), bytes.data(), static_cast<int64_t>(x.size()));
  return bytes;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& x) {
  std::vector<float> out(x.size());
  dequantize_row(dtype, encode(dtype, x).data(), out.data(), static_cast<int64_t>(x.size()));
  return out;
}

// 512 values from integer arithmetic alone, so that they are the same everywhere: sums of four
// uniforms with a wide range of scales.
std::vector<float> sample_row() {
  std::vector<float> x(512);
  uint32_t state = 12345;
  for (size_t i = 0; i < x.size(); ++i) {
    int32_t sum = 0;
    for (int k = 0; k < 4; ++k) {
      // A linear congruential generator modulo 2^32; only its high half is used, since the low bits
      // repeat soon.
      state = state * 1664525u + 1013904223u;
      sum += static_cast<int32_t>(state >> 16) - 32768;
    }
    x[i] = std::ldexp(static_cast<float>(sum), static_cast<int>(i / 64) - 20);
  }
  return x;
}

class EncoderGolden : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = QUERN_SUITES_DIR "/quant_golden/";
    auto input = MappedFile::open(folder + "input_f32_4x1024.bin");
    std::ifstream index(folder + "index.tsv");
    if (!input || !index) GTEST_SKIP() << "No golden data in " << folder;
    input_.resize((*input)->bytes().size() / sizeof(float));
    std::memcpy(input_.data(), (*input)->bytes().data(), (*input)->bytes().size());
    std::string line;
    std::getline(index, line);  // column titles
    while (std::getline(index, line)) {
      std::istringstream fields(line);
      std::string name, skipped;
      // Columns of index.tsv: name, four facts that this test does not need, and the error of each
      // row.
      fields >> name >> skipped >> skipped >> skipped >> skipped;
      for (double& rmse : rmse_[name]) fields >> rmse;
    }
  }

  std::vector<float> input_;                           // 4 rows of 1024
  std::map<std::string, std::array<double, 4>> rmse_;  // of ggml's encoder, a row each
};

// ggml's, on the same rows.
TEST_F(EncoderGolden, ErrorsAreAtMostThoseOfTheReferenceEncoder) {
  for (DType dtype : encodable_blocks()) {
    const std::vector<float> decoded = round_trip(dtype, input_);
    const auto& limits = rmse_.at(std::string(dtype_name(dtype)));
    for (size_t row = 0; row < 4; ++row) {
      double sum = 0;
      for (size_t i = row * 1024; i < (row + 1) * 1024; ++i) {
        const double difference = static_cast<double>(decoded[i]) - input_[i];
        sum += difference * difference;
      }
      // The limits are printed with 6 digits.
      EXPECT_LE(std::sqrt(sum / 1024), limits[row] * (1 + 1e-5)) << dtype_name(dtype) << " " << row;
    }
  }
}

// No freedom there.
TEST_F(EncoderGolden, NarrowFloatsGiveTheReferenceBytes) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    const auto expected = MappedFile::open(QUERN_SUITES_DIR "/quant_golden/" +
                                           std::string(dtype_name(dtype)) + ".quant.bin");
    ASSERT_TRUE(expected);
    const std::vector<std::byte> bytes = encode(dtype, input_);
    const auto golden = (*expected)->bytes();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), golden.begin(), golden.end()));
  }
}

// Also as -0.
TEST(Encoder, ZerosStayZeros) {
  for (DType dtype : encodable_blocks()) {
    const std::vector<float> x(256, 0.0f);
    EXPECT_EQ(round_trip(dtype, x), x) << dtype_name(dtype);
  }
}

// It must not look like a number.
TEST(Encoder, OneNanOrInfinityMakesItsBlockNotFinite) {
  for (DType dtype : encodable_blocks()) {
    for (float special : {kNan, kInf, -kInf}) {
      std::vector<float> x = sample_row();
      x[37] = special;
      const std::vector<float> decoded = round_trip(dtype, x);
      const auto size = static_cast<size_t>(dtype_info(dtype).block_size);
      for (size_t i = 0; i < x.size(); ++i) {
        // mxfp4 has no NaN in its scale byte: it marks the block by values past the range of f32.
        const bool is_bad =
            dtype == DType::kMXFP4 ? std::isinf(decoded[i]) : std::isnan(decoded[i]);
        EXPECT_EQ(is_bad, i / size == 37 / size) << dtype_name(dtype) << " " << i;
      }
    }
  }
}

// f16 scales have an end.
TEST(Encoder, ValuesPastTheRangeSaturateWithTheirSign) {
  for (DType dtype : encodable_blocks()) {
    std::vector<float> x(256, 0.0f);
    // Squares of 3e38 are infinite: without the bound of copy_bounded() every error would be
    // infinity, no trial would be better than another, and the scale could become NaN.
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 3e38f : -3e38f;
    const std::vector<float> decoded = round_trip(dtype, x);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(std::isfinite(decoded[i])) << dtype_name(dtype) << " " << i;
      ASSERT_GE(decoded[i] * (i % 2 == 0 ? 1.0f : -1.0f), 0) << dtype_name(dtype) << " " << i;
    }
  }
}

// They become 0.
TEST(Encoder, DenormalsAreTooSmallForAnF16Scale) {
  for (DType dtype : encodable_blocks()) {
    // A denormal f32 far below 2^-24, the least f16. mxfp4 could scale by 2^-126 at the least, and
    // 1e-40 rounds to 0 there too.
    const std::vector<float> x(256, -1e-40f);
    for (float w : round_trip(dtype, x)) ASSERT_EQ(w, 0) << dtype_name(dtype);
  }
}

// No search needed.
TEST(Encoder, ConstantBlocksAreExactWhereTheFormatHoldsThem) {
  const std::vector<float> x(32, 0.75f);
  // With a minimum a constant is scale 0 and minimum 0.75. q4_0 holds -8 with q = -8 and scale 1.
  EXPECT_EQ(round_trip(DType::kQ4_1, x), x);
  EXPECT_EQ(round_trip(DType::kQ5_1, x), x);
  EXPECT_EQ(round_trip(DType::kQ4_0, std::vector<float>(32, -8.0f)), std::vector<float>(32, -8.0f));
}

// The bound of rounding.
TEST(Encoder, Q8ErrorIsHalfAStep) {
  const std::vector<float> x = sample_row();
  const std::vector<float> decoded = round_trip(DType::kQ8_0, x);
  for (size_t block = 0; block < x.size(); block += 32) {
    float amax = 0;
    for (size_t i = block; i < block + 32; ++i) amax = std::max(amax, std::fabs(x[i]));
    // Half a step, and the rounding of the step to f16 times 127.
    const float limit = amax / 127 * (0.5f + 127 * 0x1p-11f);
    for (size_t i = block; i < block + 32; ++i) EXPECT_LE(std::fabs(decoded[i] - x[i]), limit);
  }
}

// As the standard says.
TEST(Encoder, Mxfp4KeepsItsOwnValuesAndTakesTiesToTheEvenCode) {
  std::vector<float> x(32, 0.0f);
  // The magnitudes of e2m1 (OCP MX 1.0): 0, 0.5, 1, 1.5, 2, 3, 4, 6. 6 is the largest, so the block
  // scale is 1 and the others must come back unchanged.
  const std::vector<float> values = {6, -6, 4, 3, 2, 1.5f, 1, 0.5f, -0.5f, -3};
  std::copy(values.begin(), values.end(), x.begin());
  EXPECT_EQ(round_trip(DType::kMXFP4, x), x);
  const std::vector<float> ties = {5, 3.5f, 2.5f, 1.75f, 1.25f, 0.75f, 0.25f, -1.25f};
  // Midpoints of neighbours go to the code whose last bit is 0: 0, 1, 2 and 4.
  const std::vector<float> even = {4, 4, 2, 2, 1, 1, 0, -1};
  std::copy(ties.begin(), ties.end(), x.begin() + 16);
  const std::vector<float> decoded = round_trip(DType::kMXFP4, x);
  for (size_t i = 0; i < even.size(); ++i) EXPECT_EQ(decoded[16 + i], even[i]) << ties[i];
}

// Each of the 16.
TEST(Encoder, Iq4KeepsValuesOfItsCodebook) {
  std::vector<float> x;
  for (int value : {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}) {
    x.push_back(static_cast<float>(value) * 0.125f);
    x.push_back(static_cast<float>(value) * 0.125f);
  }
  EXPECT_EQ(round_trip(DType::kIQ4_NL, x), x);
}

// What `quern quantize` offers.
TEST(Encoder, EveryFloatAndNoReadOnlyFormatCanBeEncoded) {
  EXPECT_TRUE(can_encode(DType::kF8E4M3));
  EXPECT_TRUE(can_encode(DType::kQ8_0));
  EXPECT_FALSE(can_encode(DType::kIQ2_XS));
  EXPECT_FALSE(can_encode(DType::kQ8_K));
  EXPECT_FALSE(can_encode(DType::kI8));
}

// A quantised cache and its products are strict, so these bytes may never change.
TEST(Encoder, BytesAreFrozen) {
  const std::map<DType, uint64_t> frozen = {
      // Hashes of what this code wrote when it was frozen: a change of any order of operations
      // shows here, though every other test of errors may still pass.
      {DType::kQ8_0, 11538171689977968597u}, {DType::kQ4_0, 10853722534366444919u},
      {DType::kQ4_1, 11279304400015548702u}, {DType::kQ5_0, 2053265688378143014u},
      {DType::kQ5_1, 14546550862319100791u},
  };
  for (const auto& [dtype, expected] : frozen) {
    const std::vector<std::byte> bytes = encode(dtype, sample_row());
    EXPECT_EQ(Hasher().bytes(bytes.data(), bytes.size()).digest(), expected) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace quern
