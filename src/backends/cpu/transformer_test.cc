// A small decoder with quantised weights: prompts in chunks, batches, threads, instruction sets.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::load_graph;
using test::LoadedGraph;
using test::MemoryWeights;
using test::random_tensor;
using test::same_tensor_bits;

// The smallest sizes that have whole blocks of 256, two heads a group, two layers.
constexpr int64_t kHidden = 256, kHeads = 4, kKvHeads = 2, kHeadDim = 64, kFeedForward = 512;
constexpr int64_t kVocab = 200, kLayers = 2;

// Matrices have the types of a mixed file: each layer's product takes its own blocks.
struct Decoder {
  GraphBuilder builder{builtin_ops()};
  MemoryWeights weights;
  std::mt19937 random{31};
  int64_t bits;
  Dim tokens = Dim::symbolic('T');
  ValueId positions = kNoValue, sequences = kNoValue;

  explicit Decoder(int64_t activation_bits) : bits(activation_bits) {}

  ValueId weight(const std::string& name, DType dtype, std::initializer_list<int64_t> dims) {
    TensorType type{dtype, {}};
    for (const int64_t extent : dims) type.dims.push_back(Dim::constant(extent));
    weights.add(name, random_tensor(dtype, Shape(dims), random));
    return builder.weight(name, type);
  }
  // x [T, in] -> [T, out], with integers of x in the blocks of the weight.
  // Every product has a format of its own, so that each packed layout is used in one graph.
  ValueId linear(ValueId x, const std::string& name, DType dtype, int64_t in, int64_t out) {
    const int64_t block = dtype == DType::kQ6_K || dtype == DType::kQ4_K ? 256 : 32;
    const ValueId q = builder.add("quant.dynamic", {x}, {{"block", block}, {"bits", bits}});
    const ValueId d = builder.last_outputs()[1];
    return builder.add("projection.linear", {q, weight(name, dtype, {out, in}), kNoValue, d});
  }
  ValueId norm(ValueId x, const std::string& name) {
    return builder.add("math.rmsnorm", {x, weight(name, DType::kF32, {kHidden})}, {}, name + ".y");
  }
  ValueId heads(ValueId x, int64_t count, bool rotates) {
    const ValueId split =
        builder.add("shape.reshape", {x}, {{"shape", std::vector<int64_t>{-1, count, kHeadDim}}});
    if (!rotates) return split;
    return builder.add("positional.rope_at", {split, positions}, {{"style", "half"}});
  }
  ValueId attention(ValueId x, int64_t layer) {
    const std::string blk = fmt::format("{}.", layer);
    const ValueId q = linear(x, blk + "q", DType::kQ4_0, kHidden, kHeads * kHeadDim);
    const ValueId k = linear(x, blk + "k", DType::kQ8_0, kHidden, kKvHeads * kHeadDim);
    const ValueId v = linear(x, blk + "v", DType::kQ6_K, kHidden, kKvHeads * kHeadDim);
    builder.add("kv.append",
                {heads(k, kKvHeads, true), heads(v, kKvHeads, false), positions, sequences},
                {{"layer", layer}});
    // Layer 0 sees everything, layer 1 a window of 100: both in every run.
    const ValueId out =
        builder.add("attention.cached", {heads(q, kHeads, true), positions, sequences},
                    {{"layer", layer}, {"window", layer * 100}});
    const ValueId merged = builder.add("shape.reshape", {out},
                                       {{"shape", std::vector<int64_t>{-1, kHeads * kHeadDim}}});
    return linear(merged, blk + "o", DType::kQ4_1, kHeads * kHeadDim, kHidden);
  }
  ValueId feed_forward(ValueId x, int64_t layer) {
    const std::string blk = fmt::format("{}.", layer);
    const ValueId gate = linear(x, blk + "gate", DType::kQ4_K, kHidden, kFeedForward);
    const ValueId up = linear(x, blk + "up", DType::kQ4_K, kHidden, kFeedForward);
    const ValueId h = builder.add("activation.swiglu_tensors", {gate, up});
    return linear(h, blk + "down", DType::kQ5_0, kFeedForward, kHidden);
  }
  // The table is both embedding (read in place) and head (packed).
  Graph build(const std::string& cache_type) {
    builder.state({"kv",
                   "kv",
                   {{"layers", kLayers},
                    {"heads", kKvHeads},
                    {"key_dim", kHeadDim},
                    {"value_dim", kHeadDim},
                    {"key_type", cache_type},
                    {"value_type", cache_type}}});
    const ValueId ids = builder.input("tokens", {DType::kI32, {tokens}});
    positions = builder.input("positions", {DType::kI32, {tokens}});
    sequences = builder.input("sequences", {DType::kI32, {tokens}});
    const ValueId rows = builder.input("rows", {DType::kI32, {Dim::symbolic('R')}});
    const ValueId table = weight("embed", DType::kQ8_0, {kVocab, kHidden});
    ValueId x = builder.add("embedding.token", {ids, table});
    for (int64_t layer = 0; layer < kLayers; ++layer) {
      x = builder.add("math.add", {x, attention(norm(x, fmt::format("{}.a", layer)), layer)});
      x = builder.add("math.add", {x, feed_forward(norm(x, fmt::format("{}.f", layer)), layer)});
    }
    x = norm(builder.add("shape.gather_rows", {x, rows}), "final");
    const ValueId q = builder.add("quant.dynamic", {x}, {{"bits", bits}});
    const ValueId d = builder.last_outputs()[1];
    builder.output("logits", builder.add("projection.linear", {q, table, kNoValue, d}));
    auto graph = builder.finish();
    EXPECT_TRUE(graph.has_value()) << graph.error().message;
    return graph ? std::move(*graph) : Graph();
  }
};

// A sequence's token at a position; any rule that is the same in every run.
int32_t token_at(int32_t sequence, int32_t position) {
  return (position * 37 + sequence * 11) % static_cast<int32_t>(kVocab);
}

using Tokens = std::vector<std::pair<int32_t, int32_t>>;  // (sequence, position)

Tensor indices(const std::vector<int32_t>& values) {
  return *Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// Logits of all tokens of a run.
Tensor run(LoadedGraph& loaded, const Tokens& tokens) {
  std::vector<int32_t> ids, positions, sequences, rows;
  std::map<int32_t, int64_t> counts;
  KvStore& store = *loaded.stores.at("kv");
  for (const auto& [sequence, position] : tokens) {
    rows.push_back(static_cast<int32_t>(rows.size()));
    ids.push_back(token_at(sequence, position));
    positions.push_back(position);
    sequences.push_back(sequence);
    ++counts[sequence];
  }
  for (const auto& [sequence, count] : counts) {
    EXPECT_TRUE(store.reserve(sequence, count).has_value());
  }
  auto result = loaded.run({{"tokens", indices(ids)},
                            {"positions", indices(positions)},
                            {"sequences", indices(sequences)},
                            {"rows", indices(rows)}});
  EXPECT_TRUE(result.has_value()) << result.error().message;
  for (const auto& [sequence, count] : counts) {
    EXPECT_TRUE(store.commit(sequence, count).has_value());
  }
  return result ? *result->find("logits") : Tensor();
}

LoadedGraph load(const Graph& graph, const MemoryWeights& weights,
                 const test::LoadOptions& options) {
  auto loaded = load_graph(graph, options, &weights);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(loaded->stores.at("kv")->create_sequence().has_value());
  }
  return std::move(*loaded);
}

test::LoadOptions options_for(const std::string& backend, const std::string& isa, int threads) {
  test::LoadOptions options;
  options.backend = backend;
  options.device.isa = isa;
  options.device.num_threads = threads;
  return options;
}

Tokens span_of(int32_t sequence, int32_t begin, int32_t end) {
  Tokens tokens;
  for (int32_t p = begin; p < end; ++p) tokens.emplace_back(sequence, p);
  return tokens;
}

// Bytes of some rows of logits against rows from `row` on of the whole.
void expect_same_bytes(const std::vector<std::byte>& actual, const Tensor& whole, int64_t row) {
  const auto expected = *whole.read();
  const size_t offset = static_cast<size_t>(row * kVocab) * sizeof(float);
  ASSERT_LE(offset + actual.size(), expected.size());
  EXPECT_TRUE(std::equal(actual.begin(), actual.end(),
                         expected.begin() + static_cast<std::ptrdiff_t>(offset)))
      << "from row " << row;
}

TEST(Transformer, HasTheBitsOfTheReferenceOnEveryLevelAndThreadCount) {
  for (const int64_t bits : {8, 16}) {
    for (const char* cache_type : {"f32", "f16"}) {
      Decoder decoder(bits);
      const Graph graph = decoder.build(cache_type);
      LoadedGraph reference = load(graph, decoder.weights, options_for("reference", "", 1));
      // Past two pages and past the window; the next token decodes.
      const Tensor prompt = run(reference, span_of(0, 0, 140));
      const Tensor next = run(reference, {{0, 140}});
      for (const std::string& isa : test::cpu_isas()) {
        for (const int threads : {1, 2, 3}) {
          SCOPED_TRACE(fmt::format("{} bits, {}, {}, {} threads", bits, cache_type, isa, threads));
          LoadedGraph cpu = load(graph, decoder.weights, options_for("cpu", isa, threads));
          EXPECT_TRUE(same_tensor_bits(run(cpu, span_of(0, 0, 140)), prompt));
          EXPECT_TRUE(same_tensor_bits(run(cpu, {{0, 140}}), next));
        }
      }
    }
  }
}

TEST(Transformer, ChunksOfAPromptGiveTheBitsOfTheWhole) {
  Decoder decoder(16);
  const Graph graph = decoder.build("f32");
  LoadedGraph whole = load(graph, decoder.weights, options_for("cpu", "", 2));
  const Tensor expected = run(whole, span_of(0, 0, 150));
  // Single tokens, an odd step, the page, and all but one.
  for (const int32_t step : {1, 13, 64, 149}) {
    SCOPED_TRACE(fmt::format("chunks of {}", step));
    LoadedGraph cpu = load(graph, decoder.weights, options_for("cpu", "", 3));
    for (int32_t begin = 0; begin < 150; begin += step) {
      const Tensor part = run(cpu, span_of(0, begin, std::min(begin + step, 150)));
      expect_same_bytes(*part.read(), expected, begin);
    }
  }
}

// Tokens of both sequences alternate in one run: each must see its own rows only.
TEST(Transformer, ASequenceGivesTheSameBitsBesideAnother) {
  Decoder decoder(8);
  const Graph graph = decoder.build("f16");
  LoadedGraph alone = load(graph, decoder.weights, options_for("cpu", "", 2));
  const Tensor expected = run(alone, span_of(1, 0, 60));
  LoadedGraph both = load(graph, decoder.weights, options_for("cpu", "", 2));
  Tokens mixed;
  for (int32_t p = 0; p < 60; ++p) {
    mixed.emplace_back(0, p);
    mixed.emplace_back(1, p);
  }
  const auto logits = *run(both, mixed).read();
  const size_t row = static_cast<size_t>(kVocab) * sizeof(float);
  for (int32_t p = 0; p < 60; ++p) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>((2 * p + 1) * row);
    expect_same_bytes({begin, begin + static_cast<std::ptrdiff_t>(row)}, expected, p);
  }
}

}  // namespace
}  // namespace quern
