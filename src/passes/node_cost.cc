// Formulas by kind of operation.
#include "passes/node_cost.h"

#include <algorithm>

#include "ops/fused_program.h"
#include "passes/memory_plan.h"
#include "quern/op.h"
#include "quern/tensor.h"

namespace quern {
namespace {

// Additions and multiplications that a function of one element stands for: what its polynomial
// takes, roughly. Divisions and roots take several cycles.
constexpr double kCheap = 1;
constexpr double kDivision = 4;
constexpr double kFunction = 20;

// The operation that an alias stands for, which has the same cost.
const std::string& meaning(const OpDef& op) {
  return op.alias_of.empty() ? op.id : op.alias_of;
}

// Operations for one element; whatever is not listed counts as a function.
double element_flops(const OpDef& op) {
  static constexpr std::string_view kArithmetic[] = {"activation.leaky_relu",
                                                     "activation.linglu_tensors",
                                                     "activation.prelu",
                                                     "activation.relu",
                                                     "activation.reglu_tensors",
                                                     "activation.threshold",
                                                     "elementwise.abs",
                                                     "elementwise.axpy",
                                                     "elementwise.max",
                                                     "elementwise.min",
                                                     "elementwise.neg",
                                                     "elementwise.sub",
                                                     "math.add",
                                                     "math.mul",
                                                     "math.scale",
                                                     "math.sign"};
  const std::string& id = meaning(op);
  if (std::ranges::find(kArithmetic, id) != std::end(kArithmetic)) return kCheap;
  if (id == "elementwise.div" || id == "elementwise.sqrt") return kDivision;
  return kFunction;
}

// Of rows that norms and the like walk over, for each element.
double row_flops(std::string_view id) {
  // Square and add for the mean, then two multiplications.
  if (id == "math.rmsnorm") return 4;
  // Mean (1), difference, square and add (3), scale by inv (1), weight and bias (2).
  if (id.starts_with("math.layernorm") || id == "math.groupnorm") return 7;
  if (id.starts_with("normalization.")) return 7;
  // Magnitude and maximum, then scaling and rounding.
  if (id == "quant.dynamic") return 4;
  // An exponential, the maximum before it, difference, sum and share.
  if (id == "math.softmax" || id == "activation.log_softmax") return kFunction + 4;
  if (id == "math.logsumexp") return kFunction + 2;
  // (x0 c - x1 s, x0 s + x1 c): six operations for two elements.
  if (id.starts_with("positional.rope")) return 3;
  return 0;
}

// Adds up the arithmetic and the traffic of one node. The numbers feed reports and comparisons:
// they must be right in proportion, not to the operation.
class CostEstimator {
 public:
  CostEstimator(const Graph& graph, std::vector<Shape> shapes, const CostContext& context)
      : graph_(graph), shapes_(std::move(shapes)), context_(context) {}

  NodeCost cost_of(const Node& node) const;

 private:
  const Shape& shape(ValueId value) const { return shapes_[static_cast<size_t>(value)]; }
  const Shape& input(const Node& node, size_t port) const { return shape(node.inputs[port]); }
  bool has(const Node& node, size_t port) const {
    return port < node.inputs.size() && node.inputs[port] != kNoValue;
  }
  DType dtype(const Node& node, size_t port) const {
    return graph_.value(node.inputs[port]).type.dtype;
  }
  // Elements as a double: products of several would overflow integers.
  static double count(const Shape& shape) { return static_cast<double>(shape.num_elements()); }
  double bytes(ValueId value) const {
    return static_cast<double>(
        dense_size_bytes(graph_.value(value).type.dtype, shape(value)).value_or(0));
  }
  // Bytes that a run reads from the model, not from other nodes.
  bool is_weight(ValueId value) const {
    const std::string& id = graph_.node(graph_.value(value).producer).op->id;
    return id == "graph.weight" || id == "graph.constant";
  }

  void add_traffic(const Node& node, NodeCost& cost) const;
  void add_product(const Node& node, size_t weight, double products, NodeCost& cost) const;
  void add_program(const Node& node, double elements, NodeCost& cost) const;
  void add_cached_attention(const Node& node, NodeCost& cost) const;
  bool add_linear_arithmetic(const Node& node, NodeCost& cost) const;
  bool add_dense_arithmetic(const Node& node, NodeCost& cost) const;
  bool add_attention(const Node& node, NodeCost& cost) const;
  double visible_keys(const Node& node, int64_t own) const;
  void gather_only(const Node& node, NodeCost& cost) const;

  const Graph& graph_;
  std::vector<Shape> shapes_;
  const CostContext& context_;
};

// Every input once, every output once. A value that is read through two ports is in the cache
// the second time.
void CostEstimator::add_traffic(const Node& node, NodeCost& cost) const {
  std::vector<ValueId> seen;
  for (const ValueId value : node.inputs) {
    if (value == kNoValue || std::ranges::find(seen, value) != seen.end()) continue;
    seen.push_back(value);
    (is_weight(value) ? cost.weight_bytes : cost.read_bytes) += bytes(value);
  }
  for (const ValueId value : node.outputs) cost.write_bytes += bytes(value);
}

// `products` multiplications, each with an addition: of integers where the activations are.
void CostEstimator::add_product(const Node& node, size_t weight, double products,
                                NodeCost& cost) const {
  const DType x = dtype(node, 0);
  if (x == DType::kI8) {
    cost.int_ops += 2 * products;
  } else if (x == DType::kI16) {
    cost.int_ops += 4 * products;
  } else {
    cost.flops += 2 * products;
  }
  // Terms of block-quantised weights scale each block of 32.
  // Two float operations, multiply and add, for each 32 products.
  if (is_quantized(dtype(node, weight))) cost.flops += products / 16;
}

// The instructions of a fused node, each over all elements.
void CostEstimator::add_program(const Node& node, double elements, NodeCost& cost) const {
  const auto program = parse_fused_program(node.attributes.text("program"), graph_.registry());
  // The verifier has parsed it already; a cost of 0 beats an error in a report.
  if (!program) return;
  for (const FusedInstruction& instruction : program->instructions) {
    const double row = row_flops(meaning(*instruction.op));
    cost.flops += elements * (row > 0 ? row : element_flops(*instruction.op));
  }
}

// Every query meets the cached rows and, on average, half of the run's own.
// Of T queries at positions c .. c+T-1, query i sees c+i+1 keys: on average c + (T+1)/2.
void CostEstimator::add_cached_attention(const Node& node, NodeCost& cost) const {
  const StateDecl* state = graph_.find_state(node.attributes.text("state"));
  if (state == nullptr) return;
  const Shape& q = input(node, 0);
  const auto dim = [&](std::string_view name) {
    const AttributeValue* value = state->attributes.find(name);
    const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    return number == nullptr ? int64_t{0} : *number;
  };
  const auto row_bytes = [&](std::string_view type, std::string_view width) {
    const AttributeValue* value = state->attributes.find(type);
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    const auto found = text == nullptr ? std::nullopt : find_dtype(*text);
    // A state without a type counts as f32.
    const DTypeInfo& info = dtype_info(found.value_or(DType::kF32));
    return static_cast<double>(dim(width)) * info.block_bytes / info.block_size;
  };
  const int64_t window = node.attributes.integer("window");
  double keys = static_cast<double>(context_.cached_rows) + static_cast<double>(q[0] + 1) / 2;
  double rows = static_cast<double>(context_.cached_rows + q[0]);
  if (window > 0) {
    keys = std::min(keys, static_cast<double>(window));
    // The oldest query's window begins `window` rows before it; later ones move on.
    rows = std::min(rows, static_cast<double>(window + q[0]));
  }
  const double scores = static_cast<double>(q[0] * q[1]) * keys;
  // Per score and key: two products over the head, and one exponential. q[1] counts query heads.
  cost.flops += scores * (2.0 * static_cast<double>(dim("key_dim") + dim("value_dim")) + kFunction);
  // Key-value heads and not query heads: a group shares what is read.
  cost.read_bytes += rows * static_cast<double>(dim("heads")) *
                     (row_bytes("key_type", "key_dim") + row_bytes("value_type", "value_dim"));
}

// Products with weights.
bool CostEstimator::add_linear_arithmetic(const Node& node, NodeCost& cost) const {
  const std::string& id = meaning(*node.op);
  const bool is_gated = id == "fused.gated_linear";
  if (id == "projection.linear" || id == "projection.fused_qkv" || id == "fused.linear" ||
      is_gated) {
    const double outputs = count(shape(node.outputs[0]));
    // Of x, which is K; the weight's own extent is the same.
    const auto columns = static_cast<double>(input(node, 0).last());
    add_product(node, 1, outputs * columns * (is_gated ? 2 : 1), cost);
    if (id.starts_with("fused.")) add_program(node, outputs, cost);
    return true;
  }
  if (id == "experts.linear") {
    add_product(node, 1, count(shape(node.outputs[0])) * static_cast<double>(input(node, 0).last()),
                cost);
    // Only the experts that tokens chose are read.
    const Shape& weight = input(node, 1);
    const double chosen = count(input(node, 2));
    // At most one expert for each choice: an upper bound, as tokens may choose the same.
    cost.weight_bytes *= std::min(1.0, chosen / std::max(1.0, static_cast<double>(weight[0])));
    return true;
  }
  if (id.starts_with("convolution.")) {
    const Shape& weight = input(node, 1);
    // Taps of one output: input channels of a group times the kernel's area. weight[0] counts
    // filters, or input channels where transposed.
    const double taps = weight[0] == 0 ? 0 : count(weight) / static_cast<double>(weight[0]);
    const bool is_transposed = id.find("transpose") != std::string::npos;
    cost.flops += 2 * taps * count(is_transposed ? input(node, 0) : shape(node.outputs[0]));
    return true;
  }
  return false;
}

// Products of two tensors of the run, and attention over them.
bool CostEstimator::add_dense_arithmetic(const Node& node, NodeCost& cost) const {
  const std::string& id = meaning(*node.op);
  if (id == "math.matmul" || id == "Matmul" || id == "fused.matmul" || id == "Fused") {
    const double outputs = count(shape(node.outputs[0]));
    // K, the contracted axis of the left operand.
    cost.flops += 2 * outputs * static_cast<double>(input(node, 0).last());
    if (id == "fused.matmul") add_program(node, outputs, cost);
    return true;
  }
  if (id == "fused.attention") {
    const Shape& q = input(node, 0);
    const double scores = static_cast<double>(q[0]) * static_cast<double>(input(node, 1)[1]);
    const auto widths = static_cast<double>(q[1] + input(node, 2)[1]);
    // Products of q kt over k and of p v over w, and the softmax of each score.
    cost.flops += scores * (2 * widths + kFunction + 4);
    add_program(node, scores, cost);
    return true;
  }
  if (!id.starts_with("attention.") || !has(node, 2)) return false;
  return add_attention(node, cost);
}

// Heads of their own axis, or side by side in rows: for each pair of a query and a key a product
// of their width, one of the value's width, and an exponential.
bool CostEstimator::add_attention(const Node& node, NodeCost& cost) const {
  const Shape& q = input(node, 0);
  const Shape& k = input(node, 1);
  if (q.rank() == 2) {
    const AttributeValue* count = node.attributes.find("num_heads");
    const auto* heads = count == nullptr ? nullptr : std::get_if<int64_t>(count);
    if (heads == nullptr) return false;
    // All heads of a row together are as wide as the row.
    const double pairs = static_cast<double>(q[0]) * visible_keys(node, k[0]);
    cost.flops +=
        pairs * (4.0 * static_cast<double>(q[1]) + kFunction * static_cast<double>(*heads));
    return true;
  }
  if (q.rank() != 4) return false;
  const double scores = static_cast<double>(q[0] * q[1] * q[2]) * visible_keys(node, k[2]);
  cost.flops += scores * (2.0 * static_cast<double>(q[3] + input(node, 2)[3]) + kFunction);
  return true;
}

// Keys that a query meets: its own and those of the node's cache, at most those of a window.
double CostEstimator::visible_keys(const Node& node, int64_t own) const {
  auto keys = static_cast<double>(own);
  constexpr size_t kKeyCache = 4;
  if (has(node, kKeyCache)) {
    const int64_t start = node.attributes.integer("start_position");
    keys += static_cast<double>(start == -1 ? input(node, kKeyCache)[2] : start);
  }
  for (const char* name : {"window", "window_size"}) {
    const AttributeValue* value = node.attributes.find(name);
    const auto* window = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    if (window != nullptr && *window > 0) keys = std::min(keys, static_cast<double>(*window));
  }
  return keys;
}

// Rows that are picked from a table, not all of it.
void CostEstimator::gather_only(const Node& node, NodeCost& cost) const {
  const size_t table = meaning(*node.op) == "embedding.token" ? 1 : 0;
  const double rows = count(input(node, 1 - table));
  const Shape& shape = input(node, table);
  const double whole = bytes(node.inputs[table]);
  const double part = shape[0] == 0 ? 0 : whole * rows / static_cast<double>(shape[0]);
  double& read = is_weight(node.inputs[table]) ? cost.weight_bytes : cost.read_bytes;
  // add_traffic counted the whole table; this takes the rest off again, never below zero rows.
  read += std::min(whole, part) - whole;
}

// Nodes that only bind or rename cost nothing. The kinds are tried in turn; the rest counts one
// operation for each element that goes in.
NodeCost CostEstimator::cost_of(const Node& node) const {
  NodeCost cost;
  const std::string& id = meaning(*node.op);
  if (id == "Input" || id == "shape.reshape" || node.outputs.size() + node.inputs.size() == 0 ||
      id == "graph.weight" || id == "graph.constant") {
    return cost;
  }
  add_traffic(node, cost);
  if (id == "embedding.token" || id == "shape.gather_rows") gather_only(node, cost);
  if (id == "attention.cached") {
    add_cached_attention(node, cost);
    return cost;
  }
  // After traffic: experts.linear scales down the weight's bytes that were added above.
  if (add_linear_arithmetic(node, cost) || add_dense_arithmetic(node, cost)) return cost;
  const double elements = node.outputs.empty() ? 0 : count(shape(node.outputs[0]));
  if (id == "fused.elementwise" || id == "fused.quantize") {
    add_program(node, elements, cost);
    if (id == "fused.quantize") cost.flops += elements * row_flops("quant.dynamic");
  } else if (row_flops(id) > 0) {
    cost.flops += elements * row_flops(id);
  } else if (node.op->is_elementwise) {
    cost.flops += elements * element_flops(*node.op);
  } else if (!id.starts_with("shape.") && !id.starts_with("kv.") && !id.starts_with("graph.")) {
    // One operation for each element that goes in: sums, choices, pools.
    cost.flops += has(node, 0) ? count(input(node, 0)) : elements;
  }
  return cost;
}

}  // namespace

// Sums field by field.
NodeCost& NodeCost::operator+=(const NodeCost& other) {
  flops += other.flops;
  int_ops += other.int_ops;
  weight_bytes += other.weight_bytes;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  return *this;
}

// The costs of all nodes for one binding of the symbols and one fill of the cache.
Result<std::vector<NodeCost>> annotate_cost(const Graph& graph, const CostContext& context) {
  QUERN_ASSIGN_OR_RETURN(std::vector<Shape> shapes, resolve_shapes(graph, context.symbols));
  const CostEstimator estimator(graph, std::move(shapes), context);
  std::vector<NodeCost> costs;
  for (const Node& node : graph.nodes()) costs.push_back(estimator.cost_of(node));
  return costs;
}

}  // namespace quern
