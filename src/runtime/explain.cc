// Costs against the roof of a device, node by node.
// The model is the roofline: a node takes as long as its traffic or its arithmetic, whichever is
// longer.
#include "runtime/explain.h"

#include <algorithm>
#include <cctype>

#include "quern/op.h"

namespace quern {
namespace {

// There when a run starts.
bool is_bound_before(const Node& node) {
  return node.op->id == "Input" || node.op->id == "graph.weight" || node.op->id == "graph.constant";
}

// Nodes that take time: the plan's steps, or all that compute where there is no plan.
std::vector<NodeId> running_nodes(const Artifact& artifact) {
  std::vector<NodeId> nodes;
  // Dead nodes and views are no steps: they take no time.
  if (const MemoryPlan* plan = artifact.memory_plan()) {
    for (const MemoryStep& step : plan->steps) nodes.push_back(step.node);
    return nodes;
  }
  for (size_t i = 0; i < artifact.graph().nodes().size(); ++i) {
    if (!is_bound_before(artifact.graph().nodes()[i])) nodes.push_back(static_cast<NodeId>(i));
  }
  return nodes;
}

// 0 where the rate is not known.
double divide(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

// The roofline model (Williams, Waterman, Patterson 2009), and the start of the node on top.
void predict(const DeviceRoof& roof, ExplainedNode& node) {
  const double traffic = divide(node.cost.bytes(), roof.bytes_per_second);
  // Float and integer units are added up and not overlapped: most nodes use one of them only.
  const double arithmetic = divide(node.cost.flops, roof.flops_per_second) +
                            divide(node.cost.int_ops, roof.int_ops_per_second);
  node.roof_seconds = std::max(traffic, arithmetic);
  // `step_seconds` is what the device needs for a node without work.
  node.predicted_seconds = node.roof_seconds + roof.step_seconds;
  // Equal, as with unknown rates (0 and 0), counts as memory: most nodes of a model are.
  node.bound = traffic >= arithmetic ? "memory" : "arithmetic";
  if (node.roof_seconds < roof.step_seconds) node.bound = "dispatch";
}

// Nothing where the backend plans no memory.
Result<std::optional<PlanSizes>> sizes_of(const Artifact& artifact, const SymbolValues& symbols) {
  const MemoryPlan* plan = artifact.memory_plan();
  if (plan == nullptr) return std::optional<PlanSizes>{};
  QUERN_ASSIGN_OR_RETURN(const auto shapes, resolve_shapes(artifact.graph(), symbols));
  QUERN_ASSIGN_OR_RETURN(PlanSizes sizes, size_plan(artifact.graph(), *plan, shapes));
  return std::optional(std::move(sizes));
}

}  // namespace

// Parts between other characters that are digits only become '*'.
std::string group_of(std::string_view name) {
  std::string group;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    // Letters and digits make a part: in "q4_0.attn" the '_' ends "q4", so "q4_*.attn", but "q4"
    // stays.
    while (end < name.size() && std::isalnum(static_cast<unsigned char>(name[end])) != 0) ++end;
    const std::string_view part = name.substr(i, end - i);
    const bool is_number = !part.empty() && std::ranges::all_of(part, [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    group += is_number ? std::string_view("*") : part;
    // The character between two parts is kept.
    if (end < name.size()) group += name[end];
    i = end + 1;
  }
  return group;
}

// By the begin of the id; all kernels of one family compete for the same part of the machine.
std::string_view family_of(const OpDef& op) {
  const std::string& id = op.id;
  const auto is_of = [&](std::initializer_list<std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](std::string_view p) { return id.starts_with(p); });
  };
  // Order matters: "fused.linear" must come before the elementwise rest, "Fused" is the composite.
  if (is_of({"projection.", "fused.linear", "fused.gated", "fused.matmul", "math.matmul", "Matmul",
             "experts.linear", "convolution.", "Fused"})) {
    return "products";
  }
  if (is_of({"attention.", "fused.attention", "kv."})) return "attention";
  if (is_of({"math.rmsnorm", "math.layernorm", "math.groupnorm", "normalization.", "quant.",
             "fused.quantize", "math.softmax"})) {
    return "norms and quantisation";
  }
  if (is_of({"embedding.", "shape.", "graph.copy"})) return "moves";
  if (is_of({"positional."})) return "positions";
  return op.is_elementwise || id == "fused.elementwise" ? "elementwise" : "other";
}

// Sums are over the nodes that run.
Result<Explanation> explain(const Artifact& artifact, const Backend& backend,
                            const Capabilities& capabilities, const DeviceRoof& roof,
                            const CostContext& context, std::span<const double> measured) {
  const Graph& graph = artifact.graph();
  QUERN_ASSIGN_OR_RETURN(const auto costs, annotate_cost(graph, context));
  Explanation made{.nodes = {}, .roof = roof, .total = {}, .memory = {}};
  QUERN_ASSIGN_OR_RETURN(made.memory, sizes_of(artifact, context.symbols));
  // From "not measured" to a sum.
  if (!measured.empty()) made.measured_seconds = 0;
  for (const NodeId id : running_nodes(artifact)) {
    const Node& node = graph.node(id);
    const KernelChoice choice = backend.choose_kernel(graph, node, capabilities);
    ExplainedNode row{.name = node.name,
                      .op = node.op->id,
                      .group = group_of(node.name),
                      .family = family_of(*node.op),
                      .device = node.device.empty() ? std::string(backend.name()) : node.device,
                      .kernel = choice.kernel,
                      .reason = choice.reason,
                      .cost = costs[static_cast<size_t>(id)],
                      .bound = ""};
    predict(roof, row);
    if (!measured.empty()) row.measured_seconds = measured[static_cast<size_t>(id)];
    made.total += row.cost;
    made.roof_seconds += row.roof_seconds;
    made.predicted_seconds += row.predicted_seconds;
    // Negative: the node did not run in this profile.
    if (row.measured_seconds > 0) made.measured_seconds += row.measured_seconds;
    made.nodes.push_back(std::move(row));
  }
  return made;
}

}  // namespace quern
