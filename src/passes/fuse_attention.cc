// The pattern, matched from the last product upwards.
#include "passes/fuse_attention.h"

#include <algorithm>
#include <optional>

#include "passes/element_group.h"
#include "passes/fused_nodes.h"
#include "quern/op.h"

namespace quern {
namespace {

// Finds matmul, elementwise operations, softmax, matmul. Every value in between must have one
// reader and not be visible, or fusing would lose it.
class AttentionFinder {
 public:
  AttentionFinder(const Graph& graph, const PassOptions& options)
      : graph_(graph), groups_(graph, options) {}

  // The fused node whose root is the product `last`, if the pattern ends there.
  std::optional<FusedNode> match(NodeId last) {
    const Node& product = graph_.node(last);
    if (product.op->id != "math.matmul") return std::nullopt;
    // product.inputs[0] are the shares p [n, m]: softmax over the last axis, read by this product
    // alone.
    const auto softmax = only_producer(product.inputs[0], "math.softmax", product.device);
    if (!softmax) return std::nullopt;
    // The shares as both factors: the second would have nothing to read.
    if (product.inputs[0] == product.inputs[1]) return std::nullopt;
    const ValueId scores = graph_.node(*softmax).inputs[0];
    // The scores come from a group of elementwise operations (scale, mask, bias) or straight from q
    // kt.
    const NodeId maker = graph_.value(scores).producer;
    FusedNode made{"fused.attention", {}, {}, {*softmax}};
    const bool has_matched = groups_.users().is_single(scores) && groups_.is_candidate(maker)
                                 ? match_group(maker, product, made)
                                 : match_plain(scores, product, made);
    if (!has_matched) return std::nullopt;
    // Taken now, although apply() comes later: a product is part of one match at most.
    for (const NodeId part : made.parts) groups_.take(part);
    groups_.take(last);
    return made;
  }

 private:
  // The node that makes a value, if it is of that operation and nobody else reads the value.
  std::optional<NodeId> only_producer(ValueId value, std::string_view op,
                                      const std::string& device) const {
    const NodeId id = graph_.value(value).producer;
    const Node& node = graph_.node(id);
    const bool fits = node.op->id == op && node.device == device && !groups_.is_taken(id) &&
                      groups_.users().is_single(value);
    return fits ? std::optional(id) : std::nullopt;
  }

  // The ports q, kt and v, before the operands of the program.
  void fill(const Node& first, const Node& product, FusedNode& made) const {
    // fused.attention(q [n, k], kt [k, m], v [m, w], operands of the program...).
    made.inputs.insert(made.inputs.begin(), {first.inputs[0], first.inputs[1], product.inputs[1]});
  }

  // Scores straight from the first product.
  bool match_plain(ValueId scores, const Node& product, FusedNode& made) {
    const auto first = only_producer(scores, "math.matmul", product.device);
    if (!first) return false;
    // The empty program is the identity on x0, the score.
    made.attributes.set("program", std::string());
    made.parts.push_back(*first);
    fill(graph_.node(*first), product, made);
    return true;
  }

  // Scores through elementwise operations, which one product feeds.
  bool match_group(NodeId root, const Node& product, FusedNode& made) {
    const ElementGroup group = groups_.grow(root);
    const TensorType& type = graph_.value(graph_.node(root).outputs[0]).type;
    // Only one operand of the group can be the score; the first product in operand order is taken.
    // Others stay operands and are computed in full.
    for (const ValueId input : group.inputs) {
      const NodeId first = graph_.value(input).producer;
      const Node& node = graph_.node(first);
      // The product must give one score for each element of the group, not a row that repeats.
      const bool fits = node.op->id == "math.matmul" && node.device == product.device &&
                        !groups_.is_taken(first) && graph_.value(input).type == type &&
                        groups_.is_private(group, input);
      if (!fits) continue;
      // x0 is the score; the rest follow in the order of made.inputs.
      std::vector<ValueId> program_inputs{input};
      for (const ValueId other : group.inputs) {
        if (other == input) continue;
        program_inputs.push_back(other);
        made.inputs.push_back(other);
      }
      made.attributes.set("program", groups_.program_of(group, program_inputs).to_string());
      made.parts.insert(made.parts.end(), group.nodes.begin(), group.nodes.end());
      made.parts.push_back(first);
      fill(node, product, made);
      return true;
    }
    return false;
  }

  const Graph& graph_;
  ElementGroups groups_;
};

}  // namespace

// From the last node upwards, so that a product is matched as the second factor first.
Result<Graph> fuse_attention(const Graph& graph, const PassOptions& options) {
  if (!options.fusions.has("fused.attention")) return graph;
  AttentionFinder finder(graph, options);
  FusedNodes fused(graph);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (auto made = finder.match(static_cast<NodeId>(i))) {
      fused.add(static_cast<NodeId>(i), std::move(*made));
    }
  }
  return fused.apply();
}

}  // namespace quern
