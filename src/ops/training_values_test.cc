// Losses, gradients, optimisers, metrics and sampling: PyTorch's numbers, published formulas,
// finite differences, and distributions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "ir/text_cursor.h"
#include "ops/philox.h"
#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// From the text form of graphs, so that a table can write them down.
Attributes attributes_of(std::string_view text) {
  return TextCursor(text, 1).attributes().value();
}

// Losses: torch.nn.functional ------------------------------------------------------------------

// Differences of -0.75, -0.5, 1.5, 0, 2 and -4.75: on both sides of every delta that is tried.
const Tensor& predictions() {
  static const Tensor tensor = f64(Shape{2, 3}, {0.25, -1.5, 2, 0, 3, -0.75});
  return tensor;
}
const Tensor& goals() {
  static const Tensor tensor = f64(Shape{2, 3}, {1, -1, 0.5, 0, 1, 4});
  return tensor;
}

// torch.nn.functional in float64.
// By hand: mse = (0.5625 + 0.25 + 2.25 + 0 + 4 + 22.5625) / 6; mae = 9.5 / 6.
TEST(LossValues, AreThoseOfTorch) {
  const auto loss = [](std::string_view id, const Attributes& attributes = {}) {
    return run_f64(id, {predictions(), goals()}, attributes).at(0);
  };
  EXPECT_NEAR(loss("train.loss.mse"), 4.9375, 1e-15);
  EXPECT_NEAR(loss("losses.mae"), 1.5833333333333333, 1e-15);
  EXPECT_NEAR(loss("losses.huber"), 1.1927083333333333, 1e-15);
  EXPECT_NEAR(loss("losses.huber", {{"delta", 0.5}}), 0.6875, 1e-15);
  EXPECT_NEAR(loss("losses.huber", {{"delta", 3.0}}), 2.2135416666666665, 1e-15);
  const Tensor p = f64(Shape{4}, {0.1, 0.5, 0.9, 0.999}), t = f64(Shape{4}, {0, 1, 0.25, 1});
  EXPECT_NEAR(run_f64("losses.binary_cross_entropy", {p, t}).at(0), 0.6381967863028365, 1e-14);
  const Tensor q = f64(Shape{4}, {0.2, 0.3, 0.5, 0}), r = f64(Shape{4}, {0.1, 0.6, 0.3, 0.4});
  EXPECT_NEAR(run_f64("losses.kl_divergence", {q, r}).at(0), 0.04652452345675021, 1e-14);
}

// A row with ordinary scores, one of equal ones, and one that spans 20.
const Tensor& logits() {
  static const Tensor tensor = f64(Shape{3, 4}, {1, 2, -1, 0.5, 0, 0, 0, 0, 10, -10, 3, 2.5});
  return tensor;
}
// Classes in no order; row 2 has its class far from the largest score.
const Tensor& class_ids() {
  static const Tensor tensor = i32(Shape{3}, {1, 3, 2});
  return tensor;
}
// Rows of shares that sum to 1: uneven, even, and on two classes.
const Tensor& shares() {
  static const Tensor tensor =
      f64(Shape{3, 4}, {0.1, 0.7, 0.1, 0.1, 0.25, 0.25, 0.25, 0.25, 0, 0, 0.5, 0.5});
  return tensor;
}

// Both kinds of targets, with gradients of autograd.
// The rows of a gradient sum to 0, and a class whose share is met (the even row) gets none. 1e-16
// absolute covers the exact zeros.
TEST(CrossEntropyValues, AreThoseOfTorch) {
  const auto loss = [](const Tensor& t) {
    return run_f64("train.loss.cross_entropy", {logits(), t}).at(0);
  };
  EXPECT_NEAR(loss(class_ids()), 2.9609800518610854, 1e-14);
  EXPECT_NEAR(loss(shares()), 3.2276467185277524, 1e-14);
  const auto gradient = [](const Tensor& t) {
    return run_f64("train.loss.cross_entropy_grad", {logits(), t});
  };
  EXPECT_TRUE(all_near(
      gradient(shares()),
      {0.041402606016067045, -0.030179987467040946, -0.023218923813527925, 0.011996305264501841, 0,
       0, 0, 0, 0.3328457248653769, 6.860461715194599e-10, -0.16636315065285, -0.1664825748985731},
      1e-12, 1e-16));
  EXPECT_TRUE(all_near(
      gradient(class_ids()),
      {0.07473593934940037, -0.13017998746704096, 0.010114409519805408, 0.045329638597835176,
       0.08333333333333333, 0.08333333333333333, 0.08333333333333333, -0.25, 0.3328457248653769,
       6.860461715194599e-10, -0.33302981731951664, 0.00018409176809356612},
      1e-12, 1e-16));
}

// With row and number of classes.
// Above and below the classes, in loss and gradient; without classes there is no softmax.
TEST(CrossEntropyValues, RefusesClassesThatAreNotThere) {
  EXPECT_EQ(run_error("train.loss.cross_entropy", {logits(), i32(Shape{3}, {1, 4, 0})}),
            "The class id 4 in row 1 is outside the 4 classes.");
  EXPECT_EQ(run_error("train.loss.cross_entropy_grad", {logits(), i32(Shape{3}, {-1, 0, 0})}),
            "The class id -1 in row 0 is outside the 4 classes.");
  EXPECT_EQ(run_error("train.loss.cross_entropy", {f64(Shape{2, 0}, {}), f64(Shape{2, 0}, {})}),
            "Cross entropy needs at least one class; 'logits' has the shape [2, 0].");
}

// The gradient operations against central differences of their losses.
// Each element is moved by h both ways. The error of the difference is of order h^2 = 1e-10 and
// 1e-16 / h = 1e-11.
void expect_gradient(std::string_view loss, std::string_view gradient, const Tensor& x,
                     const Tensor& target) {
  const auto values = values_of<double>(x);
  const auto slopes = run_f64(gradient, {x, target});
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = [&](double step) {
      auto moved = values;
      moved[i] += step;
      return run_f64(loss, {f64(x.shape(), moved), target}).at(0);
    };
    const double h = 1e-5;
    EXPECT_NEAR(slopes[i], (at(h) - at(-h)) / (2 * h), 1e-8) << loss << " " << i;
  }
}

// Central differences of the loss itself.
// Means over elements (mse) and over rows (cross entropy): a gradient that forgot its divisor would
// be off by a factor. The last has one row and a certain class.
TEST(GradientValues, AreSlopesOfTheirLosses) {
  expect_gradient("train.loss.mse", "train.loss.mse_grad", predictions(), goals());
  expect_gradient("train.loss.cross_entropy", "train.loss.cross_entropy_grad", logits(), shares());
  expect_gradient("train.loss.cross_entropy", "train.grad.cross_entropy", logits(), class_ids());
  expect_gradient("train.loss.cross_entropy", "train.loss.cross_entropy_grad",
                  normal_f64(Shape{7}, 1), f64(Shape{7}, {0, 0, 1, 0, 0, 0, 0}));
}

// And nowhere negative.
// Exactly 0, as every term is.
TEST(LossProperties, AreZeroWhereThePredictionIsRight) {
  for (const char* id : {"train.loss.mse", "losses.mae", "losses.huber"}) {
    EXPECT_EQ(run_f64(id, {goals(), goals()}).at(0), 0) << id;
  }
  EXPECT_EQ(run_f64("losses.kl_divergence", {shares(), shares()}).at(0), 0);
}

// In value and slope.
// delta^2 / 2 = 0.28125 from both sides; beyond, delta (|d| - delta / 2), and even in d.
TEST(LossProperties, HuberJoinsItsBranchesAtDelta) {
  const auto at = [](double d) {
    return run_f64("losses.huber", {f64(Shape{1}, {d}), f64(Shape{1}, {0})}, {{"delta", 0.75}})
        .at(0);
  };
  EXPECT_NEAR(at(0.75), 0.28125, 1e-16);
  EXPECT_NEAR(at(std::nextafter(0.75, 1)), 0.28125, 1e-15);
  EXPECT_EQ(at(-2), at(2));
  EXPECT_NEAR(at(2), 0.75 * (2 - 0.375), 1e-15);
}

// Optimisers ------------------------------------------------------------------------------------

// A rule, its attributes, and the four parameters after five steps.
struct OptimizerRow {
  std::string_view name, attributes;
  std::vector<double> expected;
};

// Parameters after five steps of torch.optim (lion, lamb and lars: of their papers' formulas) with
// the gradients of gradient_at().
const std::vector<OptimizerRow> kTrajectories = {
    {"sgd",
     "{lr = 0.1, momentum = 0.0}",
     {0.34551917129870197, -1.0176019991922371, 0.870332453356782, 0.04391100908963574}},
    {"sgd",
     "{lr = 0.1, momentum = 0.9}",
     {0.012742596529325766, -0.42869291321206254, -0.7039922329342585, -0.2371113340114926}},
    {"sgd",
     "{lr = 0.05, momentum = 0.8, nesterov = true}",
     {0.24529974913893396, -0.846459414713955, 0.37241304847526685, -0.04755388240375508}},
    {"sgd",
     "{lr = 0.1, momentum = 0.5, wd = 0.1}",
     {0.21241793252511082, -0.747644930193769, 0.2708432073511032, -0.021938498918174773}},
    {"adam",
     "{lr = 0.1}",
     {0.10259467250792302, -0.8281217435159985, 1.505958469024279, -0.254411800564028}},
    {"adam",
     "{lr = 0.05, beta1 = 0.5, beta2 = 0.9, eps = 0.001}",
     {0.3219854226108935, -1.0754959525790264, 1.7568255994255864, -0.06002649484891467}},
    {"adam",
     "{lr = 0.1, wd = 0.2}",
     {0.09030804741308912, -0.8059494722112795, 1.5056075107854108, -0.24273267887818437}},
    {"adamw",
     "{lr = 0.1}",
     {0.10140449653485464, -0.8231260527319942, 1.4970869804298466, -0.253564867366572}},
    {"adamw",
     "{lr = 0.2, wd = 0.5}",
     {-0.1122978620513481, -0.16732107409150526, 0.4316327890414694, -0.33292843316117937}},
    {"adamax",
     "{lr = 0.1}",
     {0.15670831380778205, -0.8765116155116276, 1.5387019904873196, -0.24329274169455034}},
    {"adamax",
     "{lr = 0.02, beta1 = 0.7, beta2 = 0.95, wd = 0.1}",
     {0.4192746768617894, -1.172640048503355, 1.8973332196528259, -0.040181700189277136}},
    {"rmsprop",
     "{lr = 0.01}",
     {0.3150297564842237, -1.0572143600738113, 1.694899109587006, -0.04310650044032496}},
    {"rmsprop",
     "{lr = 0.01, momentum = 0.9}",
     {-0.10078344689559131, -0.5528025447290617, 1.1122934263545772, -0.45463316627816175}},
    {"rmsprop",
     "{lr = 0.01, centered = true, alpha = 0.9}",
     {0.42061166352044393, -1.1779862411210476, 1.8817877554286224, -0.017376433344399575}},
    {"rmsprop",
     "{lr = 0.02, centered = true, momentum = 0.5, wd = 0.1}",
     {0.07608025500631083, -0.5726932177233907, 1.0283942807411945, -0.26078440048518364}},
    {"adagrad",
     "{lr = 0.1}",
     {0.3151532170551689, -1.0574029404458425, 1.696156521045735, -0.04387595033425996}},
    {"adagrad",
     "{lr = 0.1, lr_decay = 0.5, wd = 0.1}",
     {0.3379941178900748, -1.082997169299068, 1.7959539285363606, -0.09958691401495004}},
    {"adadelta",
     "{lr = 1.0}",
     {0.4894208937856554, -1.2412852858747607, 1.9841403512972324, 0.001041475727205126}},
    {"adadelta",
     "{lr = 0.5, rho = 0.5, eps = 0.0001, wd = 0.1}",
     {0.46997718181093445, -1.2243850497915347, 1.9568588874341408, 0.003030120869909732}},
    {"lion",
     "{lr = 0.1}",
     {0.20000000000000004, -0.9499999999999998, 1.4999999999999996, -0.10000000000000003}},
    {"lion",
     "{lr = 0.05, beta1 = 0.5, beta2 = 0.8, wd = 0.2}",
     {0.23044527445000001, -0.9436878118750001, 1.6569303492999998, -0.046049750499999986}},
    {"lamb",
     "{lr = 0.1}",
     {0.03142600928579497, -0.7312934271616806, 1.3730306311243934, -0.2835120179662564}},
    {"lamb",
     "{lr = 0.02, beta1 = 0.8, beta2 = 0.9, wd = 0.3}",
     {0.3984403611381098, -1.1305094345756364, 1.8433105008524289, -0.041704689692469175}},
    {"lars",
     "{lr = 0.5}",
     {0.49786823470117936, -1.2469268037326977, 1.9850077964964956, -0.0007607116727282498}},
    {"lars",
     "{lr = 1.0, eta = 0.1, momentum = 0.5, wd = 0.01}",
     {0.3037717233333796, -0.9521945933999961, 0.5878833839481459, 0.04241350143108731}},
};

// Both signs and a zero, where sign functions and trust ratios have their edges.
const std::vector<double> kStart = {0.5, -1.25, 2.0, 0.0};

// The slope of a quadratic plus a swing that changes with the step, so that momenta never settle.
std::vector<double> gradient_at(int step, const std::vector<double>& p) {
  const double a[] = {1, 0.5, 2, 0.25}, c[] = {0.1, -0.2, 0.3, 0.4}, b[] = {0.3, -0.6, 0.2, 0.9};
  std::vector<double> g;
  for (size_t i = 0; i < 4; ++i) g.push_back(a[i] * (p[i] - c[i]) + b[i] * std::sin(step + 1.0));
  return g;
}

// Runs `steps` steps; states go out and in again.
// `T` is the type of parameters and states. The gradient is recomputed from the parameters of each
// step, as a trainer does, in f64.
template <class T>
std::vector<T> train(const std::string& id, const Attributes& attributes, int steps) {
  const Shape shape{4};
  const auto tensor = [&](const std::vector<T>& values) {
    return tensor_of<T>(sizeof(T) == 8 ? DType::kF64 : DType::kF32, shape, values);
  };
  std::vector<T> p(kStart.begin(), kStart.end());
  std::vector<Tensor> states;
  for (int step = 0; step < steps; ++step) {
    const auto g = gradient_at(step, {p.begin(), p.end()});
    std::vector<Tensor> inputs = {tensor(p), tensor({g.begin(), g.end()})};
    inputs.insert(inputs.end(), states.begin(), states.end());
    auto outputs = run_op(id, inputs, attributes);
    EXPECT_TRUE(outputs) << outputs.error().message;
    if (!outputs) return {};
    p = values_of<T>(outputs->front());
    states.assign(outputs->begin() + 1, outputs->end());
  }
  return p;
}

// torch.optim in float64, state carried along.
// 1e-11 is the rounding of five steps in f64; f32 rounds each step, hence 1e-5. A wrong bias
// correction, decay or order of updates is off by far more.
TEST(OptimizerValues, FiveStepsAreThoseOfTorch) {
  for (const OptimizerRow& row : kTrajectories) {
    const std::string id = "train.optimizer." + std::string(row.name);
    const Attributes attributes = attributes_of(row.attributes);
    EXPECT_TRUE(all_near(train<double>(id, attributes, 5), row.expected, 1e-11, 1e-12))
        << row.name << " " << row.attributes;
    EXPECT_TRUE(all_near(train<float>(id, attributes, 5), row.expected, 1e-5, 2e-6))
        << row.name << " " << row.attributes;
  }
}

// Bias corrections depend on it.
// lars is left out, as it has no default rate. The step comes out as 1 and, fed back, as 2.
TEST(OptimizerValues, CountTheirSteps) {
  const Tensor p = f64(Shape{2}, {1, 2});
  for (const char* name :
       {"adam", "adamw", "adamax", "sgd", "rmsprop", "adagrad", "adadelta", "lion", "lamb"}) {
    const std::string id = "train.optimizer." + std::string(name);
    const auto first = run_op(id, {p, p});
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(values_of<int64_t>(first->back()), std::vector<int64_t>{1}) << name;
    std::vector<Tensor> inputs = {p, p};
    inputs.insert(inputs.end(), first->begin() + 1, first->end());
    const auto second = run_op(id, inputs);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(values_of<int64_t>(second->back()), std::vector<int64_t>{2}) << name;
  }
}

// A rate of 0 and a gradient of 0 leave the parameters where they are.
// The first call has the default decay, which adamw multiplies by the rate; the second has none.
TEST(OptimizerProperties, NothingMovesWithoutARateOrAGradient) {
  const Tensor p = normal_f64(Shape{5}, 2), g = normal_f64(Shape{5}, 3),
               zero = f64(Shape{5}, std::vector<double>(5, 0.0));
  for (const char* name : {"adam", "adamw", "adamax", "sgd", "rmsprop", "adagrad", "adadelta",
                           "lion", "lamb", "lars"}) {
    const std::string id = "train.optimizer." + std::string(name);
    const auto still = run_op(id, {p, g}, {{"lr", 0.0}});
    ASSERT_TRUE(still) << still.error().message;
    EXPECT_EQ(values_of<double>(still->front()), values_of<double>(p)) << name;
    const auto idle = run_op(id, {p, zero}, {{"lr", 0.1}, {"wd", 0.0}});
    ASSERT_TRUE(idle) << idle.error().message;
    EXPECT_EQ(values_of<double>(idle->front()), values_of<double>(p)) << name;
  }
}

// The first step of lion is the rate against the gradient's sign; of adam nearly so.
// Three gradients of very different size move by the same 0.25.
TEST(OptimizerProperties, FirstStepsHaveTheLengthOfTheRate) {
  const std::vector<double> p = {1, 1, 1}, g = {0.001, -50, 3};
  for (const auto& [name, tolerance] : {std::pair{"lion", 0.0}, std::pair{"adam", 1e-6}}) {
    const auto outputs = run_op("train.optimizer." + std::string(name),
                                {f64(Shape{3}, p), f64(Shape{3}, g)}, {{"lr", 0.25}});
    ASSERT_TRUE(outputs);
    const auto moved = values_of<double>(outputs->front());
    // The smallest gradient feels eps most: 1e-8 / 0.001 of the step.
    EXPECT_NEAR(moved[0], 0.75, tolerance * 10) << name;
    EXPECT_NEAR(moved[1], 1.25, tolerance) << name;
    EXPECT_NEAR(moved[2], 0.75, tolerance) << name;
  }
}

// On f(x) = x^T A x / 2 the recursion finds the inverse curvature: far fewer steps than descent.
// Curvatures of 1, 10 and 100: plain descent at a safe rate of 0.01 would keep 78 % of the first
// coordinate after 25 steps.
TEST(LbfgsProperties, ReachesTheMinimumOfAQuadratic) {
  const double a[] = {1, 10, 100};
  std::vector<double> p = {1, 1, 1};
  std::vector<Tensor> states;
  for (int step = 0; step < 25; ++step) {
    std::vector<double> g;
    for (size_t i = 0; i < 3; ++i) g.push_back(a[i] * p[i]);
    std::vector<Tensor> inputs = {f64(Shape{3}, p), f64(Shape{3}, g)};
    inputs.insert(inputs.end(), states.begin(), states.end());
    // The first step follows the bare gradient and must be short.
    auto outputs = run_op("train.optimizer.lbfgs", inputs, {{"lr", step == 0 ? 0.005 : 1.0}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    p = values_of<double>(outputs->front());
    states.assign(outputs->begin() + 1, outputs->end());
  }
  for (const double x : p) EXPECT_NEAR(x, 0, 1e-8);
}

// The three rules on one weight.
// Post times pre is [0.5, -0.5; 2, -2]. Each rule changes the four weights by the formula in the
// comment, and decay acts in the first alone.
TEST(HebbianValues, RulesByHand) {
  const Tensor w = f64(Shape{2, 2}, {1, 2, 3, 4}), pre = f64(Shape{2}, {1, -1}),
               post = f64(Shape{2}, {0.5, 2}), theta = f64(Shape{2}, {1, 1});
  const auto run = [&](const char* rule, const Tensor& t = Tensor()) {
    return run_f64("train.optimizer.hebbian", {w, pre, post, t},
                   {{"rule", std::string(rule)}, {"lr", 0.1}, {"decay", 0.5}});
  };
  // w / 2 + 0.1 post pre
  EXPECT_TRUE(all_near(run("hebb"), {0.55, 0.95, 1.7, 1.8}, 1e-15));
  // w + 0.1 (post pre - post^2 w)
  EXPECT_TRUE(all_near(run("oja"), {1.025, 1.9, 2.0, 2.2}, 1e-14));
  // w + 0.1 post (post - 1) pre
  EXPECT_TRUE(all_near(run("bcm", theta), {0.975, 2.025, 3.2, 3.8}, 1e-14));
}

// Its fixed point has length 1.
TEST(HebbianValues, OjasRuleFindsTheUnitVector) {
  // One neuron that sees one direction again and again ends at that direction, of length 1.
  std::vector<double> w = {0.3, -0.2};
  const double direction[] = {0.6, 0.8};
  for (int step = 0; step < 400; ++step) {
    const double y = w[0] * direction[0] + w[1] * direction[1];
    // y = w . x as the neuron would give it.
    w = run_f64(
        "train.optimizer.hebbian",
        {f64(Shape{1, 2}, w), f64(Shape{2}, {direction[0], direction[1]}), f64(Shape{1}, {y})},
        {{"rule", std::string("oja")}, {"lr", 0.2}});
  }
  EXPECT_NEAR(std::abs(w[0]), 0.6, 1e-9);
  EXPECT_NEAR(std::abs(w[1]), 0.8, 1e-9);
}

// Metrics
// ------------------------------------------------------------------------------------------

// Ties go to the lower class.
// Rows: a hit on class 2, a tie that the lower class wins, a miss, and infinity. Counts go in again
// and join the next row: 3 of 5.
TEST(MetricValues, AccuracyCountsHits) {
  const Tensor scores = f32(Shape{4, 3}, {1, 2, 3, 5, 5, 1, 0, -1, -2, 1, kInf, 0});
  const auto outputs = run_op("bench.accuracy", {scores, i32(Shape{4}, {2, 0, 1, 1})});
  ASSERT_TRUE(outputs);
  EXPECT_EQ(values_of<double>((*outputs)[0]).at(0), 0.75);  // row 1: the first of two fives
  EXPECT_EQ(values_of<double>((*outputs)[1]), (std::vector<double>{3, 4}));
  const auto more =
      run_op("bench.accuracy", {f32(Shape{1, 2}, {0, 1}), i32(Shape{1}, {0}), (*outputs)[1]});
  EXPECT_EQ(values_of<double>((*more)[0]).at(0), 0.6);
  // A class that is not there is a miss, not an error.
  const auto odd = run_op("bench.accuracy", {f32(Shape{1, 2}, {0, 1}), i32(Shape{1}, {7})});
  EXPECT_EQ(values_of<double>((*odd)[0]).at(0), 0.0);
}

// The uniform guess among n.
// exp of -log(1 / n + 1e-9) is n - n^2 * 1e-9 or so: 4e-6 less than 64.
TEST(MetricValues, PerplexityOfEqualSharesIsTheirNumber) {
  for (const int64_t classes : {2, 5, 64}) {
    const Tensor probs = f64(
        Shape{3, classes},
        std::vector<double>(static_cast<size_t>(3 * classes), 1.0 / static_cast<double>(classes)));
    const auto outputs = run_op("bench.perplexity", {probs, i32(Shape{3}, {0, 1, 1})});
    EXPECT_NEAR(values_of<double>((*outputs)[0]).at(0), static_cast<double>(classes), 1e-5);
  }
  EXPECT_EQ(run_error("bench.perplexity", {f64(Shape{1, 2}, {0.5, 0.5}), i32(Shape{1}, {2})}),
            "The class id 2 in row 0 is outside the 2 classes.");
}

// And 0 without positives.
// 0.5 counts as positive, 0.49 does not. Without positives there is no division by 0.
TEST(MetricValues, F1ByHand) {
  // Predicted 1 1 0 1 0, true 1 0 1 1 0: two hits, one false alarm, one miss: 4 / 6.
  const auto outputs = run_op(
      "bench.f1", {f32(Shape{5}, {0.9f, 0.5f, 0.49f, 1, 0}), f32(Shape{5}, {1, 0, 1, 1, 0})});
  ASSERT_TRUE(outputs);
  EXPECT_NEAR(values_of<double>((*outputs)[0]).at(0), 2.0 / 3, 1e-15);
  EXPECT_EQ(values_of<double>((*outputs)[1]), (std::vector<double>{2, 1, 1}));
  const auto none = run_op("bench.f1", {f32(Shape{0}, {}), f32(Shape{0}, {})});
  EXPECT_EQ(values_of<double>((*none)[0]).at(0), 0.0);
}

// Sampling
// -----------------------------------------------------------------------------------------

// The outputs of one draw, as plain values.
struct Draw {
  int32_t token = -1;
  std::vector<int32_t> kept;
  std::vector<double> shares;
};

// f64 logits, so that shares have all their digits.
Draw draw(std::string_view id, const std::vector<double>& scores, Attributes attributes) {
  const auto n = static_cast<int64_t>(scores.size());
  const auto outputs = run_op(id, {f64(Shape{n}, scores)}, std::move(attributes));
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  return {values_of<int32_t>((*outputs)[0]).at(0), values_of<int32_t>((*outputs)[1]),
          values_of<double>((*outputs)[2])};
}

// Renormalised over what is kept.
// Weights are 1, 2, 4, e^-1 and 3, so every share is a small fraction.
TEST(SamplingValues, SharesAreTheSoftmaxOfTheKept) {
  const std::vector<double> scores = {0, std::log(2.0), std::log(4.0), -1, std::log(3.0)};
  const Draw k = draw("sampling.top_k_sample", scores, {{"top_k", int64_t{3}}});
  EXPECT_EQ(k.kept, (std::vector<int32_t>{2, 4, 1}));
  EXPECT_TRUE(all_near(k.shares, {4.0 / 9, 3.0 / 9, 2.0 / 9}, 1e-14));
  // Temperature 1/2 squares the weights.
  const Draw cold =
      draw("sampling.top_k_sample", scores, {{"top_k", int64_t{3}}, {"temperature", 0.5}});
  EXPECT_TRUE(all_near(cold.shares, {16.0 / 29, 9.0 / 29, 4.0 / 29}, 1e-14));
  // 4 and 3 of 10.37 reach 0.6; the one that crosses is kept, the rest are padding.
  const Draw p = draw("sampling.top_p_sample", scores, {{"top_p", 0.6}});
  EXPECT_EQ(p.kept, (std::vector<int32_t>{2, 4, -1, -1, -1}));
  EXPECT_TRUE(all_near(p.shares, {4.0 / 7, 3.0 / 7, 0, 0, 0}, 1e-14));
  const Draw all = draw("sampling.top_p_sample", scores, {{"top_p", 1.0}});
  EXPECT_EQ(all.kept, (std::vector<int32_t>{2, 4, 1, 0, 3}));
}

// The share of draws of each token is its probability: chi-square with 3 degrees of freedom stays
// below 25 (p = 1.5e-5), for a fixed list of seeds.
// Shares of 1/10 to 4/10 and 4000 seeds: 400 to 1600 draws are expected of each token.
TEST(SamplingProperties, DrawsFollowTheShares) {
  const std::vector<double> scores = {std::log(1.0), std::log(2.0), std::log(3.0), std::log(4.0)};
  for (const char* id : {"sampling.top_k_sample", "sampling.top_p_sample"}) {
    std::vector<double> counts(4, 0.0);
    for (int64_t seed = 0; seed < 4000; ++seed) {
      Attributes attributes = {{"seed", seed}};
      if (std::string_view(id).find("top_k") != std::string_view::npos) {
        attributes.set("top_k", int64_t{4});
      } else {
        attributes.set("top_p", 1.0);
      }
      counts[static_cast<size_t>(draw(id, scores, attributes).token)] += 1;
    }
    double chi_square = 0;
    for (size_t i = 0; i < 4; ++i) {
      const double expected = 400.0 * static_cast<double>(i + 1);
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi_square, 25) << id;
  }
}

// Constraints are put on logits that way.
// Two of five tokens are left, at any seed.
TEST(SamplingProperties, TokensOfMinusInfinityAreNeverDrawn) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> scores = {-inf, 0, -inf, 1, -inf};
  for (int64_t seed = 0; seed < 300; ++seed) {
    const int32_t token =
        draw("sampling.top_k_sample", scores, {{"top_k", int64_t{5}}, {"seed", seed}}).token;
    EXPECT_TRUE(token == 1 || token == 3) << token;
  }
}

// Rounded shares may sum to less than the number drawn. Then the last token that has a share is
// taken, not one behind it that has none.
TEST(SamplingProperties, RoundingNeverDrawsATokenWithoutAShare) {
  // The search finds a seed whose number is nearly 1: about one in four million words is.
  int64_t seed = 0;
  while (RandomWords{.seed = static_cast<uint64_t>(seed)}.uniform_f32(0) < 1 - 0x1p-22f) ++seed;
  const float u = RandomWords{.seed = static_cast<uint64_t>(seed)}.uniform_f32(0);
  // Many small shares, of which some sets sum to less than u in f32.
  for (uint32_t attempt = 0; attempt < 400; ++attempt) {
    std::vector<float> scores = narrowed(normals(300, attempt, 2));
    // Twenty tokens behind the others have no share at all; drawing one is the fault.
    scores.insert(scores.end(), 20, -kInf);
    const auto n = static_cast<int64_t>(scores.size());
    const auto outputs =
        run_op("sampling.top_k_sample", {f32(Shape{n}, scores)}, {{"top_k", n}, {"seed", seed}});
    ASSERT_TRUE(outputs);
    float sum = 0;
    for (const float p : values_of<float>((*outputs)[2])) sum += p;
    const int32_t token = values_of<int32_t>((*outputs)[0]).at(0);
    ASSERT_LT(token, 300) << "sum " << sum << ", u " << u;
  }
}

// Nothing random is left.
// Also top_k = 1, which leaves one candidate at any temperature.
TEST(SamplingProperties, TemperatureZeroIsGreedyForEverySeed) {
  const auto scores = normals(50, 4);
  const int32_t best =
      values_of<int32_t>(run_one("sampling.greedy_sample", {f64(Shape{50}, scores)})).at(0);
  for (int64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(draw("sampling.top_k_sample", scores,
                   {{"top_k", int64_t{40}}, {"temperature", 0.0}, {"seed", seed}})
                  .token,
              best);
    EXPECT_EQ(draw("sampling.top_p_sample", scores,
                   {{"top_p", 1.0}, {"temperature", 0.0}, {"seed", seed}})
                  .token,
              best);
    EXPECT_EQ(draw("sampling.top_k_sample", scores, {{"top_k", int64_t{1}}, {"seed", seed}}).token,
              best);
  }
}

// NaN and infinities, with their index.
// Sampling at both kinds of temperature and the greedy choice use one check. NaN is named by its
// place, an infinite maximum by its value.
TEST(SamplingErrors, NameTheLogit) {
  const std::string finite = "; it must be finite.";
  for (const char* id : {"sampling.greedy_sample", "sampling.top_k_sample"}) {
    for (const double temperature : {1.0, 0.0}) {
      Attributes attributes;
      if (std::string_view(id) != "sampling.greedy_sample") {
        attributes = {{"top_k", int64_t{2}}, {"temperature", temperature}};
      }
      const auto error = [&](const std::vector<float>& scores) {
        return run_error(id, {f32(Shape{static_cast<int64_t>(scores.size())}, scores)}, attributes);
      };
      EXPECT_EQ(error({1, std::nanf(""), 2}), "Element 1 of 'logits' is NaN.");
      EXPECT_EQ(error({}), "Port 'logits' has 0 elements; it needs 1 or more to sample from.");
      EXPECT_EQ(error({0, 1, kInf}), "Element 2 of 'logits', the largest, is inf" + finite) << id;
      EXPECT_EQ(error({-kInf, -kInf}), "Element 0 of 'logits', the largest, is -inf" + finite)
          << id;
    }
  }
}

}  // namespace
}  // namespace quern::test
