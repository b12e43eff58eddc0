// Composites: the expansion gives the bits of the reference kernel.
#include <gtest/gtest.h>

#include <set>

#include "conformance/case_pattern.h"
#include "conformance/case_values.h"
#include "conformance/error_units.h"
#include "conformance/one_op.h"
#include "ops/op_catalogue.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

// The graph of the expansion, with the inputs and outputs of one_op_graph.
// By hand and not through the pass, whose tests are elsewhere: this one is about the definition.
Result<Graph> expanded(const Graph& graph) {
  GraphBuilder builder(builtin_ops());
  std::vector<ValueId> values(graph.values().size(), kNoValue);
  for (const NodeId id : graph.inputs()) {
    const ValueId value = graph.node(id).outputs[0];
    values[static_cast<size_t>(value)] =
        builder.input(graph.node(id).name, graph.value(value).type);
  }
  Node node = graph.nodes().back();
  for (ValueId& input : node.inputs) {
    if (input != kNoValue) input = values[static_cast<size_t>(input)];
  }
  QUERN_ASSIGN_OR_RETURN(const auto outputs, node.op->expand(builder, node));
  for (size_t i = 0; i < outputs.size(); ++i) builder.output(node.op->outputs[i].name, outputs[i]);
  return builder.finish();
}

TEST(Expansions, HaveTheBitsOfTheReferenceKernel) {
  const BackendRegistry registry = register_backends();
  const Backend& backend = **registry.find("reference");
  const auto device = *backend.open({});
  std::set<std::string> seen;
  for (const CaseRow& row : case_rows()) {
    const auto patterns = parse_case_row(row, builtin_ops());
    ASSERT_TRUE(patterns);
    for (const CasePattern& pattern : *patterns) {
      if (pattern.op->expand == nullptr) continue;
      for (const SymbolValues& sizes : pattern.sizes) {
        SCOPED_TRACE(pattern.op->id + ": " + describe_sizes(pattern, sizes));
        const auto inputs = case_inputs(pattern, sizes, DType::kF32, ValueSet::kNormal, 5);
        ASSERT_TRUE(inputs);
        const auto graph = one_op_graph(builtin_ops(), pattern.op->id, *inputs, pattern.attributes);
        ASSERT_TRUE(graph) << graph.error().message;
        const auto expansion = expanded(*graph);
        ASSERT_TRUE(expansion) << expansion.error().message;
        const auto kernel = run_one_op(backend, *device, *graph, one_op_arguments(*inputs));
        const auto steps = run_one_op(backend, *device, *expansion, one_op_arguments(*inputs));
        ASSERT_TRUE(kernel && steps);
        EXPECT_EQ(bit_difference(steps->values[0].second, kernel->values[0].second), "");
        seen.insert(pattern.op->id);
      }
    }
  }
  // A composite without a case would be untested: the set is spelt out.
  EXPECT_TRUE((std::set<std::string>{"Fused", "attention.gqa", "attention.mqa",
                                     "projection.fused_qkv"}) == seen);
}

// The catalogue's composites have expansions.
TEST(Expansions, AreThereForComposites) {
  for (const RequiredOp& op : required_ops()) {
    if (op.link != OpLink::kComposite) continue;
    EXPECT_NE(builtin_ops().find(op.id)->expand, nullptr) << op.id;
  }
}

}  // namespace
}  // namespace quern
