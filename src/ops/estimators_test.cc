// Properties and errors of the causal, Hawkes, Markov, active inference and physics operations.
// Values: the suite op_cases.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/linear_algebra.h"
#include "support/npz_reader.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

Attributes table() {
  return {{"form", std::string("table")}};
}

Tensor i64(const Shape& shape, const std::vector<int64_t>& values) {
  return tensor_of(DType::kI64, shape, values);
}

// hawkes.simulate -----------------------------------------------------------------------------

// Counted from the rows of hawkes.simulate: positive times are events, -1 is padding.
struct Events {
  std::vector<double> counts;  // of each process
  bool are_ascending = true;
  std::vector<double> values;
};

Events simulate(size_t processes, double mu, double alpha, double beta, Attributes attributes) {
  const auto k = static_cast<int64_t>(processes);
  const auto port = [&](double value) {
    return f64(Shape{k}, std::vector<double>(processes, value));
  };
  const Tensor out =
      run_one("hawkes.simulate", {port(mu), port(alpha), port(beta)}, std::move(attributes));
  Events events{{}, true, values_of<double>(out)};
  const size_t steps = events.values.size() / processes;
  for (size_t p = 0; p < processes; ++p) {
    double last = 0, count = 0;
    for (size_t i = 0; i < steps; ++i) {
      const double t = events.values[p * steps + i];
      // After padding nothing may follow: no time is above infinity.
      if (t < 0) last = std::numeric_limits<double>::infinity();  // padding stays to the end
      events.are_ascending = events.are_ascending && (t > last || t == -1);
      count += t > 0;
      if (t > 0) last = t;
    }
    events.counts.push_back(count);
  }
  return events;
}

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// Without excitation the mean number of events is known.
TEST(HawkesSimulate, PoissonProcessWithoutExcitation) {
  // N(10) is Poisson with mean and variance 0.5 * 10 = 5. The mean of 400 has the deviation
  // sqrt(5/400); five of them are exceeded by one seed in a million, and the seed is fixed.
  const auto events = simulate(
      400, 0.5, 0, 1, {{"max_steps", int64_t{64}}, {"horizon", 10.0}, {"seed", int64_t{1}}});
  EXPECT_TRUE(events.are_ascending);
  EXPECT_NEAR(mean_of(events.counts), 5, 5 * std::sqrt(5.0 / 400));
}

// By the branching ratio.
TEST(HawkesSimulate, ExcitationRaisesTheMean) {
  // E N(T) = mu / (1 - r) (T - r (1 - exp(-(beta - alpha) T)) / (beta - alpha)), r = alpha / beta.
  // beta = 1 and alpha = 0.5: r = 1/2, so that 0.5 / 0.5 * (20 - 0.5 (1 - exp(-10)) / 0.5) =
  // 19.000045. The variance of such clusters is not that of Poisson and is taken from the sample.
  const auto events = simulate(
      400, 0.5, 0.5, 1, {{"max_steps", int64_t{200}}, {"horizon", 20.0}, {"seed", int64_t{2}}});
  EXPECT_TRUE(events.are_ascending);
  double squares = 0;
  const double mean = mean_of(events.counts);
  for (const double c : events.counts) squares += (c - mean) * (c - mean);
  // Five deviations of the mean.
  EXPECT_NEAR(mean, 19.000045, 5 * std::sqrt(squares / 400 / 400));
}

// Same seed, same bits; the rest of a row is -1.
TEST(HawkesSimulate, SeedsRepeatAndRowsFill) {
  // A horizon of 1,000 with a rate of 5 fills four places for certain.
  const Attributes attributes = {
      {"max_steps", int64_t{4}}, {"horizon", 1000.0}, {"seed", int64_t{4}}};
  const auto events = simulate(3, 5, 0.5, 1, attributes);
  EXPECT_EQ(mean_of(events.counts), 4);
  EXPECT_EQ(events.values, simulate(3, 5, 0.5, 1, attributes).values);
  // The first event of process 0 and that of process 1 (rows of four).
  EXPECT_NE(events.values[0], events.values[4]);  // processes are independent
}

// Rates that are not positive never end.
TEST(HawkesSimulate, RefusesBadProcesses) {
  const Attributes attributes = {{"max_steps", int64_t{4}}};
  const auto run = [&](double mu, double alpha, double beta) {
    return run_op("hawkes.simulate",
                  {f64(Shape{1}, {mu}), f64(Shape{1}, {alpha}), f64(Shape{1}, {beta})}, attributes);
  };
  // The valid call, then mu, alpha and beta at or past their limits, then NaN.
  EXPECT_TRUE(run(1, 0, 1));
  EXPECT_FALSE(run(0, 0, 1));
  EXPECT_FALSE(run(1, -0.5, 1));
  EXPECT_FALSE(run(1, 0, 0));
  EXPECT_FALSE(run(std::nan(""), 0, 1));
}

// causal ----------------------------------------------------------------------------------------

// Zero and negative pivots alike.
TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  // Eigenvalues 3 and -1: the second pivot is 1 - 2 * 2.
  const auto bad = run_op("causal.cholesky", {f64(Shape{2, 2}, {1, 2, 2, 1})});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "The matrix is not positive definite: its pivot 1 is not above 0.");
  // Not square; then the empty matrix, whose factor is empty.
  EXPECT_FALSE(run_op("causal.cholesky", {f64(Shape{2, 3}, {1, 2, 3, 4, 5, 6})}));
  EXPECT_EQ(run_one("causal.cholesky", {f64(Shape{0, 0}, {})}).shape(), (Shape{0, 0}));
}

// No answer is better than one of many.
TEST(LeastSquares, SingularSystemsGiveNaN) {
  // Two equal columns and two samples: any split of the slope fits.
  Matrix design(2, 2);
  design.values = {1, 1, 1, 1};
  for (const double c : least_squares(design, {1, 2}, 0)) EXPECT_TRUE(std::isnan(c));
}

// Nothing to compare with.
TEST(Cate, AnEmptyArmGivesNaN) {
  const Tensor x = f64(Shape{2, 1}, {0, 1}), y = f64(Shape{2}, {1, 2});
  // Both samples are treated.
  const Tensor effect = run_one("causal.cate", {x, f64(Shape{2}, {1, 1}), y});
  for (const double v : values_of<double>(effect)) EXPECT_TRUE(std::isnan(v));
}

// A cycle has no order of nodes.
TEST(DagFactorization, RefusesCycles) {
  const Tensor x = f64(Shape{3, 2}, {1, 2, 3, 5, 4, 4});
  // 0 -> 1 -> 0; below, a node that is its own parent.
  const auto bad = run_op("causal.dag_markov_factorization", {x, i64(Shape{2, 2}, {0, 1, 1, 0})});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "The graph of 2 nodes has a cycle.");
  EXPECT_FALSE(run_op("causal.dag_markov_factorization", {x, i64(Shape{2, 2}, {1, 0, 0, 0})}));
}

// By the name that the form gives them.
TEST(TwoForms, MissingPortsAreNamed) {
  const Tensor p = f64(Shape{2}, {0.5, 0.5});
  // Two of three ports in the form that needs three.
  const auto bad = run_op("active_inference.free_energy", {p, p}, table());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "active_inference.free_energy: Port 'prior' must be given.");
  // [mu | log variance] has an even extent.
  EXPECT_FALSE(run_op("active_inference.free_energy", {f64(Shape{3}, {1, 2, 3})}));
}

// Markov blankets and beliefs
// -----------------------------------------------------------------------

// The order that the published operation has.
TEST(Partition, ParentsComeBeforeChildrenAndCoParentsStayOutside) {
  // Edges 0-1, 0-2, 1-0 and 3-2 (source, target) with node 0 inside: 1 is both parent and child of
  // 0 and counts as a parent, 2 is a child, 3 a co-parent.
  const Tensor adjacency = i64(Shape{4, 4}, {0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  const Tensor labels =
      run_one("markov_blanket.partition", {adjacency, i64(Shape{4}, {1, 0, 0, 0})}, table());
  EXPECT_EQ(values_of<int64_t>(labels), (std::vector<int64_t>{0, 1, 2, 3}));
  const Tensor x = f64(Shape{2}, {1, 2});
  // Masks must be four rows of the length of x.
  EXPECT_FALSE(run_op("markov_blanket.partition", {x, i64(Shape{4, 2}, {1, 1, 1, 0, 0, 0, 0, 0})}));
}

// 0 / 0, not a silent uniform.
TEST(BeliefUpdate, NoSupportGivesNaN) {
  const Tensor out = run_one("active_inference.belief_update",
                             // The likelihood is 0 wherever the prior is not.
                             {f64(Shape{2}, {0.5, 0.5}), f64(Shape{2}, {0, 0})}, table());
  for (const double v : values_of<double>(out)) EXPECT_TRUE(std::isnan(v));
}

// A singular joint covariance.
TEST(MutualInformation, OfACopyIsInfinite) {
  // x and a copy of it: log det of the joint covariance is -infinity.
  const Tensor x = f64(Shape{3, 1}, {1, 2, 4});
  const Tensor mi = run_one("markov_blanket.mutual_information", {x, x});
  EXPECT_EQ(values_of<double>(mi).at(0), std::numeric_limits<double>::infinity());
}

// Fourier transforms
// ----------------------------------------------------------------------------------

// Powers of two and other lengths.
TEST(Fft, InverseGivesTheInputBackInF32) {
  // Powers of two take the radix-2 path, 12 and 13 the direct sum, 1 is both.
  for (const int64_t n : {1, 2, 8, 12, 13, 64}) {
    std::vector<float> x(static_cast<size_t>(2 * n));
    // Whole numbers between -5 and 5 in no regular order; the parts of complex numbers alternate.
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 37 % 11) - 5;
    const auto bytes = std::as_bytes(std::span<const float>(x));
    const Tensor in = Tensor::from_bytes(DType::kComplex64, Shape{n}, bytes).value();
    const Tensor back = run_one("physics.ifft1d", {run_one("physics.fft1d", {in})});
    std::vector<float> y(x.size());
    const auto view = back.host_view();
    std::memcpy(y.data(), view->data(), view->size());
    // Some 64 additions of f32 numbers up to 300: 1e-4 is roomy, and far below a wrong factor.
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-4f) << n;
  }
}

// Ranks and spacings without meaning.
TEST(Physics, RefusesBadGrids) {
  // A spacing of 0, a negative mass, a matrix where a line is wanted; an empty grid is fine.
  const Tensor u = f64(Shape{3}, {1, 2, 3});
  EXPECT_FALSE(run_op("physics.grad1d", {u}, {{"dx", 0.0}}));
  EXPECT_FALSE(run_op("physics.bohmian_velocity", {u}, {{"mass", -1.0}}));
  EXPECT_FALSE(run_op("physics.grad1d", {f64(Shape{1, 3}, {1, 2, 3})}));
  EXPECT_EQ(run_one("physics.laplacian", {f64(Shape{0}, {})}).shape(), (Shape{0}));
}

}  // namespace
}  // namespace quern::test
