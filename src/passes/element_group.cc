// Groups grow from the last node upwards.
#include "passes/element_group.h"

#include <algorithm>
#include <map>

#include "quern/op.h"

namespace quern {
namespace {

// Whether an operand can be read beside a result: element by element, or repeated for each row.
// A vector [N] beside a result [..., N] is read anew for each row, as a bias is. Other broadcasts
// would need index arithmetic in every kernel of a program and stay nodes.
bool is_aligned(const TensorType& operand, const TensorType& result) {
  if (operand == result) return true;
  // For a vector result, a vector operand of another type was refused above: it would be of other
  // length.
  return operand.dtype == result.dtype && operand.rank() == 1 && result.rank() > 1 &&
         operand.dims[0] == result.dims.back();
}

}  // namespace

bool ElementGroup::contains(NodeId node) const {
  return std::ranges::binary_search(nodes, node);
}

ElementGroups::ElementGroups(const Graph& graph, const PassOptions& options)
    : graph_(graph),
      options_(options),
      users_(graph, options),
      is_taken_(graph.nodes().size(), false) {}

// A node that can be an instruction of a fused program: elementwise, pure, known to the
// backend's kernels, of floats, and with operands that walk along with its result.
bool ElementGroups::is_candidate(NodeId id) const {
  const Node& node = graph_.node(id);
  // A node in two programs would be computed twice and, worse, its name would go with the first.
  if (is_taken(id) || !node.op->is_elementwise || node.op->effect != Effect::kPure) return false;
  const auto& listed = options_.fusions.program_ops;
  if (std::ranges::find(listed, node.op->id) == listed.end()) return false;
  const TensorType& result = graph_.value(node.outputs[0]).type;
  // Programs run in the compute type of floats; integers wrap and divide by rules of their own.
  return is_float(result.dtype) && std::ranges::all_of(node.inputs, [&](ValueId input) {
           // An optional operand that is absent would shift the meaning of the ports after it.
           return input != kNoValue && is_aligned(graph_.value(input).type, result);
         });
}

// Whether the group alone reads the value, so that it needs no memory once fused.
bool ElementGroups::is_private(const ElementGroup& group, ValueId value) const {
  // A visible value must exist with its name after the pass: its memory cannot be saved.
  return !users_.is_visible(value) &&
         std::ranges::all_of(users_.of(value), [&](NodeId user) { return group.contains(user); });
}

// What the nodes read from outside, each once, in order of first use: the operands of the
// program.
std::vector<ValueId> ElementGroups::inputs_of(const std::vector<NodeId>& nodes) const {
  std::vector<ValueId> inputs;
  for (const NodeId id : nodes) {
    for (const ValueId input : graph_.node(id).inputs) {
      const bool is_inside = std::ranges::binary_search(nodes, graph_.value(input).producer);
      if (!is_inside && std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
    }
  }
  return inputs;
}

// A producer joins if the group alone reads its result, which has the group's type, and the group
// stays within the limits.
bool ElementGroups::can_join(const ElementGroup& group, NodeId id) const {
  if (!is_candidate(id)) return false;
  const Node& node = graph_.node(id);
  const Node& root = graph_.node(group.root());
  const ValueId result = node.outputs[0];
  if (node.device != root.device || !is_private(group, result)) return false;
  // One loop with one element type computes the program; a cast in the middle would change it.
  if (!(graph_.value(result).type == graph_.value(root.outputs[0]).type)) return false;
  std::vector<NodeId> grown = group.nodes;
  grown.insert(std::ranges::upper_bound(grown, id), id);
  // The limits are the backend's: its kernels keep operands and results of a program at hand for
  // each stretch of elements.
  return static_cast<int>(grown.size()) <= options_.fusions.max_instructions &&
         static_cast<int>(inputs_of(grown).size()) <= options_.fusions.max_operands;
}

// Takes producers in until none fits. Adding one may make another private, so it starts over
// each time; groups are a few nodes long.
ElementGroup ElementGroups::grow(NodeId root) const {
  ElementGroup group{{root}, inputs_of({root})};
  bool has_grown = true;
  // Ends: each round adds a node, and the limit on instructions is small.
  while (has_grown) {
    has_grown = false;
    for (const ValueId input : group.inputs) {
      const NodeId producer = graph_.value(input).producer;
      // A producer with two readers joins once both are inside. Order of tries: the operands of the
      // program, so that equal graphs give equal groups.
      if (!can_join(group, producer)) continue;
      group.nodes.insert(std::ranges::upper_bound(group.nodes, producer), producer);
      group.inputs = inputs_of(group.nodes);
      has_grown = true;
      break;
    }
  }
  return group;
}

// Example: nodes {a = exp(x), c = a + b} over {x, b} are "math.exp(x0); math.add(v0, x1)".
// The nodes as instructions over `inputs`, which must hold every outside operand.
FusedProgram ElementGroups::program_of(const ElementGroup& group,
                                       const std::vector<ValueId>& inputs) const {
  FusedProgram program;
  std::map<ValueId, int32_t> results;
  // Ascending ids are topological order, so that an instruction's operands have been numbered.
  for (const NodeId id : group.nodes) {
    const Node& node = graph_.node(id);
    FusedInstruction instruction{node.op, {}, node.attributes};
    for (const ValueId input : node.inputs) {
      using Kind = FusedOperand::Kind;
      const auto result = results.find(input);
      if (result != results.end()) {
        instruction.operands.push_back({Kind::kResult, result->second});
      } else {
        const auto index = std::ranges::find(inputs, input) - inputs.begin();
        instruction.operands.push_back({Kind::kInput, static_cast<int32_t>(index)});
      }
    }
    results[node.outputs[0]] = static_cast<int32_t>(program.instructions.size());
    program.instructions.push_back(std::move(instruction));
  }
  return program;
}

}  // namespace quern
