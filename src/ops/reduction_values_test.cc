// Reductions, norms, softmax and selections against plain loops, and what must hold for any input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// The groups of elements that a reduction over `axes` joins, in row-major order of what is kept.
// Written apart from the engine: the position of each element, then the group of its kept part.
std::vector<std::vector<double>> groups_of(const std::vector<double>& x, const Shape& shape,
                                           const std::vector<bool>& is_reduced) {
  int64_t kept_count = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!is_reduced[static_cast<size_t>(axis)]) kept_count *= shape[axis];
  }
  std::vector<std::vector<double>> groups(static_cast<size_t>(kept_count));
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    int64_t rest = i, group = 0;
    std::vector<int64_t> position(static_cast<size_t>(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      position[static_cast<size_t>(axis)] = rest % shape[axis];
      rest /= shape[axis];
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (is_reduced[static_cast<size_t>(axis)]) continue;
      group = group * shape[axis] + position[static_cast<size_t>(axis)];
    }
    groups[static_cast<size_t>(group)].push_back(x[static_cast<size_t>(i)]);
  }
  return groups;
}

template <class Fold>
std::vector<double> fold_groups(const std::vector<std::vector<double>>& groups, Fold fold) {
  std::vector<double> results;
  for (const auto& group : groups) results.push_back(fold(group));
  return results;
}

// An oracle with a longer mantissa where the host has one.
double sum_of(const std::vector<double>& x) {
  long double sum = 0;
  for (const double v : x) sum += v;
  return static_cast<double>(sum);
}

// Every subset of the axes of a tensor of rank 4.
// 15 subsets; axes are named in falling order, the odd ones from the end. Selections are exact,
// sums differ from the oracle by their order of rounding.
TEST(ReductionValues, EverySetOfAxes) {
  const Shape shape{3, 4, 5, 2};
  const Tensor x = normal_f64(shape, 1);
  const auto values = values_of<double>(x);
  for (int subset = 1; subset < 16; ++subset) {
    std::vector<int64_t> axes;
    std::vector<bool> is_reduced(4);
    for (int axis = 3; axis >= 0; --axis) {  // any order of the list
      if (subset >> axis & 1) axes.push_back(axis % 2 == 0 ? axis : axis - 4);
      is_reduced[static_cast<size_t>(axis)] = (subset >> axis & 1) != 0;
    }
    const auto groups = groups_of(values, shape, is_reduced);
    const Attributes attributes = {{"axes", axes}};
    EXPECT_TRUE(all_near(run_f64("reduction.sum", {x}, attributes), fold_groups(groups, sum_of),
                         1e-13, 1e-14))
        << subset;
    EXPECT_EQ(
        run_f64("reduction.reduce_max", {x}, attributes),
        fold_groups(groups, [](const auto& g) { return *std::max_element(g.begin(), g.end()); }));
    EXPECT_EQ(
        run_f64("reduction.reduce_min", {x}, attributes),
        fold_groups(groups, [](const auto& g) { return *std::min_element(g.begin(), g.end()); }));
    EXPECT_TRUE(all_near(run_f64("reduction.prod", {x}, attributes),
                         fold_groups(groups,
                                     [](const auto& g) {
                                       return std::accumulate(g.begin(), g.end(), 1.0,
                                                              std::multiplies<>());
                                     }),
                         1e-12))
        << subset;
    const auto sizes = static_cast<double>(groups[0].size());
    EXPECT_TRUE(all_near(run_f64("reduction.mean", {x}, attributes),
                         fold_groups(groups, [&](const auto& g) { return sum_of(g) / sizes; }),
                         1e-12, 1e-14));
    const Tensor kept = run_one("reduction.l1_norm", {x}, {{"axes", axes}, {"keep_dims", true}});
    ASSERT_EQ(kept.shape().rank(), 4);
    for (int axis = 0; axis < 4; ++axis) {
      EXPECT_EQ(kept.shape()[axis], is_reduced[static_cast<size_t>(axis)] ? 1 : shape[axis]);
    }
    EXPECT_TRUE(all_near(values_of<double>(kept),
                         fold_groups(groups,
                                     [](const auto& g) {
                                       double sum = 0;
                                       for (const double v : g) sum += std::abs(v);
                                       return sum;
                                     }),
                         1e-13));
  }
}

// Lengths around the 32 partials and the chunks of 4096: exact where all terms are small integers.
// Terms from -7 to 7 add exactly in f32, so an element lost or taken twice shows. The maximum
// stands last and the minimum in the middle, where a short chunk could drop them.
TEST(ReductionValues, EveryLengthIsCountedOnce) {
  for (const int64_t n :
       {1, 2, 31, 32, 33, 63, 64, 65, 1000, 4095, 4096, 4097, 8191, 8192, 8193, 10000}) {
    std::vector<float> x(static_cast<size_t>(n));
    int64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t term = i * 7 % 15 - 7;
      x[static_cast<size_t>(i)] = static_cast<float>(term);
      sum += term;
    }
    EXPECT_EQ(run_f32("reduction.sum", {f32(Shape{n}, x)}).at(0), static_cast<float>(sum)) << n;
    EXPECT_EQ(run_f32("reduction.mean", {f32(Shape{n}, std::vector<float>(x.size(), 2.5f))}).at(0),
              2.5f)
        << n;
    x[static_cast<size_t>(n - 1)] = 100;
    EXPECT_EQ(run_f32("reduction.reduce_max", {f32(Shape{n}, x)}).at(0), 100) << n;
    x[static_cast<size_t>(n / 2)] = -100;
    EXPECT_EQ(run_f32("reduction.reduce_min", {f32(Shape{n}, x)}).at(0), -100) << n;
  }
}

// Signed and unsigned, where they overflow.
// (-128) * 127 * (-128), 383 = 128 + 127 + 128, and -129 / 3 = -43 as f64.
TEST(ReductionValues, IntegersOfEveryWidth) {
  const Tensor bytes = tensor_of<int8_t>(DType::kI8, Shape{3}, {-128, 127, -128});
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.sum", {bytes})).at(0), -129);
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.prod", {bytes})).at(0), 128 * 128 * 127);
  EXPECT_EQ(values_of<int64_t>(run_one("reduction.l1_norm", {bytes})).at(0), 383);
  EXPECT_EQ(values_of<int8_t>(run_one("reduction.reduce_max", {bytes})).at(0), 127);
  EXPECT_EQ(values_of<int8_t>(run_one("reduction.reduce_min", {bytes})).at(0), -128);
  const Tensor mean = run_one("reduction.mean", {bytes});
  EXPECT_EQ(mean.dtype(), DType::kF64);
  EXPECT_EQ(values_of<double>(mean).at(0), -43.0);
  const Tensor wide = tensor_of<uint64_t>(DType::kU64, Shape{2}, {UINT64_MAX, 1});
  EXPECT_EQ(values_of<uint64_t>(run_one("reduction.reduce_max", {wide})).at(0), UINT64_MAX);
}

// By axis: some results of no elements, or no results.
// Three sums of nothing; then a tensor whose kept axis is empty, where there is nothing to refuse.
TEST(ReductionValues, NoElements) {
  const Tensor none = f64(Shape{0, 3}, {});
  const Attributes rows = {{"axes", std::vector<int64_t>{0}}};
  EXPECT_EQ(run_f64("reduction.sum", {none}, rows), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(run_f64("reduction.prod", {none}, rows), (std::vector<double>{1, 1, 1}));
  for (const double mean : run_f64("reduction.mean", {none}, rows)) EXPECT_TRUE(std::isnan(mean));
  EXPECT_EQ(run_error("reduction.reduce_max", {none}, rows),
            "The largest or smallest of no elements is not defined; 'x' has the shape [0, 3].");
  // Nothing is kept, so nothing is asked of the empty groups.
  EXPECT_TRUE(run_f64("reduction.reduce_max", {none}, {{"axes", std::vector<int64_t>{1}}}).empty());
}

// IEEE, whatever the order of elements.
// Infinities of both signs, 0 times infinity, a NaN between numbers, zeros of both signs.
TEST(ReductionValues, SpecialNumbers) {
  const auto of = [](const char* id, std::vector<double> x) {
    const auto n = static_cast<int64_t>(x.size());
    return run_f64(id, {f64(Shape{n}, std::move(x))}).at(0);
  };
  EXPECT_TRUE(std::isnan(of("reduction.sum", {kInf, -kInf})));
  EXPECT_EQ(of("reduction.sum", {kInf, 1}), kInf);
  EXPECT_TRUE(std::isnan(of("reduction.prod", {0, kInf})));
  EXPECT_EQ(of("reduction.l1_norm", {-kInf, 1}), kInf);
  EXPECT_TRUE(std::isnan(of("reduction.reduce_min", {1, std::nan(""), -kInf})));
  EXPECT_TRUE(same_bits(of("reduction.reduce_min", {0.0, -0.0}), -0.0));
  EXPECT_TRUE(same_bits(of("reduction.reduce_max", {-0.0, 0.0}), 0.0));
  EXPECT_TRUE(same_bits(of("reduction.sum", {-0.0, -0.0}), 0.0));  // from +0
}

// Norms -----------------------------------------------------------------------------------------

// What the operation is for.
// Without eps only rounding separates the variance from 1; the input spreads by 30.
TEST(NormProperties, LayerNormHasMeanZeroAndVarianceOne) {
  const Tensor x = normal_f64(Shape{5, 100}, 2, 30);
  const auto y = run_f64("math.layernorm", {x}, {{"eps", 0.0}});
  for (size_t row = 0; row < 5; ++row) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 100; ++i) sum += y[row * 100 + i];
    for (size_t i = 0; i < 100; ++i) squares += y[row * 100 + i] * y[row * 100 + i];
    EXPECT_NEAR(sum, 0, 1e-12);
    EXPECT_NEAR(squares, 100, 1e-10);
  }
}

// Affine changes of the input vanish.
// x - mean loses two digits to the shift of 100, hence 1e-11.
TEST(NormProperties, LayerNormForgetsShiftAndScale) {
  const auto x = normals(60, 3);
  std::vector<double> moved;
  for (const double v : x) moved.push_back(4 * v + 100);
  EXPECT_TRUE(all_near(run_f64("math.layernorm", {f64(Shape{3, 20}, moved)}, {{"eps", 0.0}}),
                       run_f64("math.layernorm", {f64(Shape{3, 20}, x)}, {{"eps", 0.0}}), 1e-11,
                       1e-12));
}

// Its mean of squares is 1.
// Squares of about 1e-6, where the usual eps would be half of the sum.
TEST(NormProperties, RmsNormHasLengthRootN) {
  const Tensor x = normal_f64(Shape{4, 50}, 4, 1e-3);
  const auto y = run_f64("math.rmsnorm", {x}, {{"eps", 0.0}});
  for (size_t row = 0; row < 4; ++row) {
    double squares = 0;
    for (size_t i = 0; i < 50; ++i) squares += y[row * 50 + i] * y[row * 50 + i];
    EXPECT_NEAR(squares, 50, 1e-11);
  }
}

// A power of two scales every step of the norm exactly, so that the bits stay.
TEST(NormProperties, RmsNormKeepsItsBitsUnderPowersOfTwo) {
  const auto x = narrowed(normals(64, 5));
  std::vector<float> scaled;
  for (const float v : x) scaled.push_back(v * 256);
  EXPECT_TRUE(all_same_bits(run_f32("math.rmsnorm", {f32(Shape{64}, scaled)}, {{"eps", 0.0}}),
                            run_f32("math.rmsnorm", {f32(Shape{64}, x)}, {{"eps", 0.0}})));
}

// Rows below the root of epsilon are not blown up.
TEST(NormProperties, EpsilonDecidesSmallRows) {
  // mean(x^2) = 1e-6 is as large as eps: the result is 1e-3 / sqrt(2e-6) = 0.7071.
  const Tensor x = f64(Shape{2}, {1e-3, -1e-3});
  EXPECT_TRUE(all_near(run_f64("math.rmsnorm", {x}, {{"eps", 1e-6}}),
                       {0.7071067811865475, -0.7071067811865475}, 1e-13));
}

// Against plain loops over groups and channels.
TEST(NormValues, GroupsChannelsAndStoredStatistics) {
  const Shape shape{2, 4, 3};
  const Tensor x = normal_f64(shape, 6);
  const auto values = values_of<double>(x);
  // Each (sample, group of two channels) is one row of layer norm.
  std::vector<double> expected;
  for (size_t row = 0; row < 4; ++row) {
    const std::vector<double> part(values.begin() + static_cast<long>(row * 6),
                                   values.begin() + static_cast<long>(row * 6 + 6));
    const double mean = sum_of(part) / 6;
    double variance = 0;
    for (const double v : part) variance += (v - mean) * (v - mean) / 6;
    for (const double v : part) expected.push_back((v - mean) / std::sqrt(variance + 1e-5));
  }
  EXPECT_TRUE(
      all_near(run_f64("math.groupnorm", {x}, {{"groups", int64_t{2}}}), expected, 1e-12, 1e-13));
  const std::vector<double> mean = {1, -1, 0.5, 0}, variance = {4, 1, 0.25, 9},
                            weight = {2, 3, -1, 1}, bias = {0, 1, 0, -2};
  std::vector<double> normalised;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t c = i / 3 % 4;
    normalised.push_back((values[i] - mean[c]) / std::sqrt(variance[c] + 1e-5) * weight[c] +
                         bias[c]);
  }
  EXPECT_TRUE(all_near(
      run_f64("normalization.batch_norm_eval", {x, f64(Shape{4}, mean), f64(Shape{4}, variance),
                                                f64(Shape{4}, weight), f64(Shape{4}, bias)}),
      normalised, 1e-12, 1e-13));
}

// No weight is not a weight of 0.
// An absent weight is a step left out, so the bias is one exact sum away.
TEST(NormValues, AbsentVectorsAreLeftOut) {
  const Tensor x = normal_f64(Shape{2, 3}, 7);
  const Tensor bias = f64(Shape{3}, {1, 2, 3});
  const auto plain = run_f64("math.layernorm", {x});
  const auto biased = run_f64("math.layernorm", {x, Tensor(), bias});
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(biased[i], plain[i] + static_cast<double>(i % 3 + 1));
  }
}

// Softmax ----------------------------------------------------------------------------------------

// Over many seeds and widths.
// A spread of 0.1 makes nearly equal shares, 80 lets most of them underflow to 0.
TEST(SoftmaxProperties, RowsArePositiveAndSumToOne) {
  for (const int64_t n : {1, 2, 33, 500}) {
    for (const double spread : {0.1, 5.0, 80.0}) {
      const Tensor x = normal_f64(Shape{3, n}, static_cast<uint32_t>(n), spread);
      const auto y = run_f64("math.softmax", {x});
      for (size_t row = 0; row < 3; ++row) {
        const std::vector<double> part(y.begin() + static_cast<long>(row) * n,
                                       y.begin() + static_cast<long>(row + 1) * n);
        EXPECT_NEAR(sum_of(part), 1, 1e-14);
        for (const double p : part) EXPECT_GE(p, 0);
      }
    }
  }
}

// Only differences count.
// The shift rounds the differences of x, hence 1e-10.
TEST(SoftmaxProperties, IgnoresAShiftAndKeepsTheOrder) {
  const auto x = normals(40, 8, 3);
  std::vector<double> shifted;
  for (const double v : x) shifted.push_back(v + 1000);
  const auto y = run_f64("math.softmax", {f64(Shape{40}, x)});
  EXPECT_TRUE(all_near(run_f64("math.softmax", {f64(Shape{40}, shifted)}), y, 1e-10));
  for (size_t i = 1; i < 40; ++i) EXPECT_EQ(x[i - 1] < x[i], y[i - 1] < y[i]);
}

// Three operations, one row.
// exp(log softmax) is softmax, and log softmax is x - logsumexp.
TEST(SoftmaxProperties, LogarithmsAgree) {
  const Tensor x = normal_f64(Shape{4, 25}, 9, 6);
  const auto y = run_f64("math.softmax", {x}), log_y = run_f64("activation.log_softmax", {x});
  const auto total = run_f64("math.logsumexp", {x}), values = values_of<double>(x);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(std::exp(log_y[i]), y[i], 1e-13);
    EXPECT_NEAR(log_y[i], values[i] - total[i / 25], 1e-12);
  }
}

// The maximum is subtracted first.
// -3e38 - 3e38 overflows to -infinity, whose exponential is the 0 that is right.
TEST(SoftmaxProperties, HugeScoresDoNotOverflow) {
  const auto y = run_f32("math.softmax", {f32(Shape{3}, {3e38f, 3e38f, -3e38f})});
  EXPECT_EQ(y, (std::vector<float>{0.5f, 0.5f, 0.0f}));
  EXPECT_EQ(run_f32("math.logsumexp", {f32(Shape{2}, {1e38f, -1e38f})}).at(0), 1e38f);
  EXPECT_EQ(
      run_f32("math.softmax", {f32(Shape{2}, {-1e30f, -std::numeric_limits<float>::infinity()})}),
      (std::vector<float>{1, 0}));
}

// Selections
// ---------------------------------------------------------------------------------------

// With ties, against std::stable_sort.
// Seven values among up to 40 elements tie in nearly every row; every fifth row has a NaN and every
// seventh -infinity. argmax must agree with the first.
TEST(TopKProperties, IsTheStartOfAStableSort) {
  std::mt19937 random(10);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto n = static_cast<int64_t>(1 + random() % 40);
    const auto k = static_cast<int64_t>(1 + random() % static_cast<uint32_t>(n));
    std::vector<double> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<double>(random() % 7));  // many ties
    if (repeat % 5 == 0) x[random() % x.size()] = std::nan("");
    if (repeat % 7 == 0) x[random() % x.size()] = -kInf;
    std::vector<int32_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](int32_t i) { return std::isnan(x[static_cast<size_t>(i)]); };
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      if (rank(a) || rank(b)) return rank(a) && !rank(b);
      return x[static_cast<size_t>(a)] > x[static_cast<size_t>(b)];
    });
    const auto outputs = run_op("sort.top_k", {f64(Shape{n}, x)}, {{"k", k}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    const auto indices = values_of<int32_t>((*outputs)[1]);
    EXPECT_EQ(indices, std::vector<int32_t>(order.begin(), order.begin() + k));
    const auto values = values_of<double>((*outputs)[0]);
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(same_bits(values[i], x[static_cast<size_t>(indices[i])]));
    }
    EXPECT_EQ(values_of<int32_t>(run_one("reduction.argmax", {f64(Shape{n}, x)})).at(0), order[0]);
  }
}

// Against a plain search, with ties.
// Nine values, so most rows have several smallest. Then: the first NaN beats -infinity.
TEST(ArgminProperties, IsTheFirstOfTheSmallest) {
  std::mt19937 random(11);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto n = static_cast<int64_t>(1 + random() % 40);
    std::vector<int32_t> x;
    for (int64_t i = 0; i < n; ++i) x.push_back(static_cast<int32_t>(random() % 9) - 4);
    const auto expected = std::min_element(x.begin(), x.end()) - x.begin();
    EXPECT_EQ(values_of<int32_t>(run_one("reduction.argmin", {i32(Shape{n}, x)})).at(0), expected);
  }
  EXPECT_EQ(values_of<int32_t>(run_one("reduction.argmin",
                                       {f64(Shape{4}, {-kInf, std::nan(""), -kInf, std::nan("")})}))
                .at(0),
            1);
  EXPECT_EQ(run_error("reduction.argmin", {f64(Shape{2, 0}, {})}),
            "Port 'x' has the shape [2, 0]; rows need 1 to 2^31 - 1 elements.");
}

// The order is part of the definition.
// Lengths around one block; a dot product and its alias must have the bits of the loops here.
TEST(DotProperties, ProductsSumInBlocks) {
  for (const int64_t n : {0, 1, 255, 256, 257, 1000}) {
    const Tensor a = normal_f64(Shape{n}, 12), b = normal_f64(Shape{n}, 13);
    const auto x = values_of<double>(a), y = values_of<double>(b);
    double total = 0;
    for (int64_t start = 0; start < n; start += 256) {
      double block = 0;
      for (int64_t i = start; i < std::min(n, start + 256); ++i) {
        block += x[static_cast<size_t>(i)] * y[static_cast<size_t>(i)];
      }
      total += block;
    }
    EXPECT_TRUE(same_bits(run_f64("dot.dot", {a, b}).at(0), total)) << n;
    EXPECT_TRUE(same_bits(run_f64("vsa.similarity", {a, b}).at(0), total));
  }
}

// A product with the unit matrix is the matrix; (ab)c = a(bc) up to rounding; (ab)^T = b^T a^T.
// All extents differ, so that a swapped index cannot pass unseen.
TEST(MatmulProperties, UnitAssociativityAndTransposes) {
  const Tensor a = normal_f64(Shape{4, 5}, 14), b = normal_f64(Shape{5, 3}, 15),
               c = normal_f64(Shape{3, 6}, 16);
  std::vector<double> unit(25, 0.0);
  for (size_t i = 0; i < 5; ++i) unit[i * 6] = 1;
  EXPECT_EQ(run_f64("math.matmul", {a, f64(Shape{5, 5}, unit)}), values_of<double>(a));
  const Tensor ab = run_one("math.matmul", {a, b}), bc = run_one("math.matmul", {b, c});
  EXPECT_TRUE(
      all_near(run_f64("math.matmul", {ab, c}), run_f64("math.matmul", {a, bc}), 1e-11, 1e-12));
  const auto transposed = [](const Tensor& x) {
    return run_one("shape.transpose", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
  };
  EXPECT_TRUE(all_same_bits(values_of<double>(transposed(ab)),
                            run_f64("math.matmul", {transposed(b), transposed(a)})));
  // projection.linear takes the weight transposed.
  EXPECT_TRUE(
      all_same_bits(run_f64("projection.linear", {a, transposed(b)}), values_of<double>(ab)));
}

}  // namespace
}  // namespace quern::test
