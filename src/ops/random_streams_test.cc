// Random operations as functions of seed, stream, node and position: what each of them may change,
// and how the numbers spread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ir/node_rules.h"
#include "quern/op.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

// One draw of an operation without inputs, with the run's and the node's numbers.
struct Draw {
  std::string id = "random.uniform";
  Attributes attributes = {};
  int64_t count = 1000;
  DType dtype = DType::kF32;
  uint32_t stream = 0;
  uint32_t node = 0;

  // Calls the kernel itself, since the runner of other tests leaves stream and node at 0.
  std::vector<double> run() const {
    const OpDef& op = *builtin_ops().find(id);
    Attributes given = attributes;
    given.set("shape", std::vector<int64_t>{count});
    if (op.find_attribute("dtype") != nullptr) {
      given.set("dtype", std::string(dtype_name(dtype)));
    }
    const auto complete = complete_attributes(op, given);
    EXPECT_TRUE(complete) << (complete ? "" : complete.error().message);
    // random.integers has no such attribute.
    const DType made = id == "random.integers" ? DType::kI32 : dtype;
    Tensor out = *Tensor::zeros(made, Shape{count});
    auto bytes = *out.buffer().mutable_host_view();
    const TensorView views[] = {{made, Shape{count}, bytes.data()}};
    const TensorView absent[1] = {};
    KernelContext context{absent, views, *complete};
    context.stream = stream;
    context.node_id = node;
    EXPECT_TRUE(op.reference(context));
    if (made == DType::kI32) {
      const auto values = *out.read_as<int32_t>();
      return {values.begin(), values.end()};
    }
    if (made == DType::kF64) return *out.read_as<double>();
    const auto values = *out.read_as<float>();
    return {values.begin(), values.end()};
  }
};

// The share of equal elements at equal places.
double agreement(const std::vector<double>& a, const std::vector<double>& b) {
  size_t equal = 0;
  for (size_t i = 0; i < a.size(); ++i) equal += a[i] == b[i];
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

// Pearson's coefficient.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double mean_a = 0, mean_b = 0;
  const auto n = static_cast<double>(a.size());
  for (size_t i = 0; i < a.size(); ++i) mean_a += a[i] / n, mean_b += b[i] / n;
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

constexpr const char* kGenerators[] = {"random.uniform", "random.normal", "random.integers"};

// A limit of 2^31 keeps 31 bits of each word: chance equality is as rare as in the others.
Draw draw_of(const char* id) {
  Draw draw{.id = id};
  if (draw.id == "random.integers") draw.attributes = {{"limit", int64_t{1} << 31}};
  return draw;
}

// Reproducibility, run after run.
TEST(RandomStreams, TheSameNumbersGiveTheSameBits) {
  for (const char* id : kGenerators) {
    Draw draw = draw_of(id);
    draw.stream = 7;
    draw.node = 3;
    EXPECT_EQ(draw.run(), draw.run()) << id;
  }
}

// And no two are shifted copies.
// Equal places by chance have a probability of 2^-24 or so: even ten in a thousand mean a shared
// sequence.
TEST(RandomStreams, EachNumberMakesAnotherSequence) {
  for (const char* id : kGenerators) {
    const Draw base = draw_of(id);
    const auto first = base.run();
    Draw stream = base, node = base, seed = base, high_seed = base;
    stream.stream = 1;
    node.node = 1;
    seed.attributes.set("seed", int64_t{1});
    high_seed.attributes.set("seed", int64_t{1} << 32);  // the other half of the key
    for (const Draw& other : {stream, node, seed, high_seed}) {
      const auto second = other.run();
      EXPECT_LT(agreement(first, second), 0.01) << id;
      EXPECT_LT(std::abs(correlation(first, second)), 0.12) << id;  // 1000 pairs: 4 deviations
    }
    // Stream and node are not interchangeable.
    EXPECT_LT(agreement(stream.run(), node.run()), 0.01) << id;
  }
}

// A node that says its number keeps its sequence wherever passes move it.
TEST(RandomStreams, AGivenNodeIdWins) {
  for (const char* id : kGenerators) {
    Draw pinned = draw_of(id);
    pinned.attributes.set("node_id", int64_t{42});
    pinned.node = 5;
    Draw at_42 = draw_of(id);
    at_42.node = 42;
    EXPECT_EQ(pinned.run(), at_42.run()) << id;
  }
}

// Element i is a function of i: longer tensors begin with the shorter ones.
// A generator that started from the size of its tensor would fail.
TEST(RandomStreams, ShortTensorsBeginLongOnes) {
  for (const char* id : kGenerators) {
    Draw longer = draw_of(id), shorter = draw_of(id);
    longer.count = 257;
    shorter.count = 100;
    auto begin = longer.run();
    begin.resize(100);
    EXPECT_EQ(shorter.run(), begin) << id;
  }
}

// All 64 bits of the key count.
// A seed taken by its absolute value would make the two equal.
TEST(RandomStreams, NegativeSeedsAreSeeds) {
  Draw draw;
  draw.attributes.set("seed", int64_t{-1});
  const auto a = draw.run();
  draw.attributes.set("seed", int64_t{1});
  EXPECT_LT(agreement(a, draw.run()), 0.01);
}

// On their grids: 2^-24 in f32, 2^-53 in f64.
// In f64 some numbers must lie between the points of the coarse grid, or a word is missing.
TEST(Uniform, NumbersLieOnTheirGrid) {
  Draw draw{.count = 5000};
  for (const double u : draw.run()) {
    EXPECT_TRUE(u >= 0 && u < 1);
    EXPECT_EQ(std::floor(u * 0x1p24), u * 0x1p24);
  }
  draw.dtype = DType::kF64;
  bool has_fine = false;
  for (const double u : draw.run()) {
    EXPECT_TRUE(u >= 0 && u < 1);
    EXPECT_EQ(std::floor(u * 0x1p53), u * 0x1p53);
    has_fine |= std::floor(u * 0x1p24) != u * 0x1p24;
  }
  EXPECT_TRUE(has_fine);
}

// Half open, also the wrong way round.
// 4000 draws of [-3, 5) miss a tenth at one end with a probability of 1e-22.
TEST(Uniform, BoundsAreThoseAskedFor) {
  const auto drawn = [](double low, double high) {
    return Draw{.attributes = {{"low", low}, {"high", high}}, .count = 4000}.run();
  };
  const auto wide = drawn(-3, 5);
  EXPECT_GE(std::ranges::min(wide), -3);
  EXPECT_LT(std::ranges::max(wide), 5);
  EXPECT_LT(std::ranges::min(wide), -2.9);
  EXPECT_GT(std::ranges::max(wide), 4.9);
  for (const double u : drawn(2, 2)) EXPECT_EQ(u, 2);
  for (const double u : drawn(std::nan(""), 1)) EXPECT_TRUE(std::isnan(u));
  // Bounds in the wrong order run backwards.
  const auto backwards = drawn(1, 0);
  EXPECT_GT(std::ranges::min(backwards), 0);
  EXPECT_LE(std::ranges::max(backwards), 1);
}

// Pearson's chi-squared of 16 equal cells: 15 degrees of freedom, 99.9 % below 37.7.
// 16 cells are the top four bits of the word.
TEST(Uniform, FillsItsCellsEvenly) {
  for (const uint32_t stream : {0u, 1u, 77u}) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Draw draw{.count = 16000, .dtype = dtype, .stream = stream};
      std::map<int, int> counts;
      for (const double u : draw.run()) ++counts[static_cast<int>(u * 16)];
      double chi = 0;
      for (int cell = 0; cell < 16; ++cell) {
        chi += (counts[cell] - 1000.0) * (counts[cell] - 1000.0) / 1000;
      }
      EXPECT_LT(chi, 37.7) << stream;
    }
  }
}

// Serial correlation at small lags.
// Lags 1 and 2 are other words of a block, 4 is the same word of the next one. 0.03 is 4 /
// sqrt(20000).
TEST(Uniform, NeighboursAreIndependent) {
  Draw draw{.count = 20001};
  auto a = draw.run();
  for (const size_t lag : {size_t{1}, size_t{2}, size_t{4}}) {
    const std::vector<double> head(a.begin(), a.end() - static_cast<std::ptrdiff_t>(lag));
    const std::vector<double> tail(a.begin() + static_cast<std::ptrdiff_t>(lag), a.end());
    EXPECT_LT(std::abs(correlation(head, tail)), 0.03) << lag;
  }
}

// Moments of the normal distribution: 0, 1, 0, 3 within four deviations of a mean of 40000.
// The terms x, x^2, x^3, x^4 have variances 1, 2, 15 and 96; over sqrt(40000) = 200, times 4: 0.02,
// 0.028, 0.077, 0.196.
TEST(Normal, HasTheMomentsOfTheNormal) {
  const Draw draw{.id = "random.normal", .count = 40000};
  double mean = 0, square = 0, cube = 0, fourth = 0;
  int beyond_two = 0;
  for (const double x : draw.run()) {
    mean += x / 40000;
    square += x * x / 40000;
    cube += x * x * x / 40000;
    fourth += x * x * x * x / 40000;
    beyond_two += std::abs(x) > 1.959964;  // 5 % of the mass
  }
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.03);
  EXPECT_NEAR(cube, 0, 0.08);
  EXPECT_NEAR(fourth, 3, 0.2);
  EXPECT_NEAR(beyond_two / 40000.0, 0.05, 0.005);
}

// One product and one sum of the plain numbers.
// In f32 both sides, so equality holds.
TEST(Normal, ScalesAndShifts) {
  Draw draw{.id = "random.normal", .count = 50};
  const auto plain = draw.run();
  draw.attributes = {{"mean", 10.0}, {"std", 4.0}};
  const auto moved = draw.run();
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(static_cast<float>(moved[i]), 10.0f + 4.0f * static_cast<float>(plain[i]));
  }
}

// Counts within five deviations.
// 1 leaves a single value; 6 and 10 fail a mask of bits in place of the product.
TEST(Integers, SmallLimitsFillAllValues) {
  for (const int64_t limit : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{10}}) {
    const Draw draw{.id = "random.integers", .attributes = {{"limit", limit}}, .count = 6000};
    std::map<double, int> counts;
    for (const double x : draw.run()) ++counts[x];
    EXPECT_EQ(static_cast<int64_t>(counts.size()), limit);
    const double expected = 6000.0 / static_cast<double>(limit);
    for (const auto& [value, count] : counts) {
      EXPECT_TRUE(value >= 0 && value < static_cast<double>(limit));
      EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << value << " of " << limit;
    }
  }
}

// The product must not overflow 32 bits.
// word * 2^31 needs 63 bits: cut to 32 it would give 0.
TEST(Integers, LargeLimitsReachTheTop) {
  const Draw draw{.id = "random.integers", .attributes = {{"limit", int64_t{1} << 31}}};
  const auto values = draw.run();
  EXPECT_GE(std::ranges::min(values), 0);
  EXPECT_GT(std::ranges::max(values), 0.99 * 0x1p31);
  EXPECT_LE(std::ranges::max(values), 0x1p31 - 1);
}

// The mask belongs to positions, not to dtypes or shapes.
// 60 elements in one row and in six. f64 uses the 24 bits of f32 here, and 15 to 45 are kept at
// 0.5: four deviations.
TEST(DropoutMask, IsTheSameForEveryDtypeAndShape) {
  const Attributes attributes = {{"p", 0.5}, {"seed", int64_t{3}}};
  const std::vector<float> ones(60, 1.0f);
  const auto flat = run_f32("math.dropout", {f32(Shape{60}, ones)}, attributes);
  const auto square = run_f32("math.dropout", {f32(Shape{6, 10}, ones)}, attributes);
  EXPECT_EQ(flat, square);
  const auto wide =
      run_f64("math.dropout", {f64(Shape{60}, std::vector<double>(60, 1.0))}, attributes);
  int kept = 0;
  for (size_t i = 0; i < flat.size(); ++i) {
    EXPECT_EQ(flat[i] == 0, wide[i] == 0) << i;
    kept += flat[i] != 0;
  }
  EXPECT_GT(kept, 15);
  EXPECT_LT(kept, 45);
}

// A larger p drops what a smaller one drops, and more.
// Each element keeps its u while p grows, so the masks are nested. A mask drawn anew would bring
// elements back.
TEST(DropoutMask, GrowsWithP) {
  const Tensor ones = f32(Shape{500}, std::vector<float>(500, 1.0f));
  std::vector<bool> dropped(500, false);
  size_t before = 0;
  for (const double p : {0.1, 0.3, 0.6, 0.9}) {
    const auto y = run_f32("math.dropout", {ones}, {{"p", p}});
    size_t count = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      if (dropped[i]) {
        EXPECT_EQ(y[i], 0) << i;
      }
      dropped[i] = y[i] == 0;
      count += dropped[i];
    }
    EXPECT_GT(count, before);
    before = count;
  }
}

// Slopes of rrelu lie between the bounds and touch no positive element.
// About a thousand elements are below 0: their slopes come within 0.01 of both bounds. 1e-7 is what
// rounding the bounds to f32 costs.
TEST(RreluSlopes, StayBetweenTheBounds) {
  const auto x = normals(2000, 5);
  for (const char* generator : {"philox", "lcg"}) {
    const auto y = run_f64("activation.rrelu", {f64(Shape{2000}, x)},
                           {{"lower", 0.2},
                            {"upper", 0.4},
                            {"training", true},
                            {"generator", std::string(generator)}});
    double lowest = 1, highest = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] >= 0) {
        EXPECT_EQ(y[i], x[i]);
        continue;
      }
      const double slope = y[i] / x[i];
      lowest = std::min(lowest, slope);
      highest = std::max(highest, slope);
    }
    EXPECT_GE(lowest, 0.2 - 1e-7) << generator;
    EXPECT_LE(highest, 0.4 + 1e-7) << generator;
    EXPECT_LT(lowest, 0.21) << generator;
    EXPECT_GT(highest, 0.39) << generator;
  }
}

}  // namespace
}  // namespace quern::test
