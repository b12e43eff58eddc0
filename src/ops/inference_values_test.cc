// Active inference, predictive coding and vectors of symbols: NumPy's numbers, cases solved by
// hand, and what holds for all beliefs.
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
