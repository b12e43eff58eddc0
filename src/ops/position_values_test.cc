// What gives keys their places: slopes, causal masks and rotations, against their formulas and the
// properties that they are made for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Powers of 2 for 8 heads, and between them for other numbers.
TEST(AlibiValues, SlopesFallByHead) {
  // slope of head h = 2^(-8 (h + 1) / 4): 1/4, 1/16, 1/64, 1/256.
  const Tensor scores = f64(Shape{1, 4, 2, 3}, std::vector<double>(24, 0.0));
  const double slopes[] = {0.25, 0.0625, 0.015625, 0.00390625};
  for (const bool is_causal : {true, false}) {
    const auto y =
        run_f64("positional.alibi", {scores}, {{"num_heads", int64_t{4}}, {"causal", is_causal}});
    for (int h = 0; h < 4; ++h) {
      // Causal rows penalise the past by key - query, others the distance on both sides.
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
          const double distance = is_causal ? j - i : -std::abs(j - i);
          EXPECT_EQ(y[static_cast<size_t>((h * 2 + i) * 3 + j)], slopes[h] * distance);
        }
      }
    }
  }
}

// 0 on the diagonal: a query sees its own key.
TEST(MaskValues, CausalMasksAreLowerTriangles) {
  for (const int64_t n : {0, 1, 2, 5}) {
    const auto mask = run_f64("masking.causal", {}, {{"seq_len", n}});
    ASSERT_EQ(static_cast<int64_t>(mask.size()), n * n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        EXPECT_EQ(mask[static_cast<size_t>(i * n + j)], j <= i ? 0.0 : -kInf);
      }
    }
  }
  // The optional port repeats the length; the two must agree.
  EXPECT_EQ(run_error("masking.causal", {i32(Shape{1}, {4})}, {{"seq_len", int64_t{3}}}),
            "Port 'seq' holds 4; the attribute 'seq_len' is 3.");
}

// A rotation keeps the length of each pair, and the product of two rotated rows depends on the
// distance of their positions alone.
TEST(RopeProperties, RotationsKeepLengths) {
  const Tensor x = normal_f64(Shape{2, 3, 5, 8}, 200);
  // A position of 12,345 turns the first pair some two thousand times; a cosine and a sine in f32
  // would leave the circle by some 1e-8, which 1e-12 shows.
  for (const char* style : {"interleaved", "half"}) {
    const auto y = run_f64("positional.rope", {x},
                           {{"style", std::string(style)}, {"start_position", int64_t{12345}}});
    const auto before = values_of<double>(x);
    // Pairs are (x[2i], x[2i + 1]) or (x[i], x[i + 4]) of rows of 8.
    const size_t step = std::string_view(style) == "half" ? 4 : 1;
    for (size_t row = 0; row < 30; ++row) {
      for (size_t pair = 0; pair < 4; ++pair) {
        const size_t a = row * 8 + (step == 1 ? 2 * pair : pair), b = a + step;
        EXPECT_NEAR(y[a] * y[a] + y[b] * y[b], before[a] * before[a] + before[b] * before[b],
                    1e-12);
      }
    }
  }
}

// The property that the embedding is made for.
TEST(RopeProperties, ProductsDependOnTheDistanceAlone) {
  const Tensor q = normal_f64(Shape{1, 1, 1, 16}, 210), k = normal_f64(Shape{1, 1, 1, 16}, 211);
  const auto product = [&](int64_t a, int64_t b) {
    const auto x = run_f64("positional.rope", {q}, {{"start_position", a}});
    const auto y = run_f64("positional.rope", {k}, {{"start_position", b}});
    double dot = 0;
    for (size_t i = 0; i < x.size(); ++i) dot += x[i] * y[i];
    return dot;
  };
  for (const int64_t shift : {1, 7, 1000}) {
    // Positions may be negative, too: a query before its key.
    EXPECT_NEAR(product(20, 4), product(20 + shift, 4 + shift), 1e-11);
    EXPECT_NEAR(product(-3, 5), product(-3 + shift, 5 + shift), 1e-11);
  }
}

// Rotations by p and -p cancel.
TEST(RopeProperties, TheOppositePositionTurnsBack) {
  const Tensor x = normal_f64(Shape{1, 2, 1, 6}, 220);
  const Tensor there = run_one("positional.rope", {x}, {{"start_position", int64_t{77}}});
  // Up to the rounding of the two tables and of two rotations.
  const Tensor back = run_one("positional.rope", {there}, {{"start_position", int64_t{-77}}});
  EXPECT_TRUE(all_near(values_of<double>(back), values_of<double>(x), 1e-13, 1e-14));
}

// The table form with the angles of positional.rope gives its rows.
TEST(RopeProperties, PairsTakeTheirAnglesFromTables) {
  std::vector<double> cos, sin;
  for (int t = 0; t < 3; ++t) {
    // The angles of the default style from std::pow and std::cos, which agree with ours to an ulp.
    for (int i = 0; i < 4; ++i) {
      const double angle = t * std::pow(10000.0, -2.0 * i / 8);
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  }
  const Tensor x = normal_f64(Shape{1, 1, 3, 8}, 230);
  const auto rotated = run_f64("positional.rope", {x});
  const auto pairs = run_f64(
      "rope.rope_pairs", {*x.reshape(Shape{3, 8}), f64(Shape{3, 4}, cos), f64(Shape{3, 4}, sin)},
      {{"half_dim", int64_t{4}}});
  EXPECT_TRUE(all_near(pairs, rotated, 1e-13, 1e-14));
}

}  // namespace
}  // namespace quern::test
