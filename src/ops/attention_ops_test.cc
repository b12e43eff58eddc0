// Attention over tensors: the order of the definition, and its rules. Values of an independent
// oracle come from the suite op_cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ops/attention_core.h"
#include "support/bit_equal.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Kept here and not shared: the standard's distribution may differ by library, which these tests
// bear, since both sides of every comparison use the same numbers.
std::vector<float> normals(size_t n, unsigned seed, float spread = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

// The definition spelt out: scores of all keys first, then states of 64 keys, then of 512.
struct PlainState {
  bool empty = true;
  float m = 0, l = 0;
  std::vector<float> o;
};

// A second writing of the join, from the page of numerics and not from attention_core.h. It shares
// strict_max and strict_exp with it, which have tests of their own.
PlainState plain_join(const PlainState& a, const PlainState& b) {
  if (a.empty) return b;
  if (b.empty) return a;
  PlainState r{false, strict_max(a.m, b.m), 0, std::vector<float>(a.o.size())};
  const float fa = strict_exp(a.m - r.m), fb = strict_exp(b.m - r.m);
  const float la = a.l * fa, lb = b.l * fb;
  r.l = la + lb;
  for (size_t d = 0; d < r.o.size(); ++d) {
    const float oa = a.o[d] * fa, ob = b.o[d] * fb;
    r.o[d] = oa + ob;
  }
  return r;
}

// One chunk of up to 64 keys from `begin`; values are rows of `dim`. The sum of weights is written
// as 32 partials and a tree by hand, independent of lanes.h.
PlainState plain_chunk(const std::vector<float>& scores, const std::vector<float>& values,
                       size_t dim, size_t begin) {
  PlainState state;
  const size_t end = std::min(begin + 64, scores.size());
  for (size_t key = begin; key < end; ++key) {
    if (scores[key] == -kInf) continue;
    state.m = state.empty ? scores[key] : strict_max(state.m, scores[key]);
    state.empty = false;
  }
  if (state.empty) return state;
  // A masked key adds nothing to its lane, which equals adding +0.
  float lanes[32] = {};
  state.o.assign(dim, 0.0f);
  for (size_t key = begin; key < end; ++key) {
    if (scores[key] == -kInf) continue;
    const float p = strict_exp(scores[key] - state.m);
    lanes[key % 32] += p;
    for (size_t d = 0; d < dim; ++d) {
      const float term = p * values[key * dim + d];
      state.o[d] += term;
    }
  }
  for (int half = 16; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  state.l = lanes[0];
  return state;
}

// Inner chunks into outer ones into the total, then the sink, then o / l.
std::vector<float> plain_attention(const std::vector<float>& scores,
                                   const std::vector<float>& values, size_t dim,
                                   const float* sink = nullptr) {
  PlainState total;
  for (size_t outer = 0; outer < scores.size(); outer += 512) {
    PlainState chunk;
    for (size_t inner = outer; inner < std::min(outer + 512, scores.size()); inner += 64) {
      chunk = plain_join(chunk, plain_chunk(scores, values, dim, inner));
    }
    total = plain_join(total, chunk);
  }
  if (sink != nullptr) total = plain_join(total, {false, *sink, 1, std::vector<float>(dim)});
  std::vector<float> out(dim, 0.0f);
  if (total.empty) return out;
  for (size_t d = 0; d < dim; ++d) out[d] = total.o[d] / total.l;
  return out;
}

// The function under test on the same arrays. `scores` are finished: attention proper has no part
// in these tests.
std::vector<float> core_attention(const std::vector<float>& scores,
                                  const std::vector<float>& values, size_t dim, KeyRange keys,
                                  const float* sink = nullptr) {
  std::vector<float> out(dim);
  attend<float>(
      keys, sink, [&](int64_t key) { return scores[static_cast<size_t>(key)]; },
      [&](int64_t key) { return values.data() + static_cast<size_t>(key) * dim; }, std::span(out));
  return out;
}

// Lengths around the chunks of 64 and 512, where joins happen or do not.
TEST(AttentionCore, FollowsTheDefinitionAtEveryLength) {
  constexpr size_t kDim = 5;
  for (const size_t n : {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 511, 512, 513, 1100}) {
    // Spread 3 gives maxima that change from chunk to chunk, so that every join scales one side.
    auto scores = normals(n, 1 + static_cast<unsigned>(n), 3.0f);
    const auto values = normals(n * kDim, 99);
    // Every seventh key is hidden, from 3 on: chunks with holes, and with n <= 3 none at all.
    for (size_t key = 3; key < n; key += 7) scores[key] = -kInf;
    const KeyRange keys{0, static_cast<int64_t>(n)};
    EXPECT_TRUE(all_same_bits(core_attention(scores, values, kDim, keys),
                              plain_attention(scores, values, kDim)))
        << n;
    // Of the size of the scores, so that neither side of the join vanishes.
    const float sink = 1.5f;
    EXPECT_TRUE(all_same_bits(core_attention(scores, values, kDim, keys, &sink),
                              plain_attention(scores, values, kDim, &sink)))
        << n;
  }
}

// A window and a mask of -infinity are two ways to say the same.
TEST(AttentionCore, KeysOutsideTheRangeAreMaskedKeys) {
  constexpr size_t kDim = 3, kN = 900;
  const auto scores = normals(kN, 5, 2.0f);
  const auto values = normals(kN * kDim, 6);
  // Borders of the chunks of 64 and 512 from both sides, one key alone, all of them, and the last
  // key.
  for (const auto& [first, last] : std::vector<std::pair<int64_t, int64_t>>{{0, 900},
                                                                            {1, 900},
                                                                            {63, 64},
                                                                            {64, 65},
                                                                            {100, 700},
                                                                            {511, 513},
                                                                            {512, 900},
                                                                            {899, 900}}) {
    auto masked = scores;
    for (size_t key = 0; key < kN; ++key) {
      const auto k = static_cast<int64_t>(key);
      if (k < first || k >= last) masked[key] = -kInf;
    }
    EXPECT_TRUE(all_same_bits(core_attention(scores, values, kDim, {first, last}),
                              plain_attention(masked, values, kDim)))
        << first << " " << last;
  }
}

// The softmax of nothing has no weights to give.
TEST(AttentionCore, NoVisibleKeyGivesZerosAlsoWithASink) {
  const std::vector<float> scores(3, -kInf), values = normals(6, 7);
  const float sink = 0.5f;
  // o is 0 and l is 1 with the sink alone: 0 / 1, not 0 / 0.
  const std::vector<float> zeros(2, 0.0f);
  EXPECT_TRUE(all_same_bits(core_attention(scores, values, 2, {0, 3}), zeros));
  // An empty range, as a causal row before the first key has it.
  EXPECT_TRUE(all_same_bits(core_attention(scores, values, 2, {0, 0}), zeros));
  EXPECT_TRUE(all_same_bits(core_attention(scores, values, 2, {0, 3}, &sink), zeros));
}

// NaN behind a mask must not leak through 0 * NaN.
TEST(AttentionCore, MaskedValuesMayBeAnything) {
  // A masked key is skipped: 0 * NaN does not reach the result.
  const std::vector<float> scores = {1.0f, -kInf, 1.0f};
  const std::vector<float> values = {2.0f, std::nanf(""), 4.0f};
  // Equal scores: the two visible values 2 and 4 have the mean 3, exactly.
  EXPECT_EQ(core_attention(scores, values, 1, {0, 3}), std::vector<float>{3.0f});
}

// A visible NaN is a defect that must show.
TEST(AttentionCore, NanScoresSpread) {
  const std::vector<float> scores = {1.0f, std::nanf(""), 1.0f}, values = {2.0f, 3.0f, 4.0f};
  EXPECT_TRUE(std::isnan(core_attention(scores, values, 1, {0, 3})[0]));
}

// Sharing heads is an optimisation of repeating them: equal bits.
TEST(Gqa, EqualsSdpaWithRepeatedKeyHeads) {
  // 70 keys take two chunks, the second one short; 6 is no multiple of a vector.
  const int64_t t = 70, d = 6;
  const auto q = normals(static_cast<size_t>(4 * t * d), 11);
  const auto k = normals(static_cast<size_t>(2 * t * d), 12);
  const auto v = normals(static_cast<size_t>(2 * t * d), 13);
  const auto repeat = [&](const std::vector<float>& x) {
    std::vector<float> out;
    const auto head = static_cast<long>(t * d);
    // Heads 0 and 1 of the queries read key head 0, 2 and 3 head 1: not h % 2.
    for (const long h : {0, 0, 1, 1})
      out.insert(out.end(), x.begin() + h * head, x.begin() + (h + 1) * head);
    return out;
  };
  const Attributes causal = {{"causal", true}};
  const Tensor grouped = run_one(
      "attention.gqa", {f32({1, 4, t, d}, q), f32({1, 2, t, d}, k), f32({1, 2, t, d}, v)}, causal);
  const Tensor repeated = run_one(
      "attention.sdpa",
      {f32({1, 4, t, d}, q), f32({1, 4, t, d}, repeat(k)), f32({1, 4, t, d}, repeat(v))}, causal);
  EXPECT_TRUE(all_same_bits(values_of<float>(grouped), values_of<float>(repeated)));
}

// Skipped keys and keys with weight 0 give the same bits.
TEST(Sdpa, AnAdditiveMaskOfMinusInfinityIsTheCausalRule) {
  const int64_t t = 67, d = 4;
  // Two samples and three heads, so that one mask must serve six planes.
  const Tensor q = f32({2, 3, t, d}, normals(static_cast<size_t>(6 * t * d), 21));
  const Tensor k = f32({2, 3, t, d}, normals(static_cast<size_t>(6 * t * d), 22));
  const Tensor v = f32({2, 3, t, d}, normals(static_cast<size_t>(6 * t * d), 23));
  std::vector<float> mask(static_cast<size_t>(t * t), 0.0f);
  for (int64_t i = 0; i < t; ++i) {
    for (int64_t j = i + 1; j < t; ++j) mask[static_cast<size_t>(i * t + j)] = -kInf;
  }
  const auto causal = values_of<float>(run_one("attention.sdpa", {q, k, v}, {{"causal", true}}));
  // With rank 2, and with two leading axes of extent 1.
  EXPECT_TRUE(all_same_bits(
      values_of<float>(run_one("attention.sdpa", {q, k, v, f32({t, t}, mask)})), causal));
  EXPECT_TRUE(all_same_bits(
      values_of<float>(run_one("attention.sdpa", {q, k, v, f32({1, 1, t, t}, mask)})), causal));
}

// Each of the two leading axes may be 1 on its own.
TEST(Sdpa, MasksBroadcastOverBatchAndHeads) {
  const Tensor q = f32({2, 2, 1, 2}, normals(8, 31));
  const Tensor k = f32({2, 2, 3, 2}, normals(24, 32));
  const Tensor v = f32({2, 2, 3, 2}, normals(24, 33));
  // One mask row for each head, and one for each sample.
  // Six numbers read in two ways: [2, 1, 3] is a row for each head, [2, 1, 1, 3] for each sample. A
  // stride for the wrong axis exchanges them.
  const std::vector<float> rows = {0, -kInf, 1, -kInf, 0, 2};
  const auto by_head = values_of<float>(run_one("attention.sdpa", {q, k, v, f32({2, 1, 3}, rows)}));
  const auto by_sample =
      values_of<float>(run_one("attention.sdpa", {q, k, v, f32({2, 1, 1, 3}, rows)}));
  const auto row = [&](size_t first) {
    const std::vector<float> one(rows.begin() + static_cast<long>(first),
                                 rows.begin() + static_cast<long>(first + 3));
    return values_of<float>(run_one("attention.sdpa", {q, k, v, f32({1, 3}, one)}));
  };
  const auto first = row(0), second = row(3);
  // Outputs are [2, 2, 1, 2]: i / 2 is the plane, its last bit the head, i / 4 the sample.
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(by_head[i], i / 2 % 2 == 0 ? first[i] : second[i]) << i;
    EXPECT_EQ(by_sample[i], i < 4 ? first[i] : second[i]) << i;
  }
}

// Two layouts of the same heads.
TEST(Attention, MultiHeadOverRowsEqualsHeadsInFront) {
  const int64_t t = 5, d = 2;
  const auto q = normals(20, 41), k = normals(10, 42), v = normals(10, 43);
  const auto rows = values_of<float>(run_one("attention.multi_head_attention",
                                             {f32({t, 4}, q), f32({t, 2}, k), f32({t, 2}, v)},
                                             {{"num_heads", int64_t{2}},
                                              {"head_dim", d},
                                              {"kv_head_count", int64_t{1}},
                                              {"causal", true}}));
  std::vector<float> by_head(20);
  // Element (row i / 4, head i / 2 % 2, d i % 2) of rows [5, 2 * 2] goes to [head, row, d].
  for (size_t i = 0; i < 20; ++i) by_head[(i / 2 % 2 * 5 + i / 4) * 2 + i % 2] = q[i];
  const auto heads = values_of<float>(run_one(
      "attention.mqa", {f32({1, 2, t, d}, by_head), f32({1, 1, t, d}, k), f32({1, 1, t, d}, v)},
      {{"causal", true}}));
  for (size_t i = 0; i < 20; ++i)
    EXPECT_EQ(rows[i], heads[(i / 2 % 2 * 5 + i / 4) * 2 + i % 2]) << i;
}

// One rounding at the store, none between.
TEST(Attention, NarrowFloatsComputeInF32) {
  // One visible key: the output is its value, in the input's dtype.
  // 0x3c00 is 1.0 and 0x4248 is 3.140625 in f16: the output equals the value bit for bit, as a
  // weight of exactly 1 leaves it.
  const Tensor q = tensor_of<uint16_t>(DType::kF16, {1, 1, 1, 1}, {0x3c00});
  const Tensor v = tensor_of<uint16_t>(DType::kF16, {1, 1, 1, 1}, {0x4248});
  const Tensor out = run_one("attention.sdpa", {q, q, v});
  EXPECT_EQ(out.dtype(), DType::kF16);
  EXPECT_EQ(values_of<uint16_t>(out), std::vector<uint16_t>{0x4248});
}

// One wrong extent at a time, for each port.
TEST(Attention, RefusesWrongShapes) {
  const auto of = [](const Shape& shape) {
    return f32(shape, std::vector<float>(static_cast<size_t>(shape.num_elements())));
  };
  const Tensor x = of({1, 2, 3, 4});
  // First the case that is right, so that a refusal below has the one cause that its line changes.
  EXPECT_TRUE(run_op("attention.sdpa", {x, x, x}));
  EXPECT_FALSE(run_op("attention.sdpa", {x, of({1, 1, 3, 4}), of({1, 1, 3, 4})}));
  // mqa wants one head of keys; gqa a divisor of 3; head_dim and the number of values must agree.
  EXPECT_FALSE(run_op("attention.mqa", {x, x, x}));
  EXPECT_FALSE(run_op("attention.gqa", {of({1, 3, 3, 4}), x, x}));
  EXPECT_FALSE(run_op("attention.sdpa", {x, of({1, 2, 3, 5}), x}));
  EXPECT_FALSE(run_op("attention.sdpa", {x, x, of({1, 2, 4, 4})}));
  // Another batch; a mask whose rows are too wide; one with three heads where q has two.
  EXPECT_FALSE(run_op("attention.sdpa", {x, of({2, 2, 3, 4}), of({2, 2, 3, 4})}));
  EXPECT_FALSE(run_op("attention.sdpa", {x, x, x, of({3, 4})}));
  EXPECT_FALSE(run_op("attention.sdpa", {x, x, x, of({3, 3, 3})}));
  EXPECT_FALSE(run_op("attention.sliding_window", {x, x, x}, {{"window", int64_t{0}}}));
  EXPECT_FALSE(run_op("attention.flash_attention", {x, x, x}, {{"block_size", int64_t{0}}}));
}

// No queries, no keys, no batch.
TEST(Attention, AcceptsTensorsWithoutRows) {
  const Tensor q = f32({1, 1, 2, 2}, {1, 2, 3, 4}), empty = f32({1, 1, 0, 2}, {});
  EXPECT_EQ(values_of<float>(run_one("attention.sdpa", {q, empty, empty})),
            (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(run_one("attention.sdpa", {empty, q, q}).shape(), (Shape{1, 1, 0, 2}));
}

// Keys and values [1, KV, T, D] whose element is a simple function of its place.
// Rows next to each other differ by 7 mod 11 and heads by 9, so that a row read from a place nearby
// differs. `first` shifts t: rows [5, 7) continue rows [0, 5).
Tensor rows_of(int64_t kv_heads, int64_t first, int64_t rows, int64_t dim) {
  std::vector<float> values;
  for (int64_t h = 0; h < kv_heads; ++h) {
    for (int64_t t = first; t < first + rows; ++t) {
      for (int64_t d = 0; d < dim; ++d) {
        values.push_back(static_cast<float>((h * 31 + t * 7 + d * 3) % 11) / 4 - 1);
      }
    }
  }
  return f32(Shape{1, kv_heads, rows, dim}, values);
}

// Rows from the cache and rows of the call are one sequence.
TEST(GqaCache, AppendsThenAttends) {
  // Two queries of four heads; with the causal rule they stand at keys 5 and 6 of 7.
  const Tensor q = rows_of(4, 100, 2, 6), none;
  const Tensor whole_k = rows_of(2, 0, 7, 6), whole_v = rows_of(2, 20, 7, 3);
  const Attributes causal = {{"causal", true}};
  const Tensor expected = run_one("attention.gqa", {q, whole_k, whole_v}, causal);
  const Tensor cached = run_one("attention.gqa",
                                {q, rows_of(2, 5, 2, 6), rows_of(2, 25, 2, 3), none,
                                 rows_of(2, 0, 5, 6), rows_of(2, 20, 5, 3)},
                                causal);
  EXPECT_TRUE(all_same_bits(values_of<float>(cached), values_of<float>(expected)));
  // Only the first rows of a larger cache count.
  // Nine cached rows of which five count; the other four must not be seen.
  const Tensor partly = run_one("attention.gqa",
                                {q, rows_of(2, 5, 2, 6), rows_of(2, 25, 2, 3), none,
                                 rows_of(2, 0, 9, 6), rows_of(2, 20, 9, 3)},
                                {{"causal", true}, {"start_position", int64_t{5}}});
  EXPECT_TRUE(all_same_bits(values_of<float>(partly), values_of<float>(expected)));
}

// No queries have no results, whichever way it runs.
TEST(GqaHeads, NoQueryHeadsGiveNone) {
  const Tensor q = *Tensor::zeros(DType::kF32, Shape{2, 0, 3, 6});
  const Tensor k = *Tensor::zeros(DType::kF32, Shape{2, 2, 4, 6});
  const auto out = run_op("attention.gqa", {q, k, k});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->at(0).shape(), (Shape{2, 0, 3, 6}));
}

// A cache of other extents, or half of one.
TEST(GqaCache, RefusesWhatDoesNotFit) {
  const Tensor q = rows_of(4, 0, 2, 6), k = rows_of(2, 0, 2, 6), none;
  const auto error = [&](std::vector<Tensor> inputs, Attributes attributes) {
    const auto out = run_op("attention.gqa", std::move(inputs), std::move(attributes));
    EXPECT_FALSE(out);
    return out ? "" : out.error().message;
  };
  EXPECT_EQ(
      error({q, k, k, none, k}, {}),
      "attention.gqa: Port 'k_cache' is given without 'v_cache'; they must be given together.");
  EXPECT_EQ(error({q, k, k}, {{"start_position", int64_t{0}}}),
            "attention.gqa: Attribute 'start_position' is 0; it needs the port 'k_cache'.");
  EXPECT_EQ(error({q, k, k, none, k, k}, {{"start_position", int64_t{3}}}),
            "attention.gqa: Attribute 'start_position' is 3; it must be from 0 to the 2 cached "
            "rows.");
  // A cache of one head, one of another width, and one that is no rank 4.
  EXPECT_FALSE(run_op("attention.gqa", {q, k, k, none, rows_of(1, 0, 2, 6), k}));
  EXPECT_FALSE(run_op("attention.gqa", {q, k, k, none, k, rows_of(2, 0, 2, 5)}));
  EXPECT_FALSE(run_op("attention.gqa", {q, k, k, none, f32(Shape{2}, {1, 2}), k}));
}

}  // namespace
}  // namespace quern::test
