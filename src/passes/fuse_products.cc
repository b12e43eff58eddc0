// Elementwise groups and the products that feed them.
#include "passes/fuse_products.h"

#include <algorithm>

#include "passes/element_group.h"
#include "passes/fused_nodes.h"
#include "quern/op.h"

namespace quern {
namespace {

// Takes groups of elementwise nodes into the product that feeds them: gated projections first,
// then one projection, then a matrix product.
class ProductFuser {
 public:
  ProductFuser(const Graph& graph, const PassOptions& options)
      : graph_(graph), options_(options), groups_(graph, options), fused_(graph) {}

  Result<Graph> run() {
    // From the end, so that the root is the last node of its chain: bias, activation and residual
    // go into one store.
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      const auto root = static_cast<NodeId>(i);
      if (groups_.is_candidate(root)) try_root(root);
    }
    return fused_.apply();
  }

 private:
  void try_root(NodeId root);
  bool is_product(const ElementGroup& group, ValueId value, std::string_view op) const;
  bool share_input(NodeId a, NodeId b) const;
  void fuse(const ElementGroup& group, std::string_view op, const std::vector<ValueId>& products,
            std::vector<ValueId> inputs, Attributes attributes);
  // Trailing ports that were never given count as absent.
  ValueId port(NodeId node, size_t index) const {
    const auto& inputs = graph_.node(node).inputs;
    return index < inputs.size() ? inputs[index] : kNoValue;
  }
  NodeId producer(ValueId value) const { return graph_.value(value).producer; }

  const Graph& graph_;
  const PassOptions& options_;
  ElementGroups groups_;
  FusedNodes fused_;
};

// A result of `op` that the group alone reads, of the type that the group computes.
bool ProductFuser::is_product(const ElementGroup& group, ValueId value, std::string_view op) const {
  // The product must give the group's own type: a row of it that repeats is an operand like a bias.
  const NodeId id = producer(value);
  const Node& node = graph_.node(id);
  const Node& root = graph_.node(group.root());
  return node.op->id == op && !groups_.is_taken(id) && node.device == root.device &&
         graph_.value(value).type == graph_.value(root.outputs[0]).type &&
         groups_.is_private(group, value);
}

// Two projections that one pass over x can make: the same activations, weights of one shape.
bool ProductFuser::share_input(NodeId a, NodeId b) const {
  // Port 0 is x, 1 the weight [out, in], 2 the bias, 3 the scale of quantised activations.
  return port(a, 0) == port(b, 0) && port(a, 3) == port(b, 3) &&
         graph_.value(port(a, 1)).type == graph_.value(port(b, 1)).type;
}

// The node in place of `group` and `products`; `inputs` come before the group's other inputs.
void ProductFuser::fuse(const ElementGroup& group, std::string_view op,
                        const std::vector<ValueId>& products, std::vector<ValueId> inputs,
                        Attributes attributes) {
  // x0 (and x1, of a gated pair: gate, up) are the products in registers; the outside operands
  // follow in the order in which they stand among the node's inputs.
  std::vector<ValueId> program_inputs = products;
  for (const ValueId input : group.inputs) {
    if (std::ranges::find(products, input) != products.end()) continue;
    program_inputs.push_back(input);
    inputs.push_back(input);
  }
  attributes.set("program", groups_.program_of(group, program_inputs).to_string());
  // Without the root, whose place and name the fused node takes.
  std::vector<NodeId> parts(group.nodes.begin(), group.nodes.end() - 1);
  for (const ValueId product : products) parts.push_back(producer(product));
  for (const NodeId part : parts) groups_.take(part);
  groups_.take(group.root());
  fused_.add(group.root(), {std::string(op), std::move(inputs), std::move(attributes), parts});
}

// The latest product is the one to fuse: its result is the largest value that would wait for the
// group.
void ProductFuser::try_root(NodeId root) {
  const ElementGroup group = groups_.grow(root);
  std::vector<ValueId> linears, matmuls;
  for (const ValueId input : group.inputs) {
    if (is_product(group, input, "projection.linear")) linears.push_back(input);
    if (is_product(group, input, "math.matmul")) matmuls.push_back(input);
  }
  const auto by_node = [&](ValueId value) { return producer(value); };
  // By node and not by operand order: `a + b` and `b + a` fuse alike, and linears.back() is the
  // product that the graph makes last.
  std::ranges::sort(linears, {}, by_node);
  std::ranges::sort(matmuls, {}, by_node);
  // Exactly two: of three projections, which pair to take would be a guess.
  const bool is_gated = linears.size() == 2 && options_.fusions.has("fused.gated_linear") &&
                        share_input(producer(linears[0]), producer(linears[1]));
  if (is_gated) {
    const NodeId gate = producer(linears[0]), up = producer(linears[1]);
    return fuse(
        group, "fused.gated_linear", linears,
        // fused.gated_linear(x, weight, up_weight, bias, up_bias, scale, operands of the
        // program...).
        {port(gate, 0), port(gate, 1), port(up, 1), port(gate, 2), port(up, 2), port(gate, 3)},
        {{"weight_scale", graph_.node(gate).attributes.number("weight_scale")},
         {"up_weight_scale", graph_.node(up).attributes.number("weight_scale")}});
  }
  if (!linears.empty() && options_.fusions.has("fused.linear")) {
    const NodeId linear = producer(linears.back());
    return fuse(group, "fused.linear", {linears.back()},
                {port(linear, 0), port(linear, 1), port(linear, 2), port(linear, 3)},
                {{"weight_scale", graph_.node(linear).attributes.number("weight_scale")}});
  }
  if (!matmuls.empty() && options_.fusions.has("fused.matmul")) {
    const NodeId matmul = producer(matmuls.back());
    fuse(group, "fused.matmul", {matmuls.back()}, {port(matmul, 0), port(matmul, 1)}, {});
  }
}

}  // namespace

// Nothing to do for a backend without such kernels.
Result<Graph> fuse_products(const Graph& graph, const PassOptions& options) {
  const FusionCaps& caps = options.fusions;
  if (!caps.has("fused.linear") && !caps.has("fused.matmul") && !caps.has("fused.gated_linear")) {
    return graph;
  }
  return ProductFuser(graph, options).run();
}

}  // namespace quern
