// Norms and elementwise groups before quant.dynamic.
#include "passes/fuse_quantize.h"

#include "passes/element_group.h"
#include "passes/fused_nodes.h"
#include "quern/op.h"

namespace quern {
namespace {

// The norms whose kernels can quantise each row as they finish it.
bool is_norm(const Node& node) {
  return node.op->id == "math.rmsnorm" || node.op->id == "math.layernorm";
}

// The program of a norm on its own inputs: x0 and, where present, weight and bias.
FusedProgram norm_program(const Node& norm, std::vector<ValueId>& inputs) {
  FusedInstruction instruction{norm.op, {}, norm.attributes};
  // Optional operands keep their port: "math.layernorm(x0, x1, _)" has a weight and no bias.
  for (const ValueId input : norm.inputs) {
    if (input == kNoValue) {
      instruction.operands.emplace_back();
      continue;
    }
    instruction.operands.push_back(
        {FusedOperand::Kind::kInput, static_cast<int32_t>(inputs.size())});
    inputs.push_back(input);
  }
  return {{std::move(instruction)}};
}

}  // namespace

// From the front: a quantisation takes the norm or the elementwise group just before it.
Result<Graph> fuse_quantize(const Graph& graph, const PassOptions& options) {
  if (!options.fusions.has("fused.quantize")) return graph;
  ElementGroups groups(graph, options);
  FusedNodes fused(graph);
  // Front to back, since each quantisation is a root of its own and takes only what precedes it.
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& quantize = graph.nodes()[i];
    // With a second reader the float rows must exist anyway, and fusing would compute them twice.
    if (quantize.op->id != "quant.dynamic" || !groups.users().is_single(quantize.inputs[0])) {
      continue;
    }
    const NodeId before = graph.value(quantize.inputs[0]).producer;
    if (graph.node(before).device != quantize.device) continue;
    FusedNode made{.op = "fused.quantize",
                   .inputs = {},
                   .attributes = {{"block", quantize.attributes.integer("block")},
                                  {"bits", quantize.attributes.integer("bits")}},
                   .parts = {}};
    if (is_norm(graph.node(before))) {
      made.attributes.set("program", norm_program(graph.node(before), made.inputs).to_string());
      made.parts = {before};
    // Not taken by a product before: fuse_products runs first, and a residual in a product's store
    // beats one in front of a quantisation.
    } else if (groups.is_candidate(before)) {
      const ElementGroup group = groups.grow(before);
      made.attributes.set("program", groups.program_of(group, group.inputs).to_string());
      made.inputs = group.inputs;
      made.parts = group.nodes;
    } else {
      continue;
    }
    for (const NodeId part : made.parts) groups.take(part);
    fused.add(static_cast<NodeId>(i), std::move(made));
  }
  return fused.apply();
}

}  // namespace quern
