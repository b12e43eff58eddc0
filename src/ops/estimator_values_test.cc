// Causal estimators, point processes, inference: NumPy's and SciPy's numbers, cases solved by hand,
// and the identities that define each operation.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/linear_algebra.h"
#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

Attributes table(Attributes attributes = {}) {
  attributes.set("form", std::string("table"));
  return attributes;
}

Tensor i64(const Shape& shape, const std::vector<int64_t>& values) {
  return tensor_of(DType::kI64, shape, values);
}

// Linear algebra ---------------------------------------------------------------------------------

// A covariance matrix, and numpy.linalg.cholesky of it.
// Row-major 4 x 4 and symmetric.
const std::vector<double> kCovariance = {3.09, 0.35, 0.2,  4.55, 0.35, 1.91, 0.76, 1.53,
                                         0.2,  0.76, 1.96, 0.81, 4.55, 1.53, 0.81, 12.04};

// numpy.linalg.cholesky of one matrix.
TEST(CholeskyValues, AreThoseOfNumPy) {
  EXPECT_TRUE(
      all_near(run_f64("causal.cholesky", {f64(Shape{4, 4}, kCovariance)}),
               {1.7578395831246945, 0.0, 0.0, 0.0, 0.19910804339600102, 1.3676095886820245, 0.0,
                0.0, 0.11377602479771487, 0.5391496845439189, 1.287001411746476, 0.0,
                2.5884045641480133, 0.7418987407751468, 0.08974904379769226, 2.1867082978466477},
               1e-13));
}

// What stands above the diagonal does not matter.
TEST(CholeskyValues, ReadTheLowerTriangleAlone) {
  std::vector<double> half = kCovariance;
  // NaN above the diagonal: any read of it would spread.
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = i + 1; j < 4; ++j) half[i * 4 + j] = std::nan("");
  }
  EXPECT_TRUE(all_same_bits(run_f64("causal.cholesky", {f64(Shape{4, 4}, half)}),
                            run_f64("causal.cholesky", {f64(Shape{4, 4}, kCovariance)})));
}

// L L^T is the matrix, at several sizes.
TEST(CholeskyProperties, FactorsMultiplyBack) {
  for (const int64_t n : {1, 2, 5, 12}) {
    const Tensor a = normal_f64(Shape{n, n}, static_cast<uint32_t>(n));
    const Tensor transposed =
        run_one("shape.transpose", {a}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    auto square = values_of<double>(run_one("math.matmul", {a, transposed}));
    // A A^T + I is positive definite for every A.
    for (int64_t i = 0; i < n; ++i) square[static_cast<size_t>(i * n + i)] += 1;
    const Tensor l = run_one("causal.cholesky", {f64(Shape{n, n}, square)});
    const Tensor upper =
        run_one("shape.transpose", {l}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}});
    EXPECT_TRUE(all_near(run_f64("math.matmul", {l, upper}), square, 1e-12, 1e-12)) << n;
  }
}

// The first that is not above 0, NaN included.
TEST(CholeskyErrors, NameThePivot) {
  const auto error = [](const std::vector<double>& a, int64_t n) {
    return run_error("causal.cholesky", {f64(Shape{n, n}, a)});
  };
  const auto message = [](int pivot) {
    return "The matrix is not positive definite: its pivot " + std::to_string(pivot) +
           " is not above 0.";
  };
  // Zero, negative, singular in the second pivot (1 - 2 * 2 / 4 = 0), and NaN.
  EXPECT_EQ(error({0}, 1), message(0));
  EXPECT_EQ(error({-1}, 1), message(0));
  EXPECT_EQ(error({4, 0, 2, 1}, 2), message(1));  // exactly singular
  EXPECT_EQ(error({1, 0, 0, std::nan("")}, 2), message(1));
}

// Forward, then backward substitution.
TEST(LinearAlgebra, SolvesWithItsFactor) {
  Matrix a(4, 4), l;
  a.values = kCovariance;
  ASSERT_EQ(cholesky(a, l), -1);
  const std::vector<double> b = {1, -2, 0.5, 3};
  const auto x = solve_cholesky(l, b);
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 4; ++j) sum += a.at(i, j) * x[static_cast<size_t>(j)];
    EXPECT_NEAR(sum, b[static_cast<size_t>(i)], 1e-13);
  }
}

// The residual of least squares is orthogonal to every column of the design.
// X^T (y - X c) = 0 defines the solution, whatever the data.
TEST(LinearAlgebra, ResidualsAreOrthogonal) {
  Matrix x(30, 3);
  x.values = normals(90, 1);
  const Matrix design = design_with_intercept(30, {&x});
  ASSERT_EQ(design.cols, 4);
  const auto y = normals(30, 2);
  const auto fitted = predict(design, least_squares(design, y, 0));
  for (int64_t j = 0; j < 4; ++j) {
    double dot = 0;
    for (int64_t s = 0; s < 30; ++s) {
      dot += design.at(s, j) * (y[static_cast<size_t>(s)] - fitted[static_cast<size_t>(s)]);
    }
    EXPECT_NEAR(dot, 0, 1e-12);
  }
}

// Without one, equal columns have no answer.
TEST(LinearAlgebra, ARidgeShrinksAndMakesSingularSystemsSolvable) {
  Matrix design(3, 2);
  // All four elements of X^T X are 1 + 4 + 9 = 14.
  design.values = {1, 1, 2, 2, 3, 3};  // equal columns
  for (const double c : least_squares(design, {1, 2, 3}, 0)) EXPECT_TRUE(std::isnan(c));
  const auto ridged = least_squares(design, {1, 2, 3}, 14);
  // (X^T X + 14 I) c = X^T y: 28 c + 14 c = 14.
  EXPECT_NEAR(ridged[0], 1.0 / 3, 1e-14);
  EXPECT_NEAR(ridged[1], 1.0 / 3, 1e-14);
}

// Causal effects ---------------------------------------------------------------------------------

// numpy.linalg.lstsq of outcome on treatment and covariates.
TEST(BackdoorValues, AreThoseOfNumPy) {
  const Tensor y =
      f64(Shape{12}, {3.36, -2.66, 0.87, -2.37, 0.4, 0.1, -0.71, -2.08, 1.74, 2.21, 0.37, 0.89});
  const Tensor x = f64(
      Shape{12, 1}, {1.95, -1.52, 0.88, -1.35, 1.07, 0.56, -1.51, -2.24, 0.08, 1.48, -0.86, 1.25});
  const Tensor z = f64(Shape{12, 2}, {0.19,  1.11,  -0.21, -0.93, 0.58,  0.58, -0.21, -0.78,
                                      0.23,  -2.49, 0.69,  0.49,  -1.64, 0.06, -0.96, 0.76,
                                      -2.03, -0.91, 0.71,  1.16,  -2.16, -0.5, 0.33,  -0.61});
  EXPECT_TRUE(
      all_near(run_f64("causal.backdoor_adjustment", {y, x, z}), {1.5485348529904093}, 1e-9));
}

// Data without noise give the coefficients that made them.
TEST(BackdoorValues, ExactModelsAreFound) {
  const auto x = normals(20, 3), z = normals(20, 4);
  std::vector<double> y, both;
  // Twenty points of a plane: the coefficient of x is 2 with the ridge's error of 1e-10.
  for (size_t i = 0; i < 20; ++i) {
    y.push_back(1 + 2 * x[i] - 0.5 * z[i]);
    both.push_back(x[i]);
  }
  EXPECT_TRUE(all_near(run_f64("causal.backdoor_adjustment",
                               {f64(Shape{20}, y), f64(Shape{20, 1}, both), f64(Shape{20, 1}, z)}),
                       {2.0}, 1e-9));
}

// The adjustment formula as a sum.
TEST(BackdoorValues, TablesSumOverTheStrata) {
  // P(y | x, z) for two x and three z, P(z) = 1/2, 1/4, 1/4.
  const Tensor p = f64(Shape{2, 3}, {0.2, 0.4, 0.8, 0.5, 0.5, 0.1});
  // 0.2/2 + 0.4/4 + 0.8/4 = 0.4 and 0.5/2 + 0.5/4 + 0.1/4 = 0.4.
  EXPECT_TRUE(all_near(
      run_f64("causal.backdoor_adjustment", {p, f64(Shape{3}, {0.5, 0.25, 0.25})}, table()),
      {0.4, 0.4}, 1e-15));
}

// Each stage as a regression of its own.
TEST(InstrumentValues, AreThoseOfTwoStagesInNumPy) {
  const Tensor z = f64(Shape{12, 2}, {2.04,  -2.56, 0.42, -0.57, -0.45, -0.22, -2.02, -0.23,
                                      -0.87, 3.32,  0.23, -0.35, -0.28, -0.67, -1.06, -0.39,
                                      0.48,  -0.24, 0.96, -0.2,  0.02,  1.55,  0.55,  -0.51});
  const Tensor x =
      f64(Shape{12}, {2.89, 1.24, 1.12, -2.29, -2.69, 1.28, -0.7, -1.2, 1.31, 1.52, -0.54, 1.42});
  const Tensor y =
      f64(Shape{12}, {6.35, 1.97, -0.37, -3.88, -4.72, 1.36, 0.24, -1.66, 1.6, 2.47, -0.92, 2.13});
  EXPECT_TRUE(all_near(run_f64("causal.iv_estimate", {z, x, y}), {1.8643427835228663}, 1e-10));
}

// Wald's estimator.
TEST(InstrumentValues, TheTableIsARatioOfCovariances) {
  const Tensor z = f64(Shape{4}, {0, 0, 1, 1}), x = f64(Shape{4}, {1, 2, 3, 4}),
               y = f64(Shape{4}, {10, 12, 20, 22});
  // Means of x and y move by 2 and 10 as z goes from 0 to 1: 10 / 2.
  EXPECT_TRUE(all_near(run_f64("causal.iv_estimate", {z, x, y}, table()), {5.0}, 1e-14));
  // An instrument that does not move x says nothing.
  EXPECT_EQ(run_f64("causal.iv_estimate", {z, f64(Shape{4}, {7, 7, 7, 7}), y}, table()),
            std::vector<double>{0});
}

// One regression in each arm.
TEST(CateValues, AreTheDifferenceOfTwoLines) {
  // Untreated y = x, treated y = 2 + 3x: the effect at x is 2 + 2x.
  const Tensor x = f64(Shape{6, 1}, {0, 1, 2, 0, 1, 2});
  const Tensor t = f64(Shape{6}, {0, 0, 0, 1, 1, 1});
  const Tensor y = f64(Shape{6}, {0, 1, 2, 2, 5, 8});
  EXPECT_TRUE(all_near(run_f64("causal.cate", {x, t, y}), {2, 4, 6, 2, 4, 6}, 1e-11));
  // The table is a plain difference of its two ports.
  EXPECT_EQ(run_f64("causal.cate", {y, t}, table()), (std::vector<double>{0, 1, 2, 1, 4, 7}));
}

// A chain of three nodes by hand.
TEST(CounterfactualValues, AbductionActionPrediction) {
  // x1 = u1, x2 = 2 x1 + u2, x3 = x1 - x2 + u3. Observed (1, 3, 0): u = (1, 1, 2). With x2 = 0:
  // x3 = 1 - 0 + 2.
  // B[source, target]: 0 -> 1 with 2, 0 -> 2 with 1, 1 -> 2 with -1.
  const Tensor model = f64(Shape{3, 3}, {0, 2, 1, 0, 0, -1, 0, 0, 0});
  const Tensor observed = f64(Shape{3}, {1, 3, 0});
  EXPECT_EQ(
      run_f64("causal.counterfactual", {observed, f64(Shape{2, 3}, {0, 1, 0, 0, 0, 0}), model}),
      (std::vector<double>{1, 0, 3}));
  // Without an intervention the observation comes back.
  // The values 9 belong to no masked node and must not be used.
  EXPECT_EQ(
      run_f64("causal.counterfactual", {observed, f64(Shape{2, 3}, {0, 0, 0, 9, 9, 9}), model}),
      (std::vector<double>{1, 3, 0}));
  // Fixing the root moves all below it: x2 = 2 * 0 + 1, x3 = 0 - 1 + 2.
  EXPECT_EQ(
      run_f64("causal.counterfactual", {observed, f64(Shape{2, 3}, {1, 0, 0, 0, 0, 0}), model}),
      (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(
      run_error("causal.counterfactual", {f64(Shape{2}, {1, 1}), f64(Shape{2, 2}, {0, 0, 0, 0}),
                                          f64(Shape{2, 2}, {0, 1, 1, 0})}),
      "The graph of 2 nodes has a cycle.");
  // 5 + 2 * (4 - 1).
  EXPECT_EQ(
      run_f64("causal.counterfactual",
              {f64(Shape{1}, {5}), f64(Shape{1}, {2}), f64(Shape{1}, {1}), f64(Shape{1}, {4})},
              table()),
      std::vector<double>{11});
}

// Schur complements by hand.
TEST(DoValues, ConditionAGaussian) {
  // numpy: S_rf S_ff^-1 for the free entries 0 and 2 given entries 1 and 3.
  const auto out = run_f64(
      "causal.do_calculus",
      {f64(Shape{4, 4}, kCovariance), i64(Shape{4}, {0, 1, 0, 1}), f64(Shape{4}, {0, 0.5, 0, -1})});
  // [mean of 4 | covariance 4 x 4]; fixed entries have rows and columns of 0.
  std::vector<double> expected(20, 0.0);
  expected[0] = -0.4613178088160539;
  expected[1] = 0.5;
  expected[2] = 0.1728958388806855;
  expected[3] = -1;
  expected[4] = 1.3401694463944227;
  expected[6] = expected[12] = -0.018704461281498858;
  expected[14] = 1.6538481760305972;
  EXPECT_TRUE(all_near(out, expected, 1e-12, 1e-14));
}

// Columns of masked nodes, not rows.
TEST(DoValues, TablesCutTheEdgesIntoANode) {
  const Tensor adjacency = f64(Shape{3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  // Columns of the masked node: edges into it.
  EXPECT_EQ(run_f64("causal.do_calculus", {adjacency, i64(Shape{3}, {0, 1, 0})}, table()),
            (std::vector<double>{1, 0, 3, 4, 0, 6, 7, 0, 9}));
  EXPECT_EQ(run_error("causal.do_calculus", {f64(Shape{2, 2}, {0, 0, 0, 1}), i64(Shape{2}, {1, 0}),
                                             f64(Shape{2}, {1, 0})}),
            "The covariance in 'cov' of the fixed entries is not positive definite: the pivot of "
            "entry 0 is not above 0.");
}

// Small bins, counted out.
TEST(FrontdoorValues, ByHand) {
  // sum over m of P(m | x) sum over x' of P(y | x', m) P(x').
  const auto effect = run_f64("causal.frontdoor_adjustment",
                              // p_y_given_xm is [x, m] in row-major order.
                              {f64(Shape{2}, {0.3, 0.7}), f64(Shape{2, 2}, {0.1, 0.5, 0.9, 0.3}),
                               f64(Shape{2}, {0.4, 0.6})},
                              table());
  EXPECT_NEAR(effect.at(0), 0.3 * (0.1 * 0.4 + 0.9 * 0.6) + 0.7 * (0.5 * 0.4 + 0.3 * 0.6), 1e-15);
  // Two bins; X and M agree in six of eight samples.
  const Tensor x = f64(Shape{8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor m = f64(Shape{8}, {1, 2, 3, 8, 4, 5, 6, 7});
  // Bins by rank: the lower half of the values, then the upper one.
  const Tensor y = f64(Shape{8}, {0, 1, 2, 8, 3, 6, 7, 9});
  // Bins of m: {0, 1, 2, 4} low, {3, 5, 6, 7} high. Means: low m: x low 1, x high 3; high m: x low
  // 8, x high 22/3. E[y | low m] = 2, E[y | high m] = 23/3; P(high m | x low) = 1/4.
  const auto effects = run_f64("causal.frontdoor_adjustment", {y, x, m});
  EXPECT_NEAR(effects.at(0), 0.75 * 2 + 0.25 * (23.0 / 3), 1e-14);
  EXPECT_NEAR(effects.at(1), 0.25 * 2 + 0.75 * (23.0 / 3), 1e-14);
  // Perfect agreement leaves cells without samples.
  for (const double v : run_f64("causal.frontdoor_adjustment", {y, x, x})) {
    EXPECT_TRUE(std::isnan(v));
  }
}

// Each node given its parents.
TEST(FactorizationValues, SumTheLikelihoodsOfTheNodes) {
  // scipy.stats.norm on the residuals of numpy.linalg.lstsq: 0 and 1 are roots, 2 has both.
  const Tensor x = f64(Shape{8, 3}, {-2.04, -0.34, -0.86, 0.53,  -2.28, 2.9,   1.07, -1.3,
                                     1.54,  -0.8,  0.04,  -0.25, 2.05,  -0.2,  1.46, 0.16,
                                     1.76,  -1.46, 1.37,  -1.08, 1.71,  -0.81, 1.5,  -1.71});
  // Edges 0 -> 2 and 1 -> 2.
  const Tensor edges = i64(Shape{3, 3}, {0, 0, 1, 0, 0, 1, 0, 0, 0});
  EXPECT_NEAR(run_f64("causal.dag_markov_factorization", {x, edges}).at(0), -25.2141374585286,
              1e-10);
  // 0.5 * 0.25 * max(0, 1e-12).
  EXPECT_NEAR(
      run_f64("causal.dag_markov_factorization", {f64(Shape{3}, {0.5, 0.25, 0})}, table()).at(0),
      0.125e-12, 1e-27);
  // The empty product.
  EXPECT_EQ(run_f64("causal.dag_markov_factorization", {f64(Shape{0}, {})}, table()).at(0), 1);
}

// Log determinants of covariances; sums of p log p.
TEST(MutualInformationValues, AreThoseOfNumPy) {
  const Tensor x = f64(Shape{9, 2}, {-0.31, -0.45, 0.48, -0.7, -0.93, 0.48, 2.46, -0.25, -0.56,
                                     -1.17, -1.34, 0.52, 0.85, 0.01, 0.33, 0.12, 0.14, -1.53});
  const Tensor y = f64(Shape{9, 1}, {-0.76, 0.19, -1.08, 2.1, -1.55, -1.25, 1.28, 0.19, -0.7});
  // log det Sx + log det Sy - log det S, halved: three determinants carry 1e-13 each.
  EXPECT_NEAR(run_f64("markov_blanket.mutual_information", {x, y}).at(0), 1.6380325967220033,
              1e-11);
  // The joint has a zero cell, whose term must vanish.
  const Tensor joint = f64(Shape{2, 3}, {0.1, 0.2, 0.05, 0.3, 0.0, 0.35});
  EXPECT_NEAR(run_f64("markov_blanket.mutual_information", {joint}, table()).at(0),
              0.2718045166781059, 1e-13);
}

// Products of marginals.
// p(a, b) = p(a) p(b) to the last bit but rounding; the floors of the logarithms leave 1e-12.
TEST(MutualInformationProperties, IndependentTablesHaveNone) {
  std::vector<double> joint;
  for (const double a : {0.2, 0.3, 0.5}) {
    for (const double b : {0.1, 0.9}) joint.push_back(a * b);
  }
  EXPECT_NEAR(
      run_f64("markov_blanket.mutual_information", {f64(Shape{3, 2}, joint)}, table()).at(0), 0,
      1e-10);
  // A table with all its mass on the diagonal holds the entropy of its margin: log 4.
  std::vector<double> diagonal(16, 0.0);
  // Element 5i of a 4 x 4 matrix is on its diagonal.
  for (size_t i = 0; i < 4; ++i) diagonal[i * 5] = 0.25;
  EXPECT_NEAR(
      run_f64("markov_blanket.mutual_information", {f64(Shape{4, 4}, diagonal)}, table()).at(0),
      std::log(4.0), 1e-10);
}

// Markov blankets --------------------------------------------------------------------------------

// Matrix times vector, and the masked sums of a table.
TEST(FlowValues, ByHand) {
  // w x = (1 - 3, 4 - 6) = (-2, -2); with b: (8, 18).
  const Tensor w = f64(Shape{2, 3}, {1, 2, 3, 4, 5, 6}), x = f64(Shape{3}, {1, 0, -1}),
               b = f64(Shape{2}, {10, 20});
  EXPECT_EQ(run_f64("markov_blanket.flow_active", {x, w}), (std::vector<double>{-2, -2}));
  EXPECT_EQ(run_f64("markov_blanket.flow_internal", {x, w, b}), (std::vector<double>{8, 18}));
  const Tensor mi = f64(Shape{4, 4}, {0, 1, 2, 3, 1, 0, 4, 5, 2, 4, 0, 6, 3, 5, 6, 0});
  const Tensor labels = i64(Shape{4}, {0, 2, 0, 1});  // internal: 0 and 2; active: 1
  // Flow to node 1 (active) from the internal nodes 0 and 2: 1 + 4. Flow to the internal nodes from
  // each other: mi[0][2] = 2.
  EXPECT_EQ(run_f64("markov_blanket.flow_active", {mi, labels}, table()),
            (std::vector<double>{0, 5, 0, 0}));
  EXPECT_EQ(run_f64("markov_blanket.flow_internal", {mi, labels}, table()),
            (std::vector<double>{2, 0, 2, 0}));
}

// Each kind of node in its own section.
TEST(PartitionValues, GatherByMask) {
  const Tensor x = f64(Shape{5}, {10, 11, 12, 13, 14});
  // Four masks over five elements; the result holds the selected ones mask by mask.
  const Tensor masks =
      i64(Shape{4, 5}, {0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0});
  EXPECT_EQ(run_f64("markov_blanket.partition", {x, masks}),
            (std::vector<double>{14, 10, 11, 12, 13}));
  const std::vector<int64_t> none(20, 0), all(20, 1);
  EXPECT_EQ(run_error("markov_blanket.partition", {x, i64(Shape{4, 5}, none)}),
            "Port 'masks' selects 0 elements; it must select 5, those of 'p'.");
  EXPECT_EQ(run_error("markov_blanket.partition", {x, i64(Shape{4, 5}, all)}),
            "Port 'masks' selects 20 elements; it must select 5, those of 'p'.");
}

// Hawkes processes
// ---------------------------------------------------------------------------------

// Sums of exponentials over earlier events only.
TEST(HawkesValues, ByTheFormula) {
  // mu 0.4, alpha 0.7, beta 1.3, horizon 4, in NumPy.
  const std::vector<double> times = {0.5, 1.0, 1.75, 3.0};
  // At each event, from the earlier ones: at 1.0 one decay over 0.5, and so on.
  const Tensor t = f64(Shape{4}, times), mu = f64(Shape{}, {0.4}), alpha = f64(Shape{}, {0.7}),
               beta = f64(Shape{}, {1.3});
  const std::vector<double> intensity = {0.4, 0.7654320437327112, 0.8018728201371457,
                                         0.6169716228751749};
  EXPECT_TRUE(
      all_near(run_f64("hawkes.intensity", {t, t, alpha, beta, mu}, table()), intensity, 1e-14));
  EXPECT_NEAR(
      run_f64("hawkes.log_likelihood", {t, alpha, beta, mu, f64(Shape{}, {4})}, table()).at(0),
      -5.4489554525179145, 1e-13);
  // The estimator at the events of two processes, the second padded with -1.
  // alpha and beta are equal, mu is 2 in the second process: its intensity at 1.0 is the first
  // one's plus 1.6.
  const Tensor rows = f64(Shape{2, 4}, {0.5, 1, 1.75, 3, 0.5, 1, -1, -1});
  const auto both = run_f64(
      "hawkes.intensity",
      {rows, f64(Shape{2}, {0.7, 0.7}), f64(Shape{2}, {1.3, 1.3}), f64(Shape{2}, {0.4, 2})});
  EXPECT_TRUE(all_near(
      both, {intensity[0], intensity[1], intensity[2], intensity[3], 2, intensity[1] + 1.6, 0, 0},
      1e-14));
  EXPECT_NEAR(
      run_f64("hawkes.log_likelihood", {f64(Shape{4}, intensity), f64(Shape{1}, {1.5})}).at(0),
      std::log(0.4) + std::log(intensity[1]) + std::log(intensity[2]) + std::log(intensity[3]) -
          1.5,
      1e-14);
}

// An event does not excite its own moment.
TEST(HawkesValues, QueriesBetweenAndBeforeTheEvents) {
  // Query 1.0 coincides with an event, 1.5 follows both, at 100 all has decayed.
  const Tensor query = f64(Shape{4}, {0.0, 1.0, 1.5, 100}), times = f64(Shape{2}, {1.0, 1.25});
  const auto y =
      run_f64("hawkes.intensity",
              {query, times, f64(Shape{}, {2}), f64(Shape{}, {1}), f64(Shape{}, {3})}, table());
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 3);  // strictly before
  EXPECT_NEAR(y[2], 3 + 2 * (std::exp(-0.5) + std::exp(-0.25)), 1e-14);
  EXPECT_NEAR(y[3], 3, 1e-14);
}

// Which one, by form and by attribute.
TEST(HawkesValues, KernelMatricesAreTriangles) {
  const Tensor t = f64(Shape{3}, {0, 1, 3});
  // Pairs at distances 1, 3 and 2: 2 exp(-0.5 * distance).
  const double a = 2 * std::exp(-0.5), b = 2 * std::exp(-1.5), c = 2 * std::exp(-1.0);
  const Attributes numbers = {{"alpha", 2.0}, {"beta", 0.5}};
  EXPECT_TRUE(
      all_near(run_f64("hawkes.kernel_matrix", {t}, numbers), {0, a, b, 0, 0, c, 0, 0, 0}, 1e-14));
  EXPECT_TRUE(all_near(run_f64("hawkes.kernel_matrix", {t}, table(numbers)),
                       {0, 0, 0, a, 0, 0, b, c, 0}, 1e-14));
  Attributes lower = numbers;
  lower.set("triangle", std::string("lower"));
  EXPECT_TRUE(all_same_bits(run_f64("hawkes.kernel_matrix", {t}, lower),
                            run_f64("hawkes.kernel_matrix", {t}, table(numbers))));
}

// Active inference and coding --------------------------------------------------------------------

// Both published forms of each operation.
TEST(InferenceValues, AreThoseOfNumPy) {
  // From NumPy with the formulas of the operations' documents.
  const Tensor q = f64(Shape{3}, {0.2, 0.5, 0.3}), likelihood = f64(Shape{3}, {0.9, 0.1, 0.4}),
               prior = f64(Shape{3}, {0.3, 0.3, 0.4});
  EXPECT_NEAR(run_f64("active_inference.free_energy", {q, likelihood, prior}, table()).at(0),
              1.5352670377166626, 1e-14);
  EXPECT_NEAR(run_f64("active_inference.expected_free_energy",
                      {f64(Shape{2}, {0.6, 0.4}), f64(Shape{2}, {0.9, 0.1}),
                       f64(Shape{3}, {0.5, 0.25, 0.25})},
                      table())
                  .at(0),
              1.3509594504229754, 1e-14);
  // mu = (0.5, -1), logarithms (0.2, -0.3).
  const Tensor gaussian = f64(Shape{4}, {0.5, -1, 0.2, -0.3});
  EXPECT_NEAR(run_f64("active_inference.free_energy", {gaussian}).at(0), 0.6561104894209437, 1e-14);
  EXPECT_TRUE(all_near(run_f64("active_inference.belief_update",
                               // mu: 0.5 - 0.1 * (0.5 + 0.3) = 0.42 and -1 - 0.1 * (-1 + 0.6) =
                               // -0.96.
                               {gaussian, f64(Shape{2}, {0.3, 0.6})}, {{"lr", 0.1}}),
                       {0.42, -0.96, 0.17785972418398302, -0.2740818220681718}, 1e-14));
}

// Posteriors sum to 1; the free energy of the prior itself is 0.
TEST(InferenceProperties, BeliefsNormaliseAndPriorsCostNothing) {
  // Products 0.4, 1.2, 0.5 with the sum 2.1.
  const Tensor prior = f64(Shape{3}, {0.2, 0.3, 0.5}), likelihood = f64(Shape{3}, {2, 4, 1});
  EXPECT_TRUE(all_near(run_f64("active_inference.belief_update", {prior, likelihood}, table()),
                       {0.4 / 2.1, 1.2 / 2.1, 0.5 / 2.1}, 1e-15));
  // KL(q || q) = 0: what is left is the inaccuracy, here of certain outcomes.
  const Tensor certain = f64(Shape{3}, {1, 1, 1});
  EXPECT_EQ(run_f64("active_inference.free_energy", {prior, certain, prior}, table()).at(0), 0);
  // mean 0 and log variance 0 is the standard normal itself.
  EXPECT_EQ(run_f64("active_inference.free_energy", {f64(Shape{4}, {0, 0, 0, 0})}).at(0), 0);
  EXPECT_EQ(
      run_f64("active_inference.precision_weight", {f64(Shape{2}, {3, -4}), f64(Shape{2}, {0, 0})}),
      (std::vector<double>{3, -4}));
  EXPECT_EQ(run_f64("active_inference.precision_weight",
                    {f64(Shape{2}, {3, -4}), f64(Shape{2}, {2, 0.5})}, table()),
            (std::vector<double>{6, -2}));
  // Equal shares have the largest entropy, one certain outcome none.
  const auto entropy = run_f64("active_inference.expected_free_energy",
                               {f64(Shape{2, 4}, {0.25, 0.25, 0.25, 0.25, 1, 0, 0, 0})});
  // log(p + 1e-12) shifts each term by 1e-12 at most.
  EXPECT_NEAR(entropy[0], std::log(4.0), 1e-11);
  EXPECT_NEAR(entropy[1], 0, 1e-11);
}

// Prediction, error and both updates on two levels.
TEST(CodingValues, ByHand) {
  // w rep = (1 - 2 + 6, 4 - 5 + 12) = (5, 11).
  const Tensor w = f64(Shape{2, 3}, {1, 2, 3, 4, 5, 6}), rep = f64(Shape{3}, {1, -1, 2}),
               err = f64(Shape{2}, {0.5, -1});
  EXPECT_EQ(run_f64("predictive_coding.prediction", {rep, w}), (std::vector<double>{5, 11}));
  EXPECT_EQ(run_f64("predictive_coding.prediction_error",
                    {f64(Shape{2}, {6, 10}), f64(Shape{2}, {5, 11})}),
            (std::vector<double>{1, -1}));
  EXPECT_EQ(run_f64("predictive_coding.prediction_error",
                    {f64(Shape{2}, {6, 10}), f64(Shape{2}, {5, 11}), f64(Shape{2}, {2, 3})}),
            (std::vector<double>{2, -3}));
  // W^T err = (-3.5, -4, -4.5)
  EXPECT_TRUE(
      all_near(run_f64("predictive_coding.update_representation", {rep, err, w}, {{"lr", 0.1}}),
               {0.65, -1.4, 1.55}, 1e-15));
  EXPECT_TRUE(all_near(run_f64("predictive_coding.update_representation",
                               {rep, err, w, f64(Shape{3}, {0.5, 0, 1})}, {{"lr", 0.1}}),
                       {0.6, -1.4, 1.45}, 1e-15));
  // w + lr * err rep^T: 1 + 0.1 * 0.5 * 1 = 1.05, ..., 6 + 0.1 * -1 * 2 = 5.8.
  EXPECT_TRUE(all_near(run_f64("predictive_coding.update_weights", {w, rep, err}, {{"lr", 0.1}}),
                       {1.05, 1.95, 3.1, 3.9, 5.1, 5.8}, 1e-15));
}

// Sums, lengths, and places modulo the extent.
TEST(VectorValues, BundlesAndRotations) {
  // a + b = (3, 0, 6) of length sqrt(45).
  const Tensor a = f64(Shape{3}, {1, 2, 2}), b = f64(Shape{3}, {2, -2, 4});
  EXPECT_TRUE(all_near(run_f64("vsa.bundle", {a, b}), {3 / std::sqrt(45.0), 0, 6 / std::sqrt(45.0)},
                       1e-15));
  EXPECT_EQ(run_f64("vsa.bundle", {a, b}, {{"normalize", false}}), (std::vector<double>{3, 0, 6}));
  // The sum of a vector and its negative has no direction: zeros, not 0 / 0.
  EXPECT_EQ(run_f64("vsa.bundle", {a, f64(Shape{3}, {-1, -2, -2})}),
            (std::vector<double>{0, 0, 0}));
  const Tensor x = f64(Shape{2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  // A rotation by one to the left in each row; by 5 is by 1 modulo the extent of 4.
  EXPECT_EQ(run_f64("vsa.permute", {x}), (std::vector<double>{2, 3, 4, 1, 6, 7, 8, 5}));
  EXPECT_EQ(run_f64("vsa.inverse_permute", {x}, {{"k", int64_t{5}}}),
            (std::vector<double>{4, 1, 2, 3, 8, 5, 6, 7}));
  // Negative, zero, the extent itself, and the ends of 64 bits, where a negation would overflow.
  for (const int64_t k : {int64_t{-9}, int64_t{0}, int64_t{3}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const Tensor there = run_one("vsa.permute", {x}, {{"k", k}});
    EXPECT_EQ(run_f64("vsa.inverse_permute", {there}, {{"k", k}}), values_of<double>(x)) << k;
  }
}

// NaN ranks last, wherever it stands: the bins of the others are those without it.
TEST(FrontdoorValues, NanRanksLast) {
  const double nan = std::nan("");
  // Five samples in two bins: ranks 0 to 2 are low. The NaN of x and m is rank 4 in each order.
  const std::vector<double> first = {nan, 1, 2, 3, 4}, last = {1, 2, 3, 4, nan};
  const auto effects = [&](const std::vector<double>& x, const std::vector<double>& y) {
    return run_f64("causal.frontdoor_adjustment",
                   {f64(Shape{5}, y), f64(Shape{5}, x), f64(Shape{5}, {1, 5, 2, 4, 3})});
  };
  EXPECT_EQ(effects(first, {50, 10, 20, 30, 40}).size(), 2u);
  // A rotation of the samples moves the NaN from the front to the back and changes nothing else.
  const auto rotated = run_f64(
      "causal.frontdoor_adjustment",
      {f64(Shape{5}, {10, 20, 30, 40, 50}), f64(Shape{5}, last), f64(Shape{5}, {5, 2, 4, 3, 1})});
  EXPECT_TRUE(all_same_bits(effects(first, {50, 10, 20, 30, 40}), rotated));
}

// What the table does not read is refused, not left out.
TEST(PredictionError, TheTableHasNoPrecision) {
  const Tensor x = f64(Shape{1}, {1});
  const auto refused = run_op("predictive_coding.prediction_error", {x, x, x}, table());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "predictive_coding.prediction_error: Port 'precision' has no meaning with the form "
            "'table'.");
  const Tensor w = f64(Shape{1, 1}, {1});
  EXPECT_FALSE(run_op("predictive_coding.update_representation", {x, x, w, x}, table()));
  EXPECT_TRUE(run_op("predictive_coding.update_representation", {x, x, w}, table()));
}

}  // namespace
}  // namespace quern::test
