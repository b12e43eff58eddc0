// Rules of one node each, tried in turn.
#include "passes/canonicalise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "passes/graph_copier.h"

namespace quern {
namespace {

// A node as it will be written.
struct Draft {
  const OpDef* op;
  Attributes attributes;
};

// The families whose attributes count axes from either end.
bool has_axes(const OpDef& op) {
  return op.id.starts_with("shape.") || op.id.starts_with("reduction.");
}

// Counts a negative axis from the front; one that is out of range stays for the verifier.
bool make_positive(int64_t& axis, int rank) {
  // -1 of rank 3 is 2; -4 is left alone, since the type rule names the number that was given.
  if (axis >= 0 || axis + rank < 0) return false;
  axis += rank;
  return true;
}

// Axes that count from the end become those from the front, so that equal nodes look equal.
bool canonicalise_axes(const Graph& graph, const Node& node, Draft& draft) {
  if (!has_axes(*draft.op) || node.inputs.empty() || node.inputs[0] == kNoValue) return false;
  const int rank = graph.value(node.inputs[0]).type.rank();
  bool has_changed = false;
  // The attributes of these families that hold one axis each; reductions over several axes name
  // them otherwise and keep their spelling.
  for (const char* name : {"dim", "dim0", "dim1"}) {
    const AttributeValue* value = draft.attributes.find(name);
    const auto* axis = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    int64_t positive = axis == nullptr ? 0 : *axis;
    if (axis == nullptr || !make_positive(positive, rank)) continue;
    draft.attributes.set(name, positive);
    has_changed = true;
  }
  // A permutation: every entry counts alone, so a mix of signs is possible and legal.
  if (const AttributeValue* value = draft.attributes.find("order")) {
    auto order = std::get<std::vector<int64_t>>(*value);
    for (int64_t& axis : order) has_changed |= make_positive(axis, rank);
    draft.attributes.set("order", std::move(order));
  }
  return has_changed;
}

// Swapping axes is symmetric: the smaller comes first.
bool canonicalise_transpose(Draft& draft) {
  if (draft.op->id != "shape.transpose") return false;
  const int64_t dim0 = draft.attributes.integer("dim0");
  const int64_t dim1 = draft.attributes.integer("dim1");
  // transpose(x, a, b) = transpose(x, b, a): with one spelling, value numbering sees both as equal.
  if (dim0 <= dim1) return false;
  draft.attributes.set("dim0", dim1);
  draft.attributes.set("dim1", dim0);
  return true;
}

// An end of 0 means the whole axis; where the extent is known, it is written out.
bool canonicalise_slice(const Graph& graph, const Node& node, Draft& draft) {
  if (draft.op->id != "shape.slice" || draft.attributes.integer("end") != 0) return false;
  const auto axis = static_cast<size_t>(draft.attributes.integer("dim"));
  const TensorType& x = graph.value(node.inputs[0]).type;
  // A symbolic extent is known at run time only; 0 says "to the end" for every binding. An extent
  // of 0 would be written as 0 again, for ever.
  if (axis >= x.dims.size() || !x.dims[axis].is_constant() || x.dims[axis].factor == 0) {
    return false;
  }
  // x[T, 8]: slice {dim = 1, start = 2} becomes slice {dim = 1, start = 2, end = 8}.
  draft.attributes.set("end", x.dims[axis].factor);
  return true;
}

// The functions of one meaning under two names.
bool canonicalise_function(const Graph& graph, const Node& node, Draft& draft) {
  const OpRegistry& registry = graph.registry();
  // gelu(x) {approximate = "tanh"} -> gelu_tanh(x): backends have one kernel for it, and fusion
  // lists name it once.
  if (draft.op->id == "activation.gelu" && draft.attributes.text("approximate") == "tanh") {
    draft = {registry.find("activation.gelu_tanh"), {}};
    return true;
  }
  if (draft.op->id != "math.inv_sqrt_dim_scale") return false;
  const TensorType& x = graph.value(node.inputs[0]).type;
  if (x.dims.empty() || !x.dims.back().is_constant()) return false;
  // The same f64 arithmetic as the kernel's, then one rounding to the compute type.
  // math.inv_sqrt_dim_scale(x [..., d]) -> math.scale(x) {factor = 1 / sqrt(d)}. sqrt and the
  // division are correctly rounded by IEEE 754, so the constant is the same on every machine.
  const double factor = 1.0 / std::sqrt(static_cast<double>(x.dims.back().factor));
  // A width of 0 gives infinity: there are no elements to scale, and the node may stay.
  if (!std::isfinite(factor)) return false;
  draft = {registry.find("math.scale"), {{"factor", factor}}};
  return true;
}

// The operation that an alias stands for, if it knows all the attributes given.
bool canonicalise_alias(const Graph& graph, Draft& draft) {
  const OpDef* meant =
      draft.op->alias_of.empty() ? nullptr : graph.registry().find(draft.op->alias_of);
  if (meant == nullptr) return false;
  // An alias may have attributes of its own (a default that the meant operation has not): then both
  // stay.
  const bool fits = std::ranges::all_of(draft.attributes, [&](const auto& attribute) {
    return meant->find_attribute(attribute.first) != nullptr;
  });
  if (fits) draft.op = meant;
  return fits;
}

// Whether a rule may fit, by the operation alone: most nodes of a model need no closer look.
bool may_change(const OpDef& op) {
  return !op.alias_of.empty() || has_axes(op) || op.id == "activation.gelu" ||
         op.id == "math.inv_sqrt_dim_scale";
}

// Applies every rule once; a rule sees what the ones before it wrote.
bool rewrite(const Graph& graph, const Node& node, Draft& draft) {
  bool has_changed = canonicalise_alias(graph, draft);
  // After the alias, whose operation may have axes, and before the rules that compare axes.
  has_changed |= canonicalise_axes(graph, node, draft);
  has_changed |= canonicalise_transpose(draft);
  has_changed |= canonicalise_slice(graph, node, draft);
  has_changed |= canonicalise_function(graph, node, draft);
  // A registry of a test may lack the operation that a rule writes; then the node stays as it is.
  return has_changed && draft.op != nullptr;
}

}  // namespace

// Nodes that no rule fits are copied unchanged. model.freeze only marks parameters for training
// and is its input here, unless somebody reads it by name.
Result<Graph> canonicalise(const Graph& graph, const PassOptions& options) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) {
    if (node.op->id == "model.freeze" && !options.is_readable(graph, node)) {
      copier.replace(node, copier.mapped(node.inputs[0]));
      continue;
    }
    if (!may_change(*node.op)) {
      copier.copy(node);
      continue;
    }
    Draft draft{node.op, node.attributes};
    if (rewrite(graph, node, draft)) {
      copier.emit(node, draft.op->id, copier.mapped_inputs(node), std::move(draft.attributes));
    } else {
      copier.copy(node);
    }
  }
  return copier.finish();
}

}  // namespace quern
