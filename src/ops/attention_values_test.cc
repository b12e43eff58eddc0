// Attention against a plain softmax in float64, over shapes, masks, windows, grouped heads, caches;
// and properties that hold whatever the numbers are.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/bit_equal.h"
#include "support/op_values.h"

namespace quern::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Extents of one call: width is D, value_width is Dv; kv_heads divides heads.
struct Heads {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
};

// Inputs with their solution by the textbook: no chunks, no online softmax, sums in plain order. It
// computes in f64, and so does the operation: they differ in the order of the roundings alone.
struct Problem {
  Heads shape;
  std::vector<double> q, k, v;
  double scale = 0;
  // Added to the score of (batch, head, query, key); -infinity hides the key.
  std::function<double(int64_t, int64_t, int64_t, int64_t)> bias;

  Problem(const Heads& heads, uint32_t seed)
      : shape(heads),
        q(normals(heads.batch * heads.heads * heads.queries * heads.width, seed)),
        k(normals(heads.batch * heads.kv_heads * heads.keys * heads.width, seed + 1)),
        v(normals(heads.batch * heads.kv_heads * heads.keys * heads.value_width, seed + 2)),
        scale(1 / std::sqrt(static_cast<double>(heads.width))),
        bias([](int64_t, int64_t, int64_t, int64_t) { return 0.0; }) {}

  Tensor q_tensor() const {
    return f64(Shape{shape.batch, shape.heads, shape.queries, shape.width}, q);
  }
  Tensor k_tensor() const {
    return f64(Shape{shape.batch, shape.kv_heads, shape.keys, shape.width}, k);
  }
  Tensor v_tensor() const {
    return f64(Shape{shape.batch, shape.kv_heads, shape.keys, shape.value_width}, v);
  }
  // The key at which query i of a causal row stands.
  int64_t place(int64_t query) const { return shape.keys - shape.queries + query; }

  // The score of one pair, as the definition says: dot * scale + bias.
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t kv = h / (shape.heads / shape.kv_heads);
    const double* q_row =
        &q[static_cast<size_t>(((b * shape.heads + h) * shape.queries + i) * shape.width)];
    const double* k_row =
        &k[static_cast<size_t>(((b * shape.kv_heads + kv) * shape.keys + j) * shape.width)];
    double dot = 0;
    for (int64_t d = 0; d < shape.width; ++d) dot += q_row[d] * k_row[d];
    return dot * scale + bias(b, h, i, j);
  }

  // softmax(scores) v, row by row; zeros where every key is hidden.
  std::vector<double> solve() const {
    std::vector<double> out;
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        for (int64_t i = 0; i < shape.queries; ++i) {
          // Two passes: the row's maximum is subtracted before exp, for which a row without visible
          // keys needs its own branch.
          std::vector<double> weights;
          double largest = -kInf, sum = 0;
          for (int64_t j = 0; j < shape.keys; ++j) weights.push_back(score(b, h, i, j));
          for (const double w : weights) largest = std::max(largest, w);
          for (double& w : weights) w = largest == -kInf ? 0 : std::exp(w - largest);
          for (const double w : weights) sum += w;
          const int64_t kv = h / (shape.heads / shape.kv_heads);
          for (int64_t d = 0; d < shape.value_width; ++d) {
            double value = 0;
            for (int64_t j = 0; j < shape.keys; ++j) {
              value += weights[static_cast<size_t>(j)] *
                       v[static_cast<size_t>(
                           ((b * shape.kv_heads + kv) * shape.keys + j) * shape.value_width + d)];
            }
            out.push_back(sum == 0 ? 0 : value / sum);
          }
        }
      }
    }
    return out;
  }
};

// Sizes with one reason each: a single key; several of everything; 65 keys, one past a chunk of 64;
// 64 keys with width 1; 513 keys, one past an outer chunk; and more queries than keys.
const std::vector<Heads>& head_shapes() {
  static const std::vector<Heads> shapes = {
      {.width = 4, .value_width = 3},
      {.batch = 2,
       .heads = 3,
       .kv_heads = 3,
       .queries = 5,
       .keys = 5,
       .width = 8,
       .value_width = 8},
      {.heads = 4, .kv_heads = 4, .queries = 1, .keys = 65, .width = 2, .value_width = 1},
      {.heads = 2, .kv_heads = 2, .queries = 3, .keys = 64, .width = 1, .value_width = 5},
      {.heads = 1, .kv_heads = 1, .queries = 2, .keys = 513, .width = 5, .value_width = 2},
      {.batch = 3,
       .heads = 1,
       .kv_heads = 1,
       .queries = 7,
       .keys = 2,
       .width = 3,
       .value_width = 3},
  };
  return shapes;
}

void expect_solution(std::string_view id, const Problem& problem, const Attributes& attributes,
                     const std::vector<Tensor>& more = {}) {
  std::vector<Tensor> inputs = {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()};
  inputs.insert(inputs.end(), more.begin(), more.end());
  // 1e-11: some hundred roundings of 1e-16 in sums of up to 513 terms, with a margin that is still
  // far below what one lost key would change.
  EXPECT_TRUE(all_near(run_f64(id, inputs, attributes), problem.solve(), 1e-11, 1e-13)) << id;
}

// Softmax of scaled scores times values, straight from the definition.
TEST(SdpaValues, AreAPlainSoftmax) {
  for (const Heads& heads : head_shapes()) {
    expect_solution("attention.sdpa", Problem(heads, 10), {});
    expect_solution("attention.flash_attention", Problem(heads, 20), {});
    Problem scaled(heads, 30);
    // A scale that is not the default, and negative: the smallest product wins. The attribute must
    // replace 1 / sqrt(D) and not multiply it.
    scaled.scale = -2.5;
    expect_solution("attention.sdpa", scaled, {{"scale", -2.5}});
  }
}

// A causal row sees the keys up to its own place; the last query sees all of them. With more
// queries than keys the first rows stand before every key and give zeros.
TEST(SdpaValues, CausalRowsAreAlignedAtTheEnd) {
  for (const Heads& heads : head_shapes()) {
    Problem problem(heads, 40);
    problem.bias = [&](int64_t, int64_t, int64_t i, int64_t j) {
      return j <= problem.place(i) ? 0.0 : -kInf;
    };
    expect_solution("attention.sdpa", problem, {{"causal", true}});
  }
}

// The mask's own axes decide which element is read.
TEST(SdpaValues, MasksBroadcastOverBatchAndHeads) {
  const Heads heads{
      .batch = 2, .heads = 3, .kv_heads = 3, .queries = 4, .keys = 6, .width = 5, .value_width = 2};
  const auto numbers = normals(2 * 3 * 4 * 6, 50);
  // From no leading axis to both, each as 1 or as the whole extent. The mask's numbers are a prefix
  // of one list, so that a wrong stride reads numbers that exist and differ.
  for (const Shape& shape : {Shape{4, 6}, Shape{1, 4, 6}, Shape{3, 4, 6}, Shape{2, 1, 4, 6},
                             Shape{1, 3, 4, 6}, Shape{2, 3, 4, 6}}) {
    std::vector<double> mask(numbers.begin(), numbers.begin() + shape.num_elements());
    // One hidden key on top, since adding a number and hiding a key are two paths.
    mask[3] = -kInf;  // key 3 of query 0 in the first mask
    const int64_t mask_heads = shape.rank() > 2 ? shape[shape.rank() - 3] : 1;
    const int64_t mask_batch = shape.rank() > 3 ? shape[0] : 1;
    Problem problem(heads, 60);
    problem.bias = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      // The strides written out once more: row of the plane (sample, head) that the mask has.
      const int64_t row = (mask_batch == 1 ? 0 : b) * mask_heads + (mask_heads == 1 ? 0 : h);
      return mask[static_cast<size_t>((row * 4 + i) * 6 + j)];
    };
    expect_solution("attention.sdpa", problem, {}, {f64(shape, mask)});
  }
}

// Causal rows that stand before the first key.
TEST(SdpaValues, ARowWithoutVisibleKeysIsZero) {
  const Heads heads{.queries = 2, .keys = 3, .width = 2, .value_width = 2};
  Problem problem(heads, 70);
  // Query 0 sees nothing; query 1 sees keys 0 and 2.
  const std::vector<double> mask = {-kInf, -kInf, -kInf, 0, -kInf, 0};
  problem.bias = [&](int64_t, int64_t, int64_t i, int64_t j) {
    return mask[static_cast<size_t>(i * 3 + j)];
  };
  expect_solution("attention.sdpa", problem, {}, {f64(Shape{2, 3}, mask)});
  const auto out = run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(),
                                              problem.v_tensor(), f64(Shape{2, 3}, mask)});
  // Exactly 0, not a small number.
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
}

// Query head h reads key head h / group, not h % group.
TEST(GroupedValues, HeadsShareTheirKeys) {
  // 1, 2, 3 and 6 divide the six heads: one head for all, real groups, and no sharing.
  for (const int64_t kv_heads : {1, 2, 3, 6}) {
    const Heads heads{.batch = 2,
                      .heads = 6,
                      .kv_heads = kv_heads,
                      .queries = 3,
                      .keys = 9,
                      .width = 4,
                      .value_width = 5};
    expect_solution("attention.gqa", Problem(heads, 80), {});
    if (kv_heads == 1) expect_solution("attention.mqa", Problem(heads, 81), {});
  }
}

// Positions count cached rows first.
TEST(GroupedValues, CachedRowsStandBeforeTheOthers) {
  // Eight keys of which five come from a cache of seven; causal, so that a wrong place of the query
  // changes which keys it sees.
  const Heads heads{
      .batch = 2, .heads = 4, .kv_heads = 2, .queries = 3, .keys = 8, .width = 4, .value_width = 3};
  Problem problem(heads, 90);
  problem.bias = [&](int64_t, int64_t, int64_t i, int64_t j) {
    return j <= problem.place(i) ? 0.0 : -kInf;
  };
  // Rows 0 to 4 in a cache of 7, rows 5 to 7 beside it.
  const auto part = [&](const Tensor& rows, int64_t start, int64_t end) {
    return run_one("shape.slice", {rows}, {{"dim", int64_t{2}}, {"start", start}, {"end", end}});
  };
  const auto cache_of = [&](const Tensor& rows, uint32_t seed) {
    const Tensor cached = part(rows, 0, 5);
    // Rows 5 and 6 of the cache hold other numbers: reading them shows.
    const Tensor unused = normal_f64(Shape{2, 2, 2, rows.shape()[3]}, seed);
    return run_one("shape.concat", {cached, unused}, {{"dim", int64_t{2}}});
  };
  const Tensor k = problem.k_tensor(), v = problem.v_tensor();
  const auto out = run_f64("attention.gqa",
                           {problem.q_tensor(), part(k, 5, 8), part(v, 5, 8), Tensor(),
                            cache_of(k, 91), cache_of(v, 92)},
                           {{"causal", true}, {"start_position", int64_t{5}}});
  EXPECT_TRUE(all_near(out, problem.solve(), 1e-11, 1e-13));
}

// The window includes the query's own key.
TEST(WindowValues, QueriesSeeTheNewestKeysOnly) {
  // 1 is the own key alone; 64 is a chunk; 100 is more than there are keys.
  for (const int64_t window : {1, 2, 3, 64, 100}) {
    const Heads heads{
        .heads = 4, .kv_heads = 2, .queries = 5, .keys = 70, .width = 3, .value_width = 3};
    Problem problem(heads, 100);
    problem.bias = [&](int64_t, int64_t, int64_t i, int64_t j) {
      const int64_t distance = problem.place(i) - j;
      return distance >= 0 && distance < window ? 0.0 : -kInf;
    };
    expect_solution("attention.sliding_window", problem, {{"window", window}});
  }
}

// The only key has weight 1, whatever its score.
TEST(WindowValues, AWindowOfOneCopiesTheOwnValue) {
  const Heads heads{
      .heads = 2, .kv_heads = 2, .queries = 4, .keys = 4, .width = 3, .value_width = 5};
  const Problem problem(heads, 110);
  const auto out = run_f64("attention.sliding_window",
                           {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()},
                           {{"window", int64_t{1}}});
  // Bits, not a tolerance: exp(0) is 1, and 1 * v / 1 is v.
  EXPECT_TRUE(all_same_bits(out, problem.v));
}

// Rows with heads side by side: [T, H * D] is [H, T, D] with two axes swapped.
TEST(MultiHeadValues, RowsHoldTheirHeadsSideBySide) {
  struct Case {
    bool is_causal;
    int64_t window;
    double slope;
  };
  // No rule, causal, a window alone (which implies causal), both with a slope, and a negative slope
  // without either, where later keys are visible too.
  const std::vector<Case> cases = {
      {false, 0, 0}, {true, 0, 0}, {false, 3, 0}, {true, 2, 0.25}, {false, 0, -0.5}};
  for (const Case& c : cases) {
    const Heads heads{
        .heads = 6, .kv_heads = 3, .queries = 5, .keys = 9, .width = 4, .value_width = 4};
    Problem problem(heads, 120);
    problem.bias = [&](int64_t, int64_t, int64_t i, int64_t j) {
      const int64_t distance = problem.place(i) - j;
      const bool is_hidden = (c.is_causal || c.window > 0) && distance < 0;
      const bool is_old = c.window > 0 && distance >= c.window;
      // distance is query - key, the operation adds slope * (key - query).
      return is_hidden || is_old ? -kInf : -c.slope * static_cast<double>(distance);
    };
    // shape.merge_heads is tested by itself; it makes [T, H * D] of [1, H, T, D].
    const auto side_by_side = [&](const Tensor& x) {
      const Tensor rows = run_one("shape.merge_heads", {x});
      return *rows.reshape(Shape{rows.shape()[1], rows.shape()[2]});
    };
    const Tensor out = run_one("attention.multi_head_attention",
                               {side_by_side(problem.q_tensor()), side_by_side(problem.k_tensor()),
                                side_by_side(problem.v_tensor())},
                               {{"num_heads", int64_t{6}},
                                {"head_dim", int64_t{4}},
                                {"kv_head_count", int64_t{3}},
                                {"causal", c.is_causal},
                                {"window_size", c.window},
                                {"alibi_slope", c.slope}});
    const Tensor back = run_one("shape.view_as_heads", {*out.reshape(Shape{1, 5, 24})},
                                {{"num_heads", int64_t{6}}});
    EXPECT_TRUE(all_near(values_of<double>(back), problem.solve(), 1e-11, 1e-13))
        << c.is_causal << " " << c.window << " " << c.slope;
  }
}

// Weights are positive and sum to 1, so that every result lies between the smallest and the
// largest value, and equal values come out as they are.
TEST(AttentionProperties, ResultsLieAmongTheValues) {
  const Heads heads{.batch = 2,
                    .heads = 2,
                    .kv_heads = 2,
                    .queries = 6,
                    .keys = 90,
                    .width = 8,
                    .value_width = 4};
  const Problem problem(heads, 130);
  const auto out =
      run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()});
  const auto [low, high] = std::minmax_element(problem.v.begin(), problem.v.end());
  for (const double y : out) {
    EXPECT_GE(y, *low);
    EXPECT_LE(y, *high);
  }
  // 3.25 is exact; the weights sum to 1 up to rounding.
  const Tensor equal = f64(Shape{2, 2, 90, 4}, std::vector<double>(2 * 2 * 90 * 4, 3.25));
  for (const double y :
       run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), equal})) {
    EXPECT_NEAR(y, 3.25, 1e-14);
  }
}

// Adding one vector to all keys shifts every score of a row by the same amount.
TEST(AttentionProperties, AShiftOfAllScoresChangesNothing) {
  const Heads heads{.queries = 3, .keys = 20, .width = 4, .value_width = 4};
  const Problem problem(heads, 140);
  Problem shifted = problem;
  // The product of q and the shift is one number for all keys of a row; softmax does not see it.
  // The scores change in magnitude, so the results agree up to rounding only.
  const double shift[] = {0.5, -0.25, 1.5, 0.75};
  for (size_t i = 0; i < shifted.k.size(); ++i) shifted.k[i] += shift[i % 4];
  const auto a =
      run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()});
  const auto b =
      run_f64("attention.sdpa", {shifted.q_tensor(), shifted.k_tensor(), shifted.v_tensor()});
  EXPECT_TRUE(all_near(b, a, 1e-10, 1e-12));
}

// Attention is linear in the values.
TEST(AttentionProperties, IsLinearInTheValues) {
  const Heads heads{
      .heads = 2, .kv_heads = 2, .queries = 3, .keys = 30, .width = 4, .value_width = 6};
  const Problem problem(heads, 150);
  // 2 and -3 are exact factors, so that the mixed values carry one rounding each.
  const auto other = normals(static_cast<int64_t>(problem.v.size()), 151);
  std::vector<double> mixed;
  for (size_t i = 0; i < other.size(); ++i) mixed.push_back(2 * problem.v[i] - 3 * other[i]);
  const auto run = [&](const std::vector<double>& v) {
    return run_f64("attention.sdpa",
                   {problem.q_tensor(), problem.k_tensor(), f64(Shape{1, 2, 30, 6}, v)});
  };
  const auto a = run(problem.v), b = run(other), c = run(mixed);
  std::vector<double> expected;
  for (size_t i = 0; i < a.size(); ++i) expected.push_back(2 * a[i] - 3 * b[i]);
  EXPECT_TRUE(all_near(c, expected, 1e-10, 1e-12));
}

// Rows are independent: one bad query spoils one result.
TEST(AttentionProperties, NaNStaysInItsRow) {
  const Heads heads{.queries = 3, .keys = 4, .width = 2, .value_width = 2};
  Problem problem(heads, 160);
  // Element 2 is the first of query 1: [1, 1, 3, 2].
  problem.q[2] = std::nan("");  // query 1
  const auto out =
      run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()});
  EXPECT_FALSE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[2]));
  EXPECT_TRUE(std::isnan(out[3]));
  EXPECT_FALSE(std::isnan(out[4]));
}

// Extents of 0 on either side.
TEST(AttentionProperties, NoKeysGiveZerosAndNoQueriesNothing) {
  const Tensor q = normal_f64(Shape{1, 2, 3, 4}, 170);
  const Tensor none = f64(Shape{1, 2, 0, 4}, {});
  // 24 zeros are two heads, three queries, four values.
  EXPECT_EQ(run_f64("attention.sdpa", {q, none, none}), std::vector<double>(24, 0.0));
  EXPECT_EQ(run_one("attention.sdpa", {none, q, q}).shape(), (Shape{1, 2, 0, 4}));
  EXPECT_EQ(run_f64("attention.sliding_window", {q, none, none}), std::vector<double>(24, 0.0));
}

// f32, f16 and bf16 against f64 on the rounded inputs: the error is that of a few roundings.
TEST(AttentionProperties, NarrowTypesStayCloseToF64) {
  const Heads heads{
      .heads = 2, .kv_heads = 2, .queries = 4, .keys = 100, .width = 16, .value_width = 8};
  const Problem problem(heads, 180);
  // The tolerance is a few units of the type: 2^-24 is 6e-8, 2^-11 is 5e-4, 2^-9 is 2e-3, for
  // values of up to about 3.
  for (const auto& [name, epsilon] :
       {std::pair{"f32", 1e-6}, std::pair{"f16", 1e-3}, std::pair{"bf16", 8e-3}}) {
    const auto cast = [](const Tensor& x, const std::string& to) {
      return run_one("math.cast", {x}, {{"to", to}});
    };
    std::vector<Tensor> narrow, wide;
    for (const Tensor& x : {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()}) {
      narrow.push_back(cast(x, name));
      wide.push_back(cast(narrow.back(), "f64"));
    }
    const Tensor y = cast(run_one("attention.sdpa", narrow), "f64");
    EXPECT_TRUE(all_near(values_of<double>(y), run_f64("attention.sdpa", wide), epsilon, epsilon))
        << name;
  }
}

// Attention with a causal mask as a tensor is attention with the flag.
TEST(MaskValues, TheMaskAndTheFlagHideTheSameKeys) {
  const Heads heads{
      .heads = 2, .kv_heads = 2, .queries = 9, .keys = 9, .width = 4, .value_width = 4};
  const Problem problem(heads, 190);
  const Tensor mask = run_one("masking.causal", {}, {{"seq_len", int64_t{9}}});
  // Equal bits: hidden by the flag or by -infinity, a key is skipped in both.
  EXPECT_TRUE(all_same_bits(
      run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), problem.v_tensor(), mask}),
      run_f64("attention.sdpa", {problem.q_tensor(), problem.k_tensor(), problem.v_tensor()},
              {{"causal", true}})));
}

}  // namespace
}  // namespace quern::test
