// How often each operation stands in the graph of a family, against the counts of its paper, and
// what options and adapters add.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "models/adapter.h"
#include "models/language_model.h"
#include "quern/op.h"
#include "support/fake_model.h"

namespace quern {
namespace {

using test::FakeModel;

// By id, weights and inputs included.
std::map<std::string, int> operations_of(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[node.op->id];
  return counts;
}

Graph graph_of(const FakeModel& model, const ModelOptions& options = {}) {
  auto built = build_language_model(model.metadata, model, options);
  EXPECT_TRUE(built) << (built ? "" : built.error().message);
  return std::move(built->graph);
}

// For each of the two layers, but for the norm and the product at the end.
struct FamilyCase {
  const char* family;
  int rms_norms = 0;
  int layer_norms = 0;
  int products = 0;         // with matrices, the experts' apart
  int expert_products = 0;  // of all experts that a token chose
  int rotations = 2;        // of queries and keys
};

// The numbers come from the papers' block diagrams, not from the code: 7 products are q, k, v, o,
// gate, up, down; a mixture has 5, with its router, and 3 by expert; phi3 fuses to qkv, o, gate_up,
// down; gpt2 to qkv, o, up, down. Norms: two a block, two more on q and k heads (qwen3, gemma3,
// olmo2) or behind the branches (gemma, olmo2).
TEST(Structure, LayersHaveTheOperationsOfTheirPaper) {
  const FamilyCase cases[] = {
      {.family = "llama", .rms_norms = 2, .products = 7},
      {.family = "mixtral", .rms_norms = 2, .products = 5, .expert_products = 3},
      {.family = "qwen2", .rms_norms = 2, .products = 7},
      {.family = "qwen3", .rms_norms = 4, .products = 7},
      {.family = "qwen3moe", .rms_norms = 4, .products = 5, .expert_products = 3},
      {.family = "gemma2", .rms_norms = 4, .products = 7},
      {.family = "gemma3", .rms_norms = 6, .products = 7},
      {.family = "granite", .rms_norms = 2, .products = 7},
      {.family = "olmo2", .rms_norms = 4, .products = 7},
      {.family = "phi3", .rms_norms = 2, .products = 4},
      {.family = "gpt-oss", .rms_norms = 2, .products = 5, .expert_products = 3},
      {.family = "gpt2", .layer_norms = 2, .products = 4, .rotations = 0},
      {.family = "starcoder2", .layer_norms = 2, .products = 6},
  };
  size_t num_families = 0;
  for (const FamilyCase& c : cases) {
    SCOPED_TRACE(c.family);
    auto counts = operations_of(graph_of(FakeModel(c.family)));
    // Two layers and the norm before the head.
    EXPECT_EQ(counts["math.rmsnorm"], c.rms_norms > 0 ? 2 * c.rms_norms + 1 : 0);
    EXPECT_EQ(counts["math.layernorm"], c.layer_norms > 0 ? 2 * c.layer_norms + 1 : 0);
    EXPECT_EQ(counts["projection.linear"], 2 * c.products + 1);
    EXPECT_EQ(counts["experts.linear"], 2 * c.expert_products);
    EXPECT_EQ(counts["positional.rope_at"], 2 * c.rotations);
    EXPECT_EQ(counts["attention.cached"], 2);
    EXPECT_EQ(counts["kv.append"], 2);
    ++num_families;
  }
  // A new family must get a line here.
  EXPECT_EQ(num_families, test::fake_architectures().size());
}

// Each layer reads and writes its own part of the cache.
// A layer index that is off by one would still run: two layers would share rows of the cache.
TEST(Structure, LayersUseTheirPartOfTheCache) {
  for (const std::string& family : test::fake_architectures()) {
    const Graph graph = graph_of(FakeModel(family));
    std::map<int64_t, int> appends, reads;
    for (const Node& node : graph.nodes()) {
      if (node.op->id == "kv.append") ++appends[node.attributes.integer("layer")];
      if (node.op->id == "attention.cached") ++reads[node.attributes.integer("layer")];
    }
    EXPECT_EQ(appends, (std::map<int64_t, int>{{0, 1}, {1, 1}})) << family;
    EXPECT_EQ(reads, appends) << family;
  }
}

// At least once and not exactly: tied tables stand for embedding and head.
TEST(Structure, EveryWeightIsNamedOnceAndUsed) {
  for (const std::string& family : test::fake_architectures()) {
    const FakeModel model(family);
    const Graph graph = graph_of(model);
    std::map<std::string, int> named;
    for (const Node& node : graph.nodes()) {
      if (node.op->id == "graph.weight") ++named[std::string(node.attributes.text("weight"))];
    }
    for (const auto& [name, info] : model.weights) EXPECT_GE(named[name], 1) << family << name;
  }
}

// Only block formats are multiplied with quantised activations.
// Hidden is raised from 8 to 32, the block of q8_0, and heads to 8 elements, so that attention
// keeps 4 heads. One weight is q8_0, and exactly one quant.dynamic must appear, with the option's
// bits.
TEST(Structure, QuantisedWeightsTakeQuantisedActivations) {
  FakeModel model("llama");
  model.set_number("embedding_length", uint32_t{32});
  for (auto& [name, info] : model.weights) {
    for (int i = 0; i < static_cast<int>(info.shape.rank()); ++i) {
      if (info.shape[i] == 8) info.shape[i] = 32;
    }
  }
  model.set_number("attention.key_length", uint32_t{8});
  model.add("blk.0.attn_q.weight", Shape{32, 32}, DType::kQ8_0);
  for (const auto& [name, rows] : {std::pair("attn_k", 16), std::pair("attn_v", 16)}) {
    for (int layer = 0; layer < 2; ++layer) {
      model.add(fmt::format("blk.{}.{}.weight", layer, name), Shape{rows, 32});
    }
  }
  for (const auto& [activations, bits] :
       {std::pair(Activations::kInt8, 8), std::pair(Activations::kInt16, 16)}) {
    auto built = build_language_model(model.metadata, model, {.activations = activations});
    ASSERT_TRUE(built) << built.error().message;
    int count = 0;
    for (const Node& node : built->graph.nodes()) {
      if (node.op->id != "quant.dynamic") continue;
      EXPECT_EQ(node.attributes.integer("bits"), bits);
      ++count;
    }
    EXPECT_EQ(count, 1);  // one weight has blocks
  }
  EXPECT_EQ(operations_of(graph_of(model, {.activations = Activations::kF32}))["quant.dynamic"], 0);
}

// Two products, a scale and an addition for each product that the adapter changes.
// Rank 2 and alpha 4: factor 2. Two adapted products: four small products, two scales, two sums.
TEST(Structure, AdaptersAddToTheProductsThatTheyName) {
  const FakeModel model("llama");
  auto low_rank = std::make_shared<FakeModel>("llama");
  low_rank->weights.clear();
  for (const char* layer : {"0", "1"}) {
    low_rank->add(fmt::format("blk.{}.attn_q.weight.lora_a", layer), Shape{2, 8});
    low_rank->add(fmt::format("blk.{}.attn_q.weight.lora_b", layer), Shape{8, 2});
  }
  auto adapter = std::make_shared<Adapter>();
  adapter->prefix = "lora.0/";
  adapter->weights = low_rank;
  adapter->alpha = 4;
  ModelOptions options;
  options.adapters = {adapter};
  auto plain = operations_of(graph_of(model));
  auto adapted = operations_of(graph_of(model, options));
  EXPECT_EQ(adapted["projection.linear"], plain["projection.linear"] + 4);
  EXPECT_EQ(adapted["math.scale"], plain["math.scale"] + 2);
  EXPECT_EQ(adapted["math.add"], plain["math.add"] + 2);
  const Graph graph = graph_of(model, options);
  for (const Node& node : graph.nodes()) {
    if (node.op->id == "math.scale") {
      EXPECT_EQ(node.attributes.number("factor"), 2.0);  // alpha ÷ rank
    }
  }
}

// The shapes of A and B are checked against the product that they join, each by its own name.
TEST(Structure, AdaptersThatDoNotFitAreRefusedByName) {
  const FakeModel model("llama");
  const auto error = [&](const char* name, const Shape& a, const Shape& b) {
    auto low_rank = std::make_shared<FakeModel>("llama");
    low_rank->weights.clear();
    low_rank->add(std::string(name) + ".lora_a", a);
    low_rank->add(std::string(name) + ".lora_b", b);
    auto adapter = std::make_shared<Adapter>();
    adapter->prefix = "lora.0/";
    adapter->weights = low_rank;
    ModelOptions options;
    options.adapters = {adapter};
    const auto built = build_language_model(model.metadata, model, options);
    return built ? "no error" : built.error().message;
  };
  EXPECT_EQ(error("blk.0.attn_q.weight", Shape{2, 8}, Shape{8, 2}), "no error");
  EXPECT_EQ(error("blk.0.attn_q.weight", Shape{2, 9}, Shape{8, 2}),
            "Tensor 'lora.0/blk.0.attn_q.weight.lora_a' has shape [2, 9]; the config needs [2, "
            "8].");
  EXPECT_EQ(error("blk.0.attn_q.weight", Shape{2, 8}, Shape{8, 3}),
            "Tensor 'lora.0/blk.0.attn_q.weight.lora_b' has shape [8, 3]; the config needs [8, "
            "2].");
  // A product that the model does not have would be lost in silence.
  const std::string unused = error("blk.7.attn_q.weight", Shape{2, 8}, Shape{8, 2});
  EXPECT_NE(unused.find("'lora.0/blk.7.attn_q.weight.lora_a'"), std::string::npos) << unused;
}

// The same file and options give the same graph: receipts and caches rely on it.
// The other half of the claim: a different cache type is a different graph.
TEST(Structure, BuildingIsDeterministic) {
  for (const std::string& family : test::fake_architectures()) {
    const FakeModel model(family);
    EXPECT_EQ(semantic_hash(graph_of(model)), semantic_hash(graph_of(model))) << family;
    EXPECT_NE(semantic_hash(graph_of(model)),
              semantic_hash(graph_of(model, {.key_type = DType::kF16})))
        << family;
  }
}

}  // namespace
}  // namespace quern
