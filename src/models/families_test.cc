// Tests of every model family: a complete file gives a graph, and a file with a tensor too few, too
// many or of another shape, or a key that nobody reads, is refused by name.
#include <gtest/gtest.h>

#include <set>

#include "models/language_model.h"
#include "quern/op.h"
#include "support/fake_model.h"

namespace quern {
namespace {

using test::FakeModel;

// With default options.
Result<LanguageModel> build(const FakeModel& model, ModelOptions options = {}) {
  return build_language_model(model.metadata, model, options);
}
// Why the model cannot be built.
std::string error(const FakeModel& model) {
  const auto built = build(model);
  return built ? "no error" : built.error().message;
}

// One run for each family of this build.
class Families : public testing::TestWithParam<std::string> {
 protected:
  const FakeModel model_{GetParam()};
};
// Test names may hold no '-': "gpt-oss" becomes "gptoss".
INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(test::fake_architectures()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

// With the inputs, the output and the state of every family.
// 12 and 32 are the fake model's vocabulary and context. The four inputs are the contract of
// LanguageModel: an input more would make every engine's run fail.
TEST_P(Families, ACompleteFileGivesAGraph) {
  const auto built = build(model_);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->architecture, model_.architecture);
  EXPECT_EQ(built->vocab_size, 12);
  EXPECT_EQ(built->context_length, 32);
  EXPECT_EQ(built->activations, Activations::kF32);
  EXPECT_FALSE(built->rotation);
  const Graph& graph = built->graph;
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.outputs()[0].name, "logits");
  EXPECT_EQ(graph.value(graph.outputs()[0].value).type.to_string(), "f32[R, 12]");
  std::set<std::string> inputs;
  for (const NodeId id : graph.inputs()) inputs.insert(graph.node(id).name);
  EXPECT_EQ(inputs, (std::set<std::string>{"output_rows", "positions", "sequences", "tokens"}));
  const StateDecl* kv = graph.find_state("kv");
  ASSERT_NE(kv, nullptr);
  EXPECT_EQ(kv->attributes.integer("layers"), 2);
  EXPECT_EQ(kv->attributes.integer("heads"), 2);
  EXPECT_EQ(kv->attributes.integer("key_dim"), 2);
}

// The text form loses nothing.
// Receipts print graphs and the cache of compiled kernels keys them by hash: both must survive a
// round trip and a second build.
TEST_P(Families, TheTextOfItsGraphComesBack) {
  const Graph graph = build(model_).value().graph;
  const std::string text = print_graph(graph);
  const auto back = parse_graph(text, builtin_ops());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(print_graph(*back), text);
  EXPECT_EQ(semantic_hash(*back), semantic_hash(graph));
  EXPECT_EQ(semantic_hash(build(model_).value().graph), semantic_hash(graph));
}

// Each in turn is taken away.
// A tensor that could go missing unnoticed is one that the graph never reads: for each family, each
// weight of each layer is taken away alone.
TEST_P(Families, EveryTensorIsNeeded) {
  for (const auto& [name, info] : model_.weights) {
    FakeModel model = model_;
    model.weights.erase(name);
    const auto built = build(model);
    ASSERT_FALSE(built) << name;
    EXPECT_EQ(built.error().code, ErrorCode::kNotFound) << name;
    EXPECT_NE(built.error().message.find("'" + name + "'"), std::string::npos)
        << built.error().message;
  }
}

// Each in turn is made wider.
// The last extent is the input width of products and the length of vectors; one more must be
// refused with both shapes in the text.
TEST_P(Families, EveryTensorHasItsShape) {
  for (const auto& [name, info] : model_.weights) {
    if (name == "token_embd.weight") continue;  // its rows are the vocabulary
    FakeModel model = model_;
    Shape shape = info.shape;
    shape[shape.rank() - 1] += 1;
    model.add(name, shape);
    EXPECT_EQ(error(model), "Tensor '" + name + "' has shape " + shape.to_string() +
                                "; the config needs " + info.shape.to_string() + ".");
  }
}

// What a family does not know could change the result.
// A stray tensor is how a variant of an architecture shows itself (a bias, a norm more).
TEST_P(Families, NothingIsIgnored) {
  FakeModel more = model_;
  more.add("blk.0.attn_mystery.weight", Shape{8});
  EXPECT_EQ(error(more),
            "Tensor 'blk.0.attn_mystery.weight' is not used by this model family; running without "
            "it would give wrong results.");
  FakeModel keyed = model_;
  keyed.set_number("attention.mystery", 1.5F);
  EXPECT_EQ(error(keyed), "Key '" + keyed.architecture +
                              ".attention.mystery' is not known to this model family; running "
                              "without it could give wrong results.");
}

// The key and the tensors must agree.
// Three layers lack tensors (not found); one layer leaves those of the second unused.
TEST_P(Families, ALayerTooManyOrTooFewIsRefused) {
  FakeModel model = model_;
  model.set_number("block_count", uint32_t{3});
  EXPECT_EQ(build(model).error().code, ErrorCode::kNotFound);
  model.set_number("block_count", uint32_t{1});
  EXPECT_EQ(build(model).error().code, ErrorCode::kUnimplemented);
}

// Evictable models keep unrotated keys and have a graph that rotates them anew.
// gpt2 has learned positions: there is nothing to rotate, and its rotation graph would be empty.
TEST_P(Families, EvictableModelsRotateAnew) {
  const auto built = build(model_, {.is_evictable = true});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_TRUE(built->graph.find_state("kv")->attributes.flag("keeps_unrotated"));
  const bool has_rotary_positions = GetParam() != "gpt2";
  ASSERT_EQ(built->rotation.has_value(), has_rotary_positions);
  if (!has_rotary_positions) return;
  EXPECT_TRUE(built->rotation->outputs().empty());
  // positions and sequences.
  EXPECT_EQ(built->rotation->inputs().size(), 2U);
}

// What learned positions hold; rotary ones have no end.
TEST_P(Families, OnlyLearnedPositionsEnd) {
  const auto built = build(model_, {});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->position_limit, GetParam() == "gpt2" ? built->context_length : 0);
}

// The store is made from it.
// Two different types, so that a swap of key and value shows.
TEST_P(Families, CacheTypesReachTheState) {
  const auto built = build(model_, {.key_type = DType::kF16, .value_type = DType::kBF16});
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->graph.find_state("kv")->attributes.text("key_type"), "f16");
  EXPECT_EQ(built->graph.find_state("kv")->attributes.text("value_type"), "bf16");
}

// A head of its own instead of the embedding table.
// Same shape as the table: only the name tells them apart, and the hash must change with it.
TEST_P(Families, AnUntiedHeadIsUsed) {
  FakeModel model = model_;
  model.add("output.weight", Shape{12, 8});
  const auto built = build(model);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_NE(built->graph.find_value("output.weight"), kNoValue);
  EXPECT_NE(semantic_hash(built->graph), semantic_hash(build(model_)->graph));
}

// And their shape is checked.
// [9] for an 8-wide output: an optional tensor is judged as strictly as a needed one.
TEST_P(Families, OptionalBiasesAreAdded) {
  FakeModel model = model_;
  model.add("blk.1.attn_output.bias", Shape{8});
  EXPECT_EQ(error(model), "no error");
  model.add("blk.1.attn_output.bias", Shape{9});
  EXPECT_EQ(error(model), "Tensor 'blk.1.attn_output.bias' has shape [9]; the config needs [8].");
}

// With the list of those that are known.
// The list begins with the first families by name; its end would change with each new one.
TEST(ModelFamilies, UnknownOnesAreNotFound) {
  FakeModel model("llama");
  model.metadata.set("general.architecture", MetadataValue::text("abacus"));
  const auto built = build(model);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(built.error().message.starts_with(
      "There is no model family 'abacus'; this build has gemma2, gemma3, "))
      << built.error().message;
  EXPECT_EQ(build_language_model(Metadata(), model, {}).error().code, ErrorCode::kNotFound);
}

// Mistral is a llama with windows.
// Without a pattern key every layer of a llama slides.
TEST(Llama, SlidingWindowsReachAttention) {
  FakeModel model("llama");
  model.set_number("attention.sliding_window", uint32_t{5});
  const auto built = build(model).value();
  for (const Node& node : built.graph.nodes()) {
    if (node.op->id == "attention.cached") {
      EXPECT_EQ(node.attributes.integer("window"), 5);
    }
  }
}

// Without the keys there is no cap.
// 30 and 50 are those of the released models, and differ, so that a swap shows.
TEST(Gemma2, CapsAreAppliedWhereTheFileHasThem) {
  FakeModel model("gemma2");
  EXPECT_EQ(build(model)->graph.find_value("logits_tanh"), kNoValue);
  model.set_number("final_logit_softcapping", 30.0F);
  model.set_number("attn_logit_softcapping", 50.0F);
  const auto built = build(model);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_NE(built->graph.find_value("logits_tanh"), kNoValue);
  for (const Node& node : built->graph.nodes()) {
    if (node.op->id == "attention.cached") {
      EXPECT_EQ(node.attributes.number("soft_cap"), 50.0);
    }
  }
}

// Which set a row takes is known at run time only.
// Factors of [1] suit heads of 2 elements: one pair. The tensors without the key, then with it,
// then with a length of 0, which would make every row long.
TEST(Phi3, LengthFactorsAddAnInput) {
  FakeModel model("phi3");
  model.add("rope_factors_short.weight", Shape{1});
  model.add("rope_factors_long.weight", Shape{1});
  EXPECT_EQ(build(model).error().code, ErrorCode::kNotFound);
  model.set_number("rope.scaling.original_context_length", uint32_t{16});
  const auto built = build(model);
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->long_context_threshold, 16);
  EXPECT_NE(built->graph.find_value("long_context"), kNoValue);
  model.set_number("rope.scaling.original_context_length", uint32_t{0});
  EXPECT_EQ(error(model),
            "Key 'phi3.rope.scaling.original_context_length' is 0; it must be positive.");
}

// There is no dense form of it.
TEST(GptOss, NeedsExperts) {
  FakeModel model("gpt-oss");
  model.set_number("expert_count", uint32_t{0});
  EXPECT_EQ(error(model), "Key 'gpt-oss.expert_count' is absent.");
}

// Logits are divided by it.
TEST(Granite, ALogitScaleOfZeroIsRefused) {
  FakeModel model("granite");
  model.set_number("logit_scale", 0.0F);
  EXPECT_EQ(error(model), "Key 'granite.logit_scale' is 0.");
}

}  // namespace
}  // namespace quern
