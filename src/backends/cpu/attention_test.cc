// kv.append and attention.cached against the reference, over chunks, batches, threads and levels.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "base/thread_pool.h"
#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"

namespace quern {
namespace {

using test::load_graph;
using test::LoadedGraph;
using test::random_tensor;
using test::same_tensor_bits;

// What one case varies; the defaults are grouped queries of 3 heads for each of 2 key heads. Layer
// 1 of 2 is used, so that a kernel which forgets the layer reads rows of zeros.
struct Layout {
  int64_t kv_heads = 2;
  int64_t group = 3;
  int64_t key_dim = 64;
  int64_t value_dim = 64;
  std::string key_type = "f32";
  std::string value_type = "f32";
  DType dtype = DType::kF32;
  bool has_sinks = false;
  Attributes attention = {{"layer", int64_t{1}}};
};

// Appends k and v, then attends with q, in layer 1 of 2.
Graph attention_graph(const Layout& layout) {
  GraphBuilder b(builtin_ops());
  b.state({"kv",
           "kv",
           {{"layers", int64_t{2}},
            {"heads", layout.kv_heads},
            {"key_dim", layout.key_dim},
            {"value_dim", layout.value_dim},
            {"key_type", layout.key_type},
            {"value_type", layout.value_type}}});
  const Dim tokens = Dim::symbolic('T');
  const auto rows = [&](int64_t heads, int64_t dim) {
    return TensorType{layout.dtype, {tokens, Dim::constant(heads), Dim::constant(dim)}};
  };
  const int64_t query_heads = layout.kv_heads * layout.group;
  const ValueId q = b.input("q", rows(query_heads, layout.key_dim));
  const ValueId k = b.input("k", rows(layout.kv_heads, layout.key_dim));
  const ValueId v = b.input("v", rows(layout.kv_heads, layout.value_dim));
  const ValueId positions = b.input("positions", {DType::kI32, {tokens}});
  const ValueId sequences = b.input("sequences", {DType::kI32, {tokens}});
  ValueId sinks = kNoValue;
  if (layout.has_sinks) sinks = b.input("sinks", {layout.dtype, {Dim::constant(query_heads)}});
  b.add("kv.append", {k, v, positions, sequences}, {{"layer", int64_t{1}}});
  b.output("out", b.add("attention.cached", {q, positions, sequences, sinks}, layout.attention));
  auto graph = b.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

// Tokens of a run: (sequence, position).
using Tokens = std::vector<std::pair<int32_t, int32_t>>;

struct Rows {
  Tensor q, k, v;
};

// Row (sequence, position) of q, k, v is the same in every run, chunked or not.
// The same row for the same (sequence, position): chunks of a prompt can then be compared with the
// whole of it.
class Source {
 public:
  explicit Source(const Layout& layout) : layout_(layout) {}

  std::map<std::string, Tensor, std::less<>> inputs(const Tokens& tokens) const {
    const int64_t query_heads = layout_.kv_heads * layout_.group;
    std::map<std::string, Tensor, std::less<>> made;
    made["q"] = rows(tokens, query_heads, layout_.key_dim, 1);
    made["k"] = rows(tokens, layout_.kv_heads, layout_.key_dim, 2);
    made["v"] = rows(tokens, layout_.kv_heads, layout_.value_dim, 3);
    std::vector<int32_t> positions, sequences;
    for (const auto& [sequence, position] : tokens) {
      sequences.push_back(sequence);
      positions.push_back(position);
    }
    const Shape shape{static_cast<int64_t>(tokens.size())};
    made["positions"] = *Tensor::from<int32_t>(DType::kI32, shape, positions);
    made["sequences"] = *Tensor::from<int32_t>(DType::kI32, shape, sequences);
    if (layout_.has_sinks) {
      std::mt19937 random(4);
      made["sinks"] = random_tensor(layout_.dtype, Shape{query_heads}, random);
    }
    return made;
  }

 private:
  Tensor rows(const Tokens& tokens, int64_t heads, int64_t dim, uint32_t kind) const {
    std::vector<std::byte> bytes;
    for (const auto& [sequence, position] : tokens) {
      // Every row has a generator of its own: the seed leaves room for 8 sequences of 8 kinds.
      std::mt19937 random(static_cast<uint32_t>(position) * 64 +
                          static_cast<uint32_t>(sequence) * 8 + kind);
      const auto row = random_tensor(layout_.dtype, Shape{heads, dim}, random).read();
      bytes.insert(bytes.end(), row->begin(), row->end());
    }
    const Shape shape{static_cast<int64_t>(tokens.size()), heads, dim};
    return *Tensor::from_bytes(layout_.dtype, shape, bytes);
  }

  const Layout& layout_;
};

// A loaded graph with two sequences; each run reserves and commits its tokens.
class Session {
 public:
  Session(const Layout& layout, const Graph& graph, const test::LoadOptions& options)
      : source_(layout) {
    auto loaded = load_graph(graph, options);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    loaded_ = std::move(*loaded);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(store().create_sequence().has_value());
  }

  Tensor run(const Tokens& tokens) {
    std::map<int32_t, int64_t> counts;
    for (const auto& [sequence, position] : tokens) ++counts[sequence];
    for (const auto& [sequence, count] : counts) {
      EXPECT_TRUE(store().reserve(sequence, count).has_value());
    }
    auto result = loaded_.run(source_.inputs(tokens));
    EXPECT_TRUE(result.has_value()) << result.error().message;
    for (const auto& [sequence, count] : counts) {
      EXPECT_TRUE(store().commit(sequence, count).has_value());
    }
    return result ? *result->find("out") : Tensor();
  }

  LoadedGraph& loaded() { return loaded_; }
  KvStore& store() { return *loaded_.stores.at("kv"); }

 private:
  Source source_;
  LoadedGraph loaded_;
};

test::LoadOptions reference() {
  test::LoadOptions options;
  options.backend = "reference";
  return options;
}
test::LoadOptions cpu(std::string isa, int threads) {
  test::LoadOptions options;
  options.device.isa = std::move(isa);
  options.device.num_threads = threads;
  return options;
}

// Positions [begin, end) of one sequence.
Tokens span_of(int32_t sequence, int32_t begin, int32_t end) {
  Tokens tokens;
  for (int32_t p = begin; p < end; ++p) tokens.emplace_back(sequence, p);
  return tokens;
}
Tokens operator+(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Runs the chunks on both backends and compares each result.
// Every level of the machine, alone and with three threads.
void expect_reference_bits(const Layout& layout, const std::vector<Tokens>& chunks) {
  const Graph graph = attention_graph(layout);
  Session expected_session(layout, graph, reference());
  std::vector<Tensor> expected;
  for (const Tokens& chunk : chunks) expected.push_back(expected_session.run(chunk));
  for (const std::string& isa : test::cpu_isas()) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} with {} threads", isa, threads));
      Session session(layout, graph, cpu(isa, threads));
      for (size_t i = 0; i < chunks.size(); ++i) {
        EXPECT_TRUE(same_tensor_bits(session.run(chunks[i]), expected[i])) << "chunk " << i;
      }
    }
  }
}

// A prompt over several pages, two more chunks, single tokens, two sequences at once.
// 70 and 130 cross the page border of 64 rows and the inner chunk; single tokens take the path of
// decoding; the fourth chunk decodes after a mixed one.
const std::vector<Tokens> kMixedChunks = {span_of(0, 0, 70), span_of(0, 70, 71) + span_of(1, 0, 1),
                                          span_of(1, 1, 40) + span_of(0, 71, 80),
                                          span_of(0, 80, 81),
                                          span_of(0, 81, 130) + span_of(1, 40, 66)};

TEST(AttentionCached, HasTheBitsOfTheReferenceOverChunksAndSequences) {
  expect_reference_bits({}, kMixedChunks);
}

// Heads of one element, odd, wider than the fold of 256 (576 and 512), one group and 71 of them
// (more query heads than a tile holds); 67 rows fill a page and begin another.
TEST(AttentionCached, ServesAllShapesOfHeads) {
  for (const auto& [kv_heads, group, key_dim, value_dim] :
       std::vector<std::array<int64_t, 4>>{{1, 1, 64, 64},
                                           {2, 4, 8, 8},
                                           {1, 7, 80, 48},
                                           {3, 1, 128, 128},
                                           {1, 2, 33, 17},
                                           {1, 2, 576, 512},
                                           {1, 1, 1, 1},
                                           {1, 71, 16, 16}}) {
    SCOPED_TRACE(fmt::format("{} x {} heads, dims {} and {}", kv_heads, group, key_dim, value_dim));
    Layout layout;
    layout.kv_heads = kv_heads;
    layout.group = group;
    layout.key_dim = key_dim;
    layout.value_dim = value_dim;
    expect_reference_bits(layout, {span_of(0, 0, 67), span_of(0, 67, 68), span_of(1, 0, 5)});
  }
}

// 72 and 40 are no multiples of 32: the last block of a quantised row is padded. 66 rows end 2 into
// the second page.
TEST(AttentionCached, ServesAllCacheTypes) {
  for (const auto* key_type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    for (const auto* value_type : {"f32", "f16", "bf16", "q8_0"}) {
      SCOPED_TRACE(fmt::format("keys {}, values {}", key_type, value_type));
      Layout layout;
      layout.key_type = key_type;
      layout.value_type = value_type;
      expect_reference_bits(layout, {span_of(0, 0, 66), span_of(0, 66, 67)});
      layout.value_dim = 40;
      layout.key_dim = 72;
      expect_reference_bits(layout, {span_of(0, 0, 66), span_of(0, 66, 67)});
    }
  }
}

// A token of 1 to 13 heads, and of 24: tiles of every height, alone and after others, over two
// pages and a bit, in the types that kernels read each in its own way.
TEST(AttentionCached, ServesEveryNumberOfRows) {
  for (const auto* type : {"f32", "f16", "bf16", "q8_0", "q4_0"}) {
    for (const int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 24}) {
      SCOPED_TRACE(fmt::format("{} rows, {}", group, type));
      Layout layout;
      layout.kv_heads = 1;
      layout.group = group;
      layout.key_dim = 32;
      layout.value_dim = 96;
      layout.key_type = type;
      layout.value_type = type;
      expect_reference_bits(layout, {span_of(0, 0, 130), span_of(0, 130, 131)});
    }
  }
}

// 600 columns are two whole folds of 256 and a short one.
// Several blocks of 256 fold; queries of 8 and of 16 bits.
TEST(AttentionCached, FoldsTheTermsOfQuantisedKeys) {
  for (const auto* key_type : {"q8_0", "q4_0"}) {
    for (const int64_t bits : {8, 16}) {
      SCOPED_TRACE(fmt::format("keys {}, {} bits", key_type, bits));
      Layout layout;
      layout.kv_heads = 1;
      layout.group = 7;
      layout.key_dim = 600;
      layout.value_dim = 40;
      layout.key_type = key_type;
      layout.value_type = "q4_0";
      layout.attention.set("query_bits", bits);
      expect_reference_bits(layout, {span_of(0, 0, 67), span_of(0, 67, 68), span_of(1, 0, 5)});
    }
  }
}

TEST(AttentionCached, ServesNarrowQueries) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Layout layout;
    layout.dtype = dtype;
    layout.has_sinks = true;
    layout.key_type = "f16";
    expect_reference_bits(layout, {span_of(0, 0, 66), span_of(0, 66, 67)});
  }
}

// Windows of one key, below, at and above the chunk of 64, and wider than most rows: each border of
// masks and chunks. Even windows have a sink, which joins after the last chunk.
TEST(AttentionCached, ServesWindowsCapsScalesAndSinks) {
  for (const int64_t window : {1, 5, 63, 64, 65, 100}) {
    Layout layout;
    layout.attention.set("window", window);
    layout.has_sinks = window % 2 == 0;
    expect_reference_bits(layout, kMixedChunks);
  }
  Layout layout;
  layout.attention.set("soft_cap", 2.5);
  layout.attention.set("scale", 0.3);
  layout.has_sinks = true;
  expect_reference_bits(layout, kMixedChunks);
}

// Few tokens over many keys: outer chunks of 512 keys go to different threads.
// 1,500 keys are two whole outer chunks of 512 and a part; 1,536 = 3 * 512 is the exact border, and
// 1,537 begins a fourth. A window of 700 begins inside an outer chunk.
TEST(AttentionCached, LongContextsHaveTheBitsOfTheReference) {
  Layout layout;
  layout.kv_heads = 1;
  layout.key_dim = 16;
  layout.value_dim = 16;
  const std::vector<Tokens> chunks = {span_of(0, 0, 1500), span_of(0, 1500, 1501),
                                      span_of(0, 1501, 1536) + span_of(1, 0, 3),
                                      span_of(0, 1536, 1537), span_of(0, 1537, 1540)};
  expect_reference_bits(layout, chunks);
  layout.attention.set("window", int64_t{700});
  layout.has_sinks = true;
  expect_reference_bits(layout, chunks);
}

// Steps of 1, of a prime, of exactly the chunk and of more than it, with another number of threads
// than the whole prompt had: the promise that no split changes a bit.
TEST(AttentionCached, TheSplitOfAPromptDoesNotChangeBits) {
  for (const auto* type : {"f32", "f16", "q8_0"}) {
    Layout layout;
    layout.key_type = type;
    layout.value_type = type;
    const Graph graph = attention_graph(layout);
    Session whole(layout, graph, cpu("", 2));
    const auto expected = *whole.run(span_of(0, 0, 150)).read();
    for (const int32_t step : {1, 7, 64, 100}) {
      Session session(layout, graph, cpu("", 3));
      std::vector<std::byte> joined;
      for (int32_t begin = 0; begin < 150; begin += step) {
        const auto part = session.run(span_of(0, begin, std::min(begin + step, 150))).read();
        joined.insert(joined.end(), part->begin(), part->end());
      }
      EXPECT_EQ(joined, expected) << "chunks of " << step;
    }
  }
}

// Byte 12 is the fourth float of the row's first head. Tokens 20 and 70 lie in different pages;
// tokens before 20 must stay finite, and later ones get what the reference gives.
// Rows with infinities and NaN: masked keys must not touch rows that do not see them.
TEST(AttentionCached, ANonFiniteRowOnlyChangesTheTokensThatSeeIt) {
  Layout layout;
  const Graph graph = attention_graph(layout);
  const Source source(layout);
  const Tokens tokens = span_of(0, 0, 90);
  for (const char* port : {"k", "v"}) {
    for (const float value :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
      auto inputs = source.inputs(tokens);
      const int64_t row_bytes = layout.kv_heads * 64 * 4;
      for (const int64_t token : {20, 70}) {
        const std::vector<float> wrong(1, value);
        ASSERT_TRUE(inputs.at(port).buffer().write(token * row_bytes + 12,
                                                   std::as_bytes(std::span(wrong))));
      }
      const auto run = [&](const test::LoadOptions& options) {
        auto loaded = load_graph(graph, options);
        EXPECT_TRUE(loaded->stores.at("kv")->create_sequence().has_value());
        EXPECT_TRUE(loaded->stores.at("kv")->reserve(0, 90).has_value());
        auto result = loaded->run(inputs);
        EXPECT_TRUE(result.has_value());
        return result ? *result->find("out") : Tensor();
      };
      const Tensor expected = run(reference());
      for (const std::string& isa : test::cpu_isas()) {
        EXPECT_TRUE(same_tensor_bits(run(cpu(isa, 2)), expected)) << port << value << isa;
      }
    }
  }
}

// Sequences that do not exist, a negative position and one beyond the 8 reserved rows: a kernel
// that wrote there would corrupt memory.
TEST(KvAppend, RefusesPlacesThatTheCacheDoesNotHave) {
  Layout layout;
  const Graph graph = attention_graph(layout);
  for (const auto& [sequence, position] :
       std::vector<std::pair<int32_t, int32_t>>{{9, 0}, {-1, 0}, {0, -1}, {0, 8}}) {
    const auto run = [&](const test::LoadOptions& options) {
      Session session(layout, graph, options);
      EXPECT_TRUE(session.store().reserve(0, 8).has_value());
      return session.loaded().run(Source(layout).inputs({{sequence, position}}));
    };
    const auto expected = run(reference());
    const auto actual = run(cpu("", 2));
    ASSERT_FALSE(actual);
    EXPECT_EQ(actual.error().code, expected.error().code);
    EXPECT_NE(actual.error().message.find("Token 0"), std::string::npos) << actual.error().message;
  }
}

// 4 key heads where the graph has 2: rows would be read at wrong strides.
TEST(CpuExecutable, NamesAStoreOfOtherDimensions) {
  Layout layout;
  const Graph graph = attention_graph(layout);
  auto loaded = load_graph(graph, cpu("", 1));
  ASSERT_TRUE(loaded.has_value());
  Layout other;
  other.kv_heads = 4;
  auto wrong = loaded->device->make_kv_store(attention_graph(other).states()[0]);
  ASSERT_TRUE(wrong.has_value());
  loaded->stores.at("kv") = std::move(*wrong);
  const auto result = loaded->run(Source(layout).inputs({{0, 0}}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "State 'kv' has heads = 2; the store bound to it has 4.");
}

}  // namespace
}  // namespace quern
