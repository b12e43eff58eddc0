// Mixtures of experts against the reference.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/op_compare.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using test::load_graph;
using test::random_tensor;
using test::same_result_bits;

// 21 rows are a panel of 16 and a rest; 256 columns one fold.
constexpr int64_t kExperts = 5, kRows = 21, kColumns = 256, kChoices = 2;

struct Mixture {
  DType x = DType::kF32;  // of the input
  DType weight = DType::kF32;
  int64_t bits = 0;  // of quantised activations; 0: floats
  bool has_bias = false;
  bool has_row_per_choice = false;
};

Graph mixture_graph(const Mixture& m) {
  GraphBuilder b(builtin_ops());
  const Dim tokens = Dim::symbolic('T');
  TensorType type{m.x, {tokens, Dim::constant(kColumns)}};
  if (m.has_row_per_choice) type.dims.insert(type.dims.begin() + 1, Dim::constant(kChoices));
  ValueId x = b.input("x", type);
  ValueId scale = kNoValue;
  if (m.bits > 0) {
    const int64_t block = find_block_format(m.weight)->activation_block;
    x = b.add("quant.dynamic", {x}, {{"block", block}, {"bits", m.bits}});
    scale = b.last_outputs()[1];
  }
  const ValueId w = b.weight(
      "w", {m.weight, {Dim::constant(kExperts), Dim::constant(kRows), Dim::constant(kColumns)}});
  const DType result = m.x == DType::kF64 ? DType::kF64 : DType::kF32;
  ValueId bias = kNoValue;
  if (m.has_bias) bias = b.weight("b", {result, {Dim::constant(kExperts), Dim::constant(kRows)}});
  const ValueId experts = b.input("experts", {DType::kI32, {tokens, Dim::constant(kChoices)}});
  const ValueId y = b.add("experts.linear", {x, w, experts, bias, scale});
  const ValueId weights = b.input("weights", {result, {tokens, Dim::constant(kChoices)}});
  b.output("y", y);
  b.output("z", b.add("experts.combine", {y, weights}));
  auto graph = b.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

using Inputs = std::map<std::string, Tensor, std::less<>>;

// Some experts get many tokens and one gets none: groups of every size, the empty one included.
Inputs mixture_inputs(const Mixture& m, int64_t tokens, std::mt19937& random) {
  std::vector<int32_t> chosen(static_cast<size_t>(tokens * kChoices));
  // Expert 4 is never chosen, expert 3 seldom.
  for (int32_t& expert : chosen)
    expert = static_cast<int32_t>(random() % 4) % 3 + (random() % 7 == 0);
  Shape shape{tokens, kColumns};
  if (m.has_row_per_choice) shape = Shape{tokens, kChoices, kColumns};
  const DType result = m.x == DType::kF64 ? DType::kF64 : DType::kF32;
  Inputs inputs;
  inputs["x"] = random_tensor(m.x, shape, random);
  inputs["experts"] = *Tensor::from<int32_t>(DType::kI32, Shape{tokens, kChoices}, chosen);
  inputs["weights"] = random_tensor(result, Shape{tokens, kChoices}, random);
  return inputs;
}

// No token, one, a few and 45: the number at which groups are larger than a tile.
void expect_same_mixture(const Mixture& m) {
  std::mt19937 random(13);
  test::MemoryWeights weights;
  weights.add("w", random_tensor(m.weight, Shape{kExperts, kRows, kColumns}, random));
  const DType result = m.x == DType::kF64 ? DType::kF64 : DType::kF32;
  weights.add("b", random_tensor(result, Shape{kExperts, kRows}, random));
  const Graph graph = mixture_graph(m);
  test::LoadOptions options;
  options.backend = "reference";
  auto reference = load_graph(graph, options, &weights);
  ASSERT_TRUE(reference.has_value()) << reference.error().message;
  options.backend = "cpu";
  for (const std::string& isa : test::cpu_isas()) {
    for (const int threads : {1, 3}) {
      options.device.isa = isa;
      options.device.num_threads = threads;
      auto cpu = load_graph(graph, options, &weights);
      ASSERT_TRUE(cpu.has_value()) << cpu.error().message;
      for (const int64_t tokens : {0, 1, 6, 45}) {
        const Inputs inputs = mixture_inputs(m, tokens, random);
        const auto actual = cpu->run(inputs);
        const auto expected = reference->run(inputs);
        ASSERT_TRUE(actual) << actual.error().message;
        ASSERT_TRUE(expected) << expected.error().message;
        EXPECT_TRUE(same_result_bits(*actual, *expected)) << isa << " T " << tokens;
      }
    }
  }
}

// A row for each choice is how the third product of a mixture is called, after the gate.
TEST(ExpertsLinear, HasTheBitsOfTheReference) {
  for (const bool has_row_per_choice : {false, true}) {
    for (const bool has_bias : {false, true}) {
      SCOPED_TRACE(fmt::format("row per choice {}, bias {}", has_row_per_choice, has_bias));
      Mixture m;
      m.has_row_per_choice = has_row_per_choice;
      m.has_bias = has_bias;
      expect_same_mixture(m);
      m.weight = DType::kQ4_0;
      m.bits = 8;
      expect_same_mixture(m);
      m.weight = DType::kQ6_K;
      m.bits = 16;
      expect_same_mixture(m);
    }
  }
}

TEST(ExpertsLinear, ServesOtherFloats) {
  for (const auto& [x, weight] : std::vector<std::pair<DType, DType>>{
           {DType::kF16, DType::kF16}, {DType::kF64, DType::kF64}, {DType::kF32, DType::kQ8_0}}) {
    Mixture m;
    m.x = x;
    m.weight = weight;
    expect_same_mixture(m);
  }
}

// 5 of experts 0 to 4: the first that does not exist.
TEST(ExpertsLinear, RefusesAnExpertThatIsNotThere) {
  const Graph graph = mixture_graph({});
  std::mt19937 random(13);
  test::MemoryWeights weights;
  weights.add("w", random_tensor(DType::kF32, Shape{kExperts, kRows, kColumns}, random));
  auto cpu = load_graph(graph, {}, &weights);
  ASSERT_TRUE(cpu.has_value());
  Inputs inputs = mixture_inputs({}, 1, random);
  const std::vector<int32_t> wrong = {0, 5};
  inputs["experts"] = *Tensor::from<int32_t>(DType::kI32, Shape{1, 2}, wrong);
  const auto result = cpu->run(inputs);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("Expert 5 at position 1 is outside the 5 experts."),
            std::string::npos)
      << result.error().message;
}

}  // namespace
}  // namespace quern
