// kv.append and attention.cached: an independent oracle, and bits that must not depend on how the
// tokens arrive.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/cached_rows.h"
#include "ops/quant_dynamic.h"
#include "support/bit_equal.h"
#include "support/golden.h"
#include "support/memory_kv.h"
#include "support/op_runner.h"

namespace quern::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// The standard's distribution may differ by library; both sides of every comparison use one call.
std::vector<float> normals(size_t n, unsigned seed, float spread = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

// Every state here has its tokens in layer 0.
Attributes with_layer(Attributes attributes = {}) {
  attributes.set("layer", int64_t{0});
  return attributes;
}

// Rows [first, first + count) of a tensor of f32.
Tensor rows_of(const Tensor& x, int64_t first, int64_t count) {
  const auto values = values_of<float>(x);
  Shape shape = x.shape();
  const int64_t size = shape.num_elements() / shape[0];
  shape[0] = count;
  const auto begin = values.begin() + first * size;
  return f32(shape, {begin, begin + count * size});
}

// Positions first, first + 1, ... of one sequence.
Tensor counting(int64_t first, int64_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<int32_t>(first + i);
  return i32({count}, values);
}

// All tokens of one sequence.
Tensor filled(int64_t count, int32_t value) {
  return i32({count}, std::vector<int32_t>(static_cast<size_t>(count), value));
}

// No outputs, and the state as the effect.
void append(MemoryKv& kv, const Tensor& k, const Tensor& v, const Tensor& positions,
            const Tensor& sequences) {
  const auto done = run_op("kv.append", {k, v, positions, sequences}, with_layer(), &kv);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->empty());
}

// The cache of the file attention.npz, filled at once.
// Its expected values are f64 from the f32 inputs (tests/data/ops/README.md): 700 rows of 2 heads,
// key_dim 20 and value_dim 12, no multiples of a vector; 4 query heads; 8 tokens at positions on
// both sides of 64 and 512, at both ends and between.
class CachedOracle : public testing::Test {
 protected:
  void SetUp() override {
    auto golden = Golden::open(QUERN_TEST_DATA_DIR "/ops/attention.npz");
    ASSERT_TRUE(golden) << golden.error().message;
    golden_ = std::move(*golden);
    append(kv_, golden_.tensor("k"), golden_.tensor("v"), counting(0, 700), filled(700, 0));
  }

  // One array of the file per combination of attributes; sinks are the optional fourth port.
  void expect_case(const std::string& name, const Attributes& attributes, bool has_sinks = false) {
    const Tensor sinks = has_sinks ? golden_.tensor("sinks") : Tensor();
    const auto out = values_of<float>(run_one(
        "attention.cached", {golden_.tensor("q"), golden_.tensor("positions"), filled(8, 0), sinks},
        with_layer(attributes), &kv_));
    const auto expected = golden_.values<double>(name);
    ASSERT_EQ(out.size(), expected.size());
    // Scores up to about 30 carry an error of some 1e-6; weights are at most 1, values about 3.
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 1e-5) << name << " " << i;
  }

  Golden golden_;
  MemoryKv kv_{{.heads = 2, .key_dim = 20, .value_dim = 12, .rows = 700}};
};

// 700 cached rows against float64, with scale, window, cap and sinks.
TEST_F(CachedOracle, AgreesWithFloat64) {
  expect_case("plain", {});
  expect_case("scaled", {{"scale", 0.4}});
  expect_case("window", {{"window", int64_t{100}}});
  expect_case("window_1", {{"window", int64_t{1}}});
  // Scores of 2.5 and more are bent by a cap of 2.5, so that a missing cap shows.
  expect_case("soft_cap", {{"soft_cap", 2.5}});
  expect_case("sinks_out", {}, true);
  // All at once: cap before the window's mask, sink after both.
  expect_case("all", {{"scale", 0.3}, {"window", int64_t{200}}, {"soft_cap", 4.0}}, true);
}

// Equal bits, since the same keys are visited.
TEST_F(CachedOracle, AWindowOverEverythingIsNoWindow) {
  const Tensor q = golden_.tensor("q"), positions = golden_.tensor("positions");
  const auto run = [&](int64_t window) {
    return values_of<float>(run_one("attention.cached", {q, positions, filled(8, 0)},
                                    with_layer({{"window", window}}), &kv_));
  };
  // 700 just reaches row 0 from the last position, 100,000 is far more than the cache holds.
  EXPECT_TRUE(all_same_bits(run(700), run(0)));
  EXPECT_TRUE(all_same_bits(run(100000), run(0)));
}

// A sink of no weight must not even round.
TEST_F(CachedOracle, ASinkOfMinusInfinityIsNoSink) {
  const Tensor q = golden_.tensor("q"), positions = golden_.tensor("positions");
  // One for each of the four query heads.
  const Tensor sinks = f32({4}, {-kInf, -kInf, -kInf, -kInf});
  EXPECT_TRUE(all_same_bits(
      values_of<float>(
          run_one("attention.cached", {q, positions, filled(8, 0), sinks}, with_layer(), &kv_)),
      values_of<float>(
          run_one("attention.cached", {q, positions, filled(8, 0)}, with_layer(), &kv_))));
}

// A prompt of one sequence in several steps.
// 600 tokens pass an outer chunk of 512. 40 is one block of 32 and a part, 24 is less than a block,
// so that quantised caches pad. Four query heads share two heads of the cache.
struct Prompt {
  int64_t tokens = 600;
  Tensor q = f32({600, 4, 40}, normals(600 * 4 * 40, 1));
  Tensor k = f32({600, 2, 40}, normals(600 * 2 * 40, 2));
  Tensor v = f32({600, 2, 24}, normals(600 * 2 * 24, 3));

  // 700 rows for 600 tokens, and three sequences, of which a test uses one or two.
  static MemoryKv::Options cache(DType key_type, DType value_type) {
    return {.heads = 2,
            .key_dim = 40,
            .value_dim = 24,
            .num_sequences = 3,
            .rows = 700,
            .key_type = key_type,
            .value_type = value_type};
  }

  // Appends and attends in steps of the given sizes; returns all outputs.
  std::vector<float> feed(MemoryKv& kv, const std::vector<int64_t>& steps, int32_t sequence,
                          const Attributes& attributes) const {
    std::vector<float> out;
    int64_t first = 0;
    for (const int64_t count : steps) {
      const Tensor positions = counting(first, count), sequences = filled(count, sequence);
      // Rows first: a query sees its own step's keys.
      append(kv, rows_of(k, first, count), rows_of(v, first, count), positions, sequences);
      const auto step = values_of<float>(run_one(
          "attention.cached", {rows_of(q, first, count), positions, sequences}, attributes, &kv));
      out.insert(out.end(), step.begin(), step.end());
      first += count;
    }
    return out;
  }
};

// (type of keys, type of values).
class CacheTypes : public testing::TestWithParam<std::pair<DType, DType>> {};

// The promise behind caching: chunks of any size give the bits of one piece.
TEST_P(CacheTypes, BitsDoNotDependOnTheSplitOfThePrompt) {
  const Prompt prompt;
  const auto options = Prompt::cache(GetParam().first, GetParam().second);
  // Single tokens around the borders of inner and outer chunks.
  // 70 single tokens pass the borders 32 and 64, then 435 at once, then singles again over 512.
  std::vector<int64_t> singles(70, 1);
  singles.push_back(435);
  singles.insert(singles.end(), 95, 1);
  // Without a window, and with one of 90 whose start moves through the chunks; 16 bits matter to
  // quantised keys only.
  for (const Attributes& attributes :
       {with_layer(), with_layer({{"window", int64_t{90}}, {"query_bits", int64_t{16}}})}) {
    MemoryKv at_once(options), in_pieces(options), one_by_one(options);
    const auto expected = prompt.feed(at_once, {600}, 0, attributes);
    // Steps of 1, 63, 64 and 65 begin and end on both sides of a chunk's border.
    EXPECT_TRUE(all_same_bits(prompt.feed(in_pieces, {1, 63, 64, 65, 300, 7, 100}, 0, attributes),
                              expected));
    EXPECT_TRUE(all_same_bits(prompt.feed(one_by_one, singles, 0, attributes), expected));
  }
}

// Float caches, narrow ones of two kinds, blocks with and without a minimum, and values of another
// kind than the keys.
INSTANTIATE_TEST_SUITE_P(Types, CacheTypes,
                         testing::Values(std::pair(DType::kF32, DType::kF32),
                                         std::pair(DType::kF16, DType::kBF16),
                                         std::pair(DType::kQ8_0, DType::kQ8_0),
                                         std::pair(DType::kQ4_0, DType::kQ4_0),
                                         std::pair(DType::kQ4_1, DType::kF16)),
                         [](const auto& test) {
                           return std::string(dtype_name(test.param.first)) + "_" +
                                  std::string(dtype_name(test.param.second));
                         });

// A neighbour in the batch changes nothing.
TEST(CachedAttention, BitsDoNotDependOnOtherSequencesInTheBatch) {
  const Prompt prompt;
  const auto options = Prompt::cache(DType::kF32, DType::kF32);
  MemoryKv alone(options);
  const auto expected = prompt.feed(alone, {100}, 0, with_layer());
  // The same rows for sequences 2 and 1, token by token next to each other.
  MemoryKv shared(options);
  std::vector<float> q, k, v;
  std::vector<int32_t> positions, sequences;
  for (int64_t t = 0; t < 100; ++t) {
    // Sequences in falling order, so that a place is taken from the tensor and not counted.
    for (const int32_t sequence : {2, 1}) {
      for (const auto& [source, target] :
           {std::pair(&prompt.q, &q), {&prompt.k, &k}, {&prompt.v, &v}}) {
        const auto row = values_of<float>(rows_of(*source, t, 1));
        target->insert(target->end(), row.begin(), row.end());
      }
      positions.push_back(static_cast<int32_t>(t));
      sequences.push_back(sequence);
    }
  }
  const Tensor p = i32({200}, positions), s = i32({200}, sequences);
  append(shared, f32({200, 2, 40}, k), f32({200, 2, 24}, v), p, s);
  const auto out = values_of<float>(
      run_one("attention.cached", {f32({200, 4, 40}, q), p, s}, with_layer(), &shared));
  // One token's output: 4 heads of 24.
  const size_t row = 4 * 24;
  ASSERT_EQ(out.size(), 200 * row);
  // Tokens 2t and 2t + 1 are token t of the two sequences.
  for (size_t t = 0; t < 200; ++t) {
    EXPECT_TRUE(all_same_bits(std::span(out).subspan(t * row, row),
                              std::span(expected).subspan(t / 2 * row, row)))
        << t;
  }
}

// [T, H, D] to [1, H, T, D].
// The layout of attention.gqa.
std::vector<float> heads_first(const Tensor& x) {
  const auto values = values_of<float>(x);
  const Shape& s = x.shape();
  std::vector<float> out(values.size());
  for (int64_t t = 0; t < s[0]; ++t) {
    for (int64_t h = 0; h < s[1]; ++h) {
      std::copy_n(values.begin() + (t * s[1] + h) * s[2], s[2],
                  out.begin() + (h * s[0] + t) * s[2]);
    }
  }
  return out;
}

// The cache is another way to hold the same keys.
TEST(CachedAttention, EqualsCausalGqaOverTheSameRows) {
  const Prompt prompt;
  MemoryKv kv(Prompt::cache(DType::kF32, DType::kF32));
  // Two steps, in sequence 1: neither the split nor the number of the sequence may show.
  const auto cached = prompt.feed(kv, {200, 400}, 1, with_layer());
  const Tensor out = run_one(
      "attention.gqa",
      {f32({1, 4, 600, 40}, heads_first(prompt.q)), f32({1, 2, 600, 40}, heads_first(prompt.k)),
       f32({1, 2, 600, 24}, heads_first(prompt.v))},
      {{"causal", true}});
  EXPECT_TRUE(all_same_bits(heads_first(f32({600, 4, 24}, cached)), values_of<float>(out)));
}

// The rounding happens when a row is stored.
// f16 rows rounded by hand into an f32 cache must act as rows rounded by an f16 cache.
TEST(CachedAttention, FloatCachesRoundTheirRows) {
  Prompt prompt;
  MemoryKv narrow(Prompt::cache(DType::kF16, DType::kF16));
  const auto out = prompt.feed(narrow, {50}, 0, with_layer());
  for (Tensor* x : {&prompt.k, &prompt.v}) {
    auto values = values_of<float>(*x);
    std::vector<std::byte> half(values.size() * 2);
    quantize_row(DType::kF16, values.data(), half.data(), static_cast<int64_t>(values.size()));
    dequantize_row(DType::kF16, half.data(), values.data(), static_cast<int64_t>(values.size()));
    *x = f32(x->shape(), values);
  }
  MemoryKv wide(Prompt::cache(DType::kF32, DType::kF32));
  EXPECT_TRUE(all_same_bits(out, prompt.feed(wide, {50}, 0, with_layer())));
}

// One definition of integer products for weights and keys.
// Ties three parts together: the decoder of keys, quant.dynamic, and the product of a weight.
TEST(CachedAttention, QuantizedKeysMultiplyAsAQuantizedWeight) {
  // The dot of a query with a key row is projection.linear of quant.dynamic with that row.
  // Formats with an offset of 0, 8, a minimum, and a fifth bit.
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_1}) {
    for (const int64_t bits : {8, 16}) {
      // Rows 0 and 1 stay empty: the loaded range [1, 3) must index from its own first row.
      MemoryKv kv({.key_dim = 64, .value_dim = 1, .rows = 3, .key_type = dtype});
      const auto key = normals(64, 5), query = normals(64, 6);
      kv.write(0, 0, 0, 2, key, std::vector<float>{1.0f});
      CachedRows rows(kv, 0, 0);
      rows.load(0, 1, 3);
      rows.set_query(query, dynamic_limit(bits));
      std::vector<std::byte> blocks(static_cast<size_t>(2 * dtype_info(dtype).block_bytes));
      kv.read_key_blocks(0, 0, 0, 2, blocks);
      const auto weight = Tensor::from_bytes(dtype, {1, 64}, blocks);
      ASSERT_TRUE(weight) << weight.error().message;
      const auto q = run_op("quant.dynamic", {f32({1, 64}, query)}, {{"bits", bits}});
      ASSERT_TRUE(q) << q.error().message;
      const auto y =
          values_of<float>(run_one("projection.linear", {(*q)[0], *weight, {}, (*q)[1]}));
      ASSERT_EQ(y.size(), 1u);
      EXPECT_TRUE(same_bits(rows.dot(2), y[0])) << dtype_name(dtype) << " " << bits;
    }
  }
}

// A bound that a wrong scale would break.
// Values are about 1 in size and q8_0 keeps 1 in 254 of a block's maximum; a wrong scale, or a
// block of another row, misses by tenths.
TEST(CachedAttention, QuantizedCachesAreCloseToF32) {
  const Prompt prompt;
  MemoryKv exact(Prompt::cache(DType::kF32, DType::kF32));
  MemoryKv q8(Prompt::cache(DType::kQ8_0, DType::kQ8_0));
  const auto expected = prompt.feed(exact, {300}, 0, with_layer());
  const auto actual = prompt.feed(q8, {300}, 0, with_layer({{"query_bits", int64_t{16}}}));
  // A block whose maximum is 3 has steps of 0.024; 0.06 leaves room for the keys' error, which
  // moves the weights.
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 0.06) << i;
}

// All or nothing: a bad token must not leave half a batch behind.
TEST(KvAppend, RefusesUnknownPlacesAndWritesNothing) {
  MemoryKv kv({.key_dim = 2, .value_dim = 2, .num_sequences = 2, .rows = 4});
  // Token 0 is valid in all the runs: if it were written before token 1 is checked, num_rows would
  // tell.
  const Tensor k = f32({2, 1, 2}, {1, 2, 3, 4});
  const auto run = [&](std::vector<int32_t> positions, std::vector<int32_t> sequences) {
    return run_op("kv.append", {k, k, i32({2}, positions), i32({2}, sequences)}, with_layer(), &kv);
  };
  const auto unknown = run({0, 0}, {0, 2});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message,
            "Token 1 belongs to sequence 2, which state 'kv' does not hold.");
  const auto outside = run({0, 4}, {0, 1});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(outside.error().message,
            "Token 1 has position 4; sequence 1 of state 'kv' has room for 4 rows.");
  EXPECT_FALSE(run({0, -1}, {0, 1}));
  EXPECT_EQ(kv.num_rows(), 0u);
  // The last row of the room is valid.
  EXPECT_TRUE(run({3, 0}, {0, 1}));
  EXPECT_EQ(kv.num_rows(), 2u);
}

// The room is checked, not what was written: rows of this cache that nobody wrote are zeros, and
// they count as keys.
TEST(CachedAttention, ReadsUnwrittenRowsAsTheCacheHoldsThem) {
  MemoryKv kv({.rows = 4});
  append(kv, f32({1, 1, 1}, {0}), f32({1, 1, 1}, {6}), counting(0, 1), filled(1, 0));
  // All scores are 0: the mean of 6 and of as many zeros as there are keys behind it.
  const auto out = run_op("attention.cached",
                          {f32({4, 1, 1}, {1, 1, 1, 1}), counting(0, 4), filled(4, 0), Tensor()},
                          with_layer(), &kv);
  ASSERT_TRUE(out) << out.error().message;
  const auto values = values_of<float>((*out)[0]);
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(values[i], 6.0F / static_cast<float>(i + 1)) << i;
  const auto outside =
      run_op("attention.cached", {f32({1, 1, 1}, {1}), counting(4, 1), filled(1, 0), Tensor()},
             with_layer(), &kv);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kOutOfRange);
}

// One mistake at a time.
TEST(CachedAttention, RefusesWrongTypesAndStates) {
  MemoryKv kv({.layers = 2, .heads = 2, .key_dim = 4, .value_dim = 2, .rows = 4});
  const auto zeros = [](const Shape& shape) {
    return f32(shape, std::vector<float>(static_cast<size_t>(shape.num_elements())));
  };
  // Position 0 of sequence 0, one token.
  const Tensor places = i32({1}, {0});
  const auto run = [&](const Tensor& q, Attributes attributes, KvState* state) {
    return run_op("attention.cached", {q, places, places}, std::move(attributes), state);
  };
  // The correct call first; every line below changes one thing of it.
  EXPECT_TRUE(run(zeros({1, 4, 4}), with_layer(), &kv));
  EXPECT_FALSE(run(zeros({1, 4, 4}), with_layer(), nullptr));
  // The state has layers 0 and 1.
  EXPECT_FALSE(run(zeros({1, 4, 4}), {{"layer", int64_t{2}}}, &kv));
  EXPECT_FALSE(run(zeros({1, 4, 4}), {{"layer", int64_t{-1}}}, &kv));
  // Three query heads for two of the cache; a wrong width; two tokens with one place; rank 2; f64.
  EXPECT_FALSE(run(zeros({1, 3, 4}), with_layer(), &kv));
  EXPECT_FALSE(run(zeros({1, 4, 5}), with_layer(), &kv));
  EXPECT_FALSE(run(zeros({2, 4, 4}), with_layer(), &kv));
  EXPECT_FALSE(run(zeros({4, 4}), with_layer(), &kv));
  EXPECT_FALSE(run(f64({1, 4, 4}, std::vector<double>(16)), with_layer(), &kv));
  EXPECT_FALSE(run(zeros({1, 4, 4}), with_layer({{"query_bits", int64_t{4}}}), &kv));
  EXPECT_FALSE(run(zeros({1, 4, 4}), with_layer({{"window", int64_t{-1}}}), &kv));
  EXPECT_FALSE(run(zeros({1, 4, 4}), with_layer({{"soft_cap", -1.0}}), &kv));
  // Three sinks for four query heads.
  EXPECT_FALSE(run_op("attention.cached", {zeros({1, 4, 4}), places, places, zeros({3})},
                      with_layer(), &kv));
  // A value width that is not the cache's, then half of its heads.
  EXPECT_FALSE(
      run_op("kv.append", {zeros({1, 2, 4}), zeros({1, 2, 3}), places, places}, with_layer(), &kv));
  EXPECT_FALSE(
      run_op("kv.append", {zeros({1, 1, 4}), zeros({1, 1, 2}), places, places}, with_layer(), &kv));
}

// Bound stores are checked again when the kernel runs.
TEST(CachedAttention, RefusesAStoreOfAnotherState) {
  MemoryKv kv({.heads = 2, .key_dim = 4, .value_dim = 2, .rows = 4});
  // As a runtime that binds another store than the declared one would.
  MemoryKv other({.heads = 2, .key_dim = 4, .value_dim = 3, .rows = 4});
  const OpDef* op = builtin_ops().find("attention.cached");
  // The kernel alone, as if the types had been checked with the other declaration.
  Attributes attributes = with_layer();
  for (const AttributeDef& def : op->attributes) {
    if (def.default_value) attributes.set(def.name, *def.default_value);
  }
  std::vector<float> q(16), out(8);
  std::vector<int32_t> place(1);
  const auto view = [](DType dtype, const Shape& shape, void* data) {
    return TensorView{dtype, shape, static_cast<std::byte*>(data)};
  };
  // Trailing absent inputs must be present as empty views for a kernel that is called directly.
  const std::vector<TensorView> inputs = {view(DType::kF32, {1, 4, 4}, q.data()),
                                          view(DType::kI32, {1}, place.data()),
                                          view(DType::kI32, {1}, place.data()), TensorView{}};
  const std::vector<TensorView> outputs = {view(DType::kF32, {1, 4, 2}, out.data())};
  EXPECT_TRUE(op->reference({inputs, outputs, attributes, &kv}));
  const auto refused = op->reference({inputs, outputs, attributes, &other});
  // A failed precondition: the graph is right, the store is not.
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(op->reference({inputs, outputs, attributes, nullptr}).error().message,
            "State 'kv' is not bound to a key-value store.");
}

// A store with fewer heads than the rows would be written past its last one.
TEST(KvAppend, RefusesAStoreOfFewerHeads) {
  MemoryKv kv({.heads = 2, .key_dim = 4, .value_dim = 4, .rows = 4});
  // 16 floats serve as rows of two heads and of four.
  std::vector<float> rows(16);
  std::vector<int32_t> place(1);
  const auto append_heads = [&](int64_t heads) {
    const auto view = [](DType dtype, const Shape& shape, void* data) {
      return TensorView{dtype, shape, static_cast<std::byte*>(data)};
    };
    const std::vector<TensorView> inputs = {view(DType::kF32, {1, heads, 4}, rows.data()),
                                            view(DType::kF32, {1, heads, 4}, rows.data()),
                                            view(DType::kI32, {1}, place.data()),
                                            view(DType::kI32, {1}, place.data())};
    const Attributes attributes{{"state", std::string("kv")}, {"layer", int64_t{0}}};
    return builtin_ops().find("kv.append")->reference({inputs, {}, attributes, &kv});
  };
  EXPECT_TRUE(append_heads(2));
  // The message names both sides. The first append has written two rows, the refused one nothing.
  const auto refused = append_heads(4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "State 'kv' is bound to a store of 1 layers with 2 heads of 4 and 4, which does not fit "
      "heads of 4 and 4.");
  EXPECT_EQ(kv.num_rows(), 2u);
}

// Other formats have no product with a query.
// A product needs a block of at most 32, since the cache pads head_dim to 32 only.
TEST(CachedAttention, KeysMustBeFloatsOrBlocksOf32) {
  // T stays symbolic: the rule needs no number of tokens.
  const TensorType q{.dims = {Dim::symbolic('T'), Dim::constant(1), Dim::constant(256)}};
  const TensorType places{.dtype = DType::kI32, .dims = {Dim::symbolic('T')}};
  const auto infer = [&](const std::string& key_type) {
    const StateDecl state{"kv",
                          "kv",
                          {{"layers", int64_t{1}},
                           {"heads", int64_t{1}},
                           {"key_dim", int64_t{256}},
                           {"value_dim", int64_t{8}},
                           {"key_type", key_type},
                           {"value_type", std::string("f32")}}};
    return infer_op("attention.cached", {q, places, places}, with_layer(), {state});
  };
  // A valid type first: f32 comes out whatever the cache holds.
  const auto types = infer("q8_0");
  ASSERT_TRUE(types) << types.error().message;
  EXPECT_EQ((*types)[0].to_string(), "f32[T, 1, 8]");
  EXPECT_TRUE(infer("bf16"));
  // q4_K has blocks of 256, f64 is wider than the engine's f32 path, "none" is no dtype.
  EXPECT_FALSE(infer("q4_K"));
  EXPECT_FALSE(infer("f64"));
  EXPECT_FALSE(infer("none"));
}

}  // namespace
}  // namespace quern::test
