// Causal estimators, Markov blankets and point processes: NumPy's and SciPy's numbers, cases solved
// by hand, and the identities that define each operation.
#include <gtest/gtest.h>

#include <cmath>

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

// A covariance matrix, row-major 4 x 4 and symmetric.
const std::vector<double> kCovariance = {3.09, 0.35, 0.2,  4.55, 0.35, 1.91, 0.76, 1.53,
                                         0.2,  0.76, 1.96, 0.81, 4.55, 1.53, 0.81, 12.04};

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

}  // namespace
}  // namespace quern::test
