// Every f32 to every narrow float, against intervals computed from the definition: the codes are in
// the order of their values, so each code owns one run of consecutive f32 bit patterns.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/convert.h"

namespace quern {
namespace {

constexpr uint32_t kF32Infinity = 0x7F800000u;

// f32 bit patterns [begin, end) without sign that must give `code`.
struct Run {
  uint32_t begin;
  uint32_t end;
  uint32_t code;
};

// The first f32 pattern whose value is above `limit`, or at it when `is_limit_in`.
uint32_t first_pattern(double limit, bool is_limit_in) {
  float x = static_cast<float>(limit);
  if (x > limit || (x == limit && is_limit_in)) return std::bit_cast<uint32_t>(x);
  x = std::nextafter(x, std::numeric_limits<float>::infinity());
  return std::bit_cast<uint32_t>(x);
}

// Runs of the finite codes 0..largest and of what lies past them. `past_largest` is the value that
// the code after the largest would have; half-way to it decides overflow, as in rounding.
template <class Widen>
std::vector<Run> make_runs(uint32_t largest, double past_largest, uint32_t overflow, Widen widen) {
  std::vector<Run> runs;
  uint32_t begin = 0;
  for (uint32_t code = 0; code <= largest; ++code) {
    // The midpoint of two neighbours is exact in f64: both have 11 bits or fewer.
    const double next = code == largest ? past_largest : widen(code + 1);
    const bool next_is_even = (code & 1) != 0;
    const uint32_t end = first_pattern((widen(code) + next) / 2, next_is_even);
    runs.push_back({begin, end, code});
    begin = end;
  }
  runs.push_back({begin, kF32Infinity + 1, overflow});
  return runs;
}

// Patterns of both signs in the run that convert to something else.
template <class Convert>
int64_t count_wrong(const Run& run, uint32_t sign, Convert convert) {
  constexpr uint32_t kSign = 0x80000000u;
  uint32_t wrong = 0;
  for (uint32_t bits = run.begin; bits < run.end; ++bits) {
    wrong += static_cast<uint32_t>(convert(std::bit_cast<float>(bits)) != run.code);
    wrong +=
        static_cast<uint32_t>(convert(std::bit_cast<float>(bits | kSign)) != (run.code | sign));
  }
  return wrong;
}

// Runs are cut to pieces of at most 2^22 patterns, so that threads share them evenly.
std::vector<Run> cut(const std::vector<Run>& runs) {
  constexpr uint32_t kPiece = 1u << 22;
  std::vector<Run> pieces;
  for (Run run : runs) {
    while (run.end - run.begin > kPiece) {
      pieces.push_back({run.begin, run.begin + kPiece, run.code});
      run.begin += kPiece;
    }
    pieces.push_back(run);
  }
  return pieces;
}

template <class Convert, class Widen>
void check_all(const std::vector<Run>& runs, uint32_t sign, Convert convert, Widen widen) {
  const std::vector<Run> pieces = cut(runs);
  ThreadPool pool(available_cpus());
  std::atomic<int64_t> wrong = 0;
  pool.run(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    wrong += count_wrong(pieces[static_cast<size_t>(i)], sign, convert);
  });
  // A count, not an assertion for each pattern: 2^32 of those would cost more than the conversions.
  EXPECT_EQ(wrong.load(), 0);
  // NaNs: all payloads of both signs.
  int64_t lost = 0;
  for (uint32_t bits = kF32Infinity + 1; bits < 0x80000000u; ++bits) {
    const float positive = widen(convert(std::bit_cast<float>(bits)));
    const float negative = widen(convert(std::bit_cast<float>(bits | 0x80000000u)));
    lost += static_cast<int64_t>(positive == positive) + static_cast<int64_t>(negative == negative);
  }
  EXPECT_EQ(lost, 0);
}

const auto kWidenF16 = [](uint32_t c) { return f16_to_f32(static_cast<uint16_t>(c)); };
const auto kWidenBf16 = [](uint32_t c) { return bf16_to_f32(static_cast<uint16_t>(c)); };
const auto kWidenE4M3 = [](uint32_t c) { return f8e4m3_to_f32(static_cast<uint8_t>(c)); };
const auto kWidenE5M2 = [](uint32_t c) { return f8e5m2_to_f32(static_cast<uint8_t>(c)); };

// The arguments of make_runs() are, for each format: the largest finite code, the value that one
// code more would have, and the code of what lies past the midpoint of the two. f16: 65,504 is
// 0x7BFF, the next step would be 65,536, which is infinity.
TEST(EveryF32, ToF16) {
  check_all(
      make_runs(0x7BFF, 65536.0, 0x7C00, kWidenF16), 0x8000,
      [](float x) -> uint32_t { return to_f16(x); }, kWidenF16);
}

// 0x7F7F is (2 - 2^-7) * 2^127; one step more would be 2^128.
TEST(EveryF32, ToBf16) {
  check_all(
      make_runs(0x7F7F, 0x1p128, 0x7F80, kWidenBf16), 0x8000,
      [](float x) -> uint32_t { return to_bf16(x); }, kWidenBf16);
}

// 0x7E is 448 and a step there is 32. Saturating: what lies past 464 keeps the largest code.
TEST(EveryF32, ToE4M3Saturating) {
  check_all(
      make_runs(0x7E, 480.0, 0x7E, kWidenE4M3), 0x80,
      [](float x) -> uint32_t { return to_f8e4m3(x); }, kWidenE4M3);
}

// The format has no infinity: 0x7F, its NaN, stands for what is too large.
TEST(EveryF32, ToE4M3WithNan) {
  const auto convert = [](float x) -> uint32_t { return to_f8e4m3(x, false); };
  check_all(make_runs(0x7E, 480.0, 0x7F, kWidenE4M3), 0x80, convert, kWidenE4M3);
}

// 0x7B is 57,344 and a step there is 8,192.
TEST(EveryF32, ToE5M2WithInfinity) {
  check_all(
      make_runs(0x7B, 65536.0, 0x7C, kWidenE5M2), 0x80,
      [](float x) -> uint32_t { return to_f8e5m2(x); }, kWidenE5M2);
}

TEST(EveryF32, ToE5M2Saturating) {
  const auto convert = [](float x) -> uint32_t { return to_f8e5m2(x, true); };
  check_all(make_runs(0x7B, 65536.0, 0x7B, kWidenE5M2), 0x80, convert, kWidenE5M2);
}

}  // namespace
}  // namespace quern
