// Random codes with scales that give weights of a fixed spread.
// Codes are drawn directly, so that formats without an encoder can be tested too.
#include "formats/synth_random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "tensor/convert.h"

namespace quern {
namespace {

// Which bytes of a block are its scale. Everything else is random codes.
struct Recipe {
  DType dtype;
  int scale_at;       // f16; kNone where the scale is something else
  int minimum_at;     // f16, kNone where there is none
  float min_ratio;    // minimum / scale that makes the mean 0
  float unit_stddev;  // of the elements when scales are around 1; measured, held by the tests
  bool is_signed;     // half of the scales are negative, as encoders give them
};
// No such part.
constexpr int kNone = -1;

// unit_stddev by the example of q4_0: the integers -8 to 7 have the mean square 21.5, scales of
// 0.75 to 1.25 multiply it by 1 + 1/48, and the root of the product is 4.685.
// One row for each format that models can have.
constexpr std::array kRecipes = {
    Recipe{DType::kQ4_0, 0, kNone, 0, 4.686F, true},
    Recipe{DType::kQ4_1, 0, 2, -7.5F, 4.657F, false},
    Recipe{DType::kQ5_0, 0, kNone, 0, 9.343F, true},
    Recipe{DType::kQ5_1, 0, 2, -15.5F, 9.328F, false},
    Recipe{DType::kQ8_0, 0, kNone, 0, 74.66F, false},
    Recipe{DType::kQ2_K, 80, 82, 1.5F, 14.01F, false},
    Recipe{DType::kQ3_K, 108, kNone, 0, 43.73F, true},
    Recipe{DType::kQ4_K, 0, 2, 7.5F, 261.2F, false},
    Recipe{DType::kQ5_K, 0, 2, 15.5F, 531.7F, false},
    Recipe{DType::kQ6_K, 208, kNone, 0, 1379.F, true},
    Recipe{DType::kIQ1_S, 0, kNone, 0, 7.274F, false},
    Recipe{DType::kIQ1_M, kNone, kNone, 0, 7.276F, false},
    Recipe{DType::kIQ2_XXS, 0, kNone, 0, 53.91F, false},
    Recipe{DType::kIQ2_XS, 0, kNone, 0, 56.54F, false},
    Recipe{DType::kIQ2_S, 0, kNone, 0, 56.98F, false},
    Recipe{DType::kIQ3_XXS, 0, kNone, 0, 144.F, false},
    Recipe{DType::kIQ3_S, 0, kNone, 0, 141.6F, false},
    Recipe{DType::kIQ4_NL, 0, kNone, 0, 68.15F, true},
    Recipe{DType::kIQ4_XS, 0, kNone, 0, 1258.F, true},
    Recipe{DType::kTQ1_0, 52, kNone, 0, 0.8286F, false},
    Recipe{DType::kTQ2_0, 64, kNone, 0, 0.7141F, false},
    Recipe{DType::kMXFP4, kNone, kNone, 0, 5.852F, false},
    Recipe{DType::kNVFP4, kNone, kNone, 0, 5.913F, false},
    Recipe{DType::kQ1_0, 0, kNone, 0, 1.01F, false},
    Recipe{DType::kQ2_0, 0, kNone, 0, 0.7141F, false},
};

// Null for formats without blocks.
const Recipe* find_recipe(DType dtype) {
  const auto* found = std::ranges::find(kRecipes, dtype, &Recipe::dtype);
  return found == kRecipes.end() ? nullptr : &*found;
}

// Little-endian, as blocks have it.
void store_f16(float value, std::byte* target) {
  const uint16_t code = to_f16(value);
  target[0] = static_cast<std::byte>(code & 0xff);
  target[1] = static_cast<std::byte>(code >> 8);
}

// Whole words of the generator, whatever the size.
void fill_bytes(SplitMix64& random, std::span<std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const uint64_t word = random.next();
    std::array<std::byte, 8> raw;
    for (size_t i = 0; i < 8; ++i) raw[i] = static_cast<std::byte>(word >> (8 * i));
    std::memcpy(bytes.data() + at, raw.data(), std::min<size_t>(8, bytes.size() - at));
  }
}

// Bit pairs 0, 1, 2 for 0, 1, 2 and 1 for 3: ternary encoders never give 3.
std::byte without_threes(std::byte pairs) {
  const auto value = static_cast<unsigned>(pairs);
  // Bit 2 i is set where pair i is 11; clearing bit 2 i + 1 leaves 01.
  const unsigned threes = value & (value >> 1) & 0x55;
  return static_cast<std::byte>(value ^ (threes << 1));
}

// The byte that packs the base-3 digits of 0..242, rounded up as the format wants.
std::byte ternary_byte(std::byte random) {
  const unsigned digits = static_cast<unsigned>(random) * 243 / 256;
  return static_cast<std::byte>((digits * 256 + 242) / 243);
}

// What random bytes may not be, per format.
void restrict_codes(DType dtype, std::span<std::byte> block) {
  if (dtype == DType::kQ8_0) {
    for (std::byte& code : block) {
      // Scales are among the bytes at this time, but are written over afterwards.
      if (code == std::byte{0x80}) code = std::byte{0x81};  // codes are -127 to 127
    }
  } else if (dtype == DType::kTQ1_0) {
    std::ranges::transform(block, block.begin(), ternary_byte);
  } else if (dtype == DType::kTQ2_0 || dtype == DType::kQ2_0) {
    std::ranges::transform(block, block.begin(), without_threes);
  }
}

// The f16 scale in the top nibbles of the four scale words, lowest first.
void store_iq1_m_scale(float value, std::byte* block) {
  const uint16_t code = to_f16(value);
  for (int k = 0; k < 4; ++k) {
    std::byte& high = block[48 + 2 * k + 1];
    high = (high & std::byte{0x0f}) | static_cast<std::byte>((code >> (4 * k) & 15) << 4);
  }
}

// From 0.75 to 1.25, so that a scale taken from the wrong block shows. Takes 24 bits.
float spread(uint64_t bits) {
  return 0.75F + static_cast<float>(bits & 0xffffff) * 0x1p-25F;
}

// The scale 2^(byte - 128) has to be a power of two: the next lower or higher one, as often as
// makes the mean square right.
std::byte mxfp4_scale(float scale, uint64_t word) {
  int exponent = 0;
  const float ratio = 2 * std::frexp(scale, &exponent);  // 1 <= ratio < 2
  // Lower power 1, higher 2, share p of it: (1 - p) * 1 + p * 4 = ratio^2.
  const float share_of_higher = (ratio * ratio - 1) / 3;
  const bool is_higher = static_cast<float>(word >> 40) * 0x1p-24F < share_of_higher;
  return static_cast<std::byte>(exponent - 1 + 128 + (is_higher ? 1 : 0));
}

// Scales near the one that gives the wanted spread.
void store_scales(const Recipe& recipe, float mean_scale, SplitMix64& random, std::byte* block) {
  const uint64_t word = random.next();
  if (recipe.dtype == DType::kMXFP4) {
    block[0] = mxfp4_scale(mean_scale, word);
    return;
  }
  if (recipe.dtype == DType::kNVFP4) {  // four e4m3 codes, twice the scales
    for (int g = 0; g < 4; ++g) {
      block[g] = static_cast<std::byte>(to_f8e4m3(2 * mean_scale * spread(word >> (10 * g))));
    }
    return;
  }
  float scale = mean_scale * spread(word >> 40);
  if (recipe.is_signed && (word & 1) != 0) scale = -scale;
  if (recipe.dtype == DType::kIQ1_M) return store_iq1_m_scale(scale, block);
  store_f16(scale, block + recipe.scale_at);
  if (recipe.minimum_at != kNone) store_f16(scale * recipe.min_ratio, block + recipe.minimum_at);
}

// Codes at random, then scales over them.
void fill_blocks(const Recipe& recipe, float stddev, SplitMix64& random,
                 std::span<std::byte> blocks) {
  const float mean_scale = stddev / recipe.unit_stddev;
  fill_bytes(random, blocks);
  restrict_codes(recipe.dtype, blocks);
  const auto block_bytes = static_cast<size_t>(dtype_info(recipe.dtype).block_bytes);
  QUERN_CHECK(blocks.size() % block_bytes == 0);
  for (size_t at = 0; at < blocks.size(); at += block_bytes) {
    store_scales(recipe, mean_scale, random, blocks.data() + at);
  }
}

// Nearly normal: the sum of four uniform numbers of 16 bits (mean 2 * 65535, deviation below).
float nearly_normal(float stddev, SplitMix64& random) {
  constexpr float kSumStddev = 37837.2F;  // sqrt(4 (2^32 - 1) / 12)
  const uint64_t word = random.next();
  const auto sum = static_cast<int32_t>((word & 0xffff) + (word >> 16 & 0xffff) +
                                        (word >> 32 & 0xffff) + (word >> 48));
  // 131070 is 4 * 65535 / 2, the mean. Integers up to the one rounding: the same on every machine.
  return static_cast<float>(sum - 131070) * (stddev / kSumStddev);
}

// Sums of uniform numbers are nearly normal, without functions of libm.
void fill_floats(DType dtype, float stddev, SplitMix64& random, std::span<std::byte> bytes) {
  const auto width = static_cast<size_t>(dtype_info(dtype).block_bytes);
  std::array<float, 1024> values;
  for (size_t at = 0; at < bytes.size();) {
    const size_t count = std::min(values.size(), (bytes.size() - at) / width);
    for (size_t i = 0; i < count; ++i) values[i] = nearly_normal(stddev, random);
    narrow_row(dtype, values.data(), bytes.data() + at, static_cast<int64_t>(count));
    at += count * width;
  }
}

// Floats that weights can be.
bool is_synth_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace

// Formats with a recipe, and floats.
bool has_random_weights(DType dtype) {
  return is_synth_float(dtype) || find_recipe(dtype) != nullptr;
}

// The same bytes for the same seed on every machine.
void fill_random_weights(DType dtype, float stddev, SplitMix64& random,
                         std::span<std::byte> blocks) {
  if (is_synth_float(dtype)) return fill_floats(dtype, stddev, random, blocks);
  const Recipe* recipe = find_recipe(dtype);
  QUERN_CHECK(recipe != nullptr);
  fill_blocks(*recipe, stddev, random, blocks);
}

}  // namespace quern
