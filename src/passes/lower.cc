// Precision, support and legality of each node on its target.
#include "passes/lower.h"

#include <algorithm>

#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

// The types that devices without double precision cannot hold.
bool is_wide(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kComplex128;
}

// The widest type that a node reads or makes, where that is beyond float32.
std::string_view wide_type(const Graph& graph, const Node& node) {
  const auto wide_of = [&](const std::vector<ValueId>& values) -> std::string_view {
    for (const ValueId value : values) {
      if (value == kNoValue) continue;
      const DType dtype = graph.value(value).type.dtype;
      if (is_wide(dtype)) return dtype == DType::kF64 ? "float64" : "complex128";
    }
    return "";
  };
  const std::string_view made = wide_of(node.outputs);
  return made.empty() ? wide_of(node.inputs) : made;
}

// The precision contract of docs/numerics: float64 is never narrowed in silence.
Result<void> check_precision(const Graph& graph, const Node& node, const Target& target) {
  // Probed on the device, not declared by its kind.
  if (target.capabilities->has_f64) return {};
  const std::string_view wide = wide_type(graph, node);
  if (wide.empty()) return {};
  // The type with half the width, part by part for complex numbers.
  const std::string_view narrow = wide == "float64" ? "float32" : "complex64";
  return fail::unimplemented(
      "Backend {} cannot run {} (node '{}') in {}: the device computes in {}. Give the node "
      "`precision: float32` to compute it in {} instead, or choose a device with {}.",
      target.backend->name(), node.op->id, node.name, wide, narrow, narrow, wide);
}

// The backend's own word on the operation, then on this node with its types.
Result<void> check_support(const Graph& graph, const Node& node, const Target& target) {
  // First what the operation is, then what this node asks of it: `legal` may assume a known
  // operation.
  const Support support = target.backend->supports(*node.op);
  if (support.kind == Support::Kind::kMissing) {
    return fail::unimplemented("Backend {} cannot run {} (node '{}'): {}", target.backend->name(),
                               node.op->id, node.name, support.reason);
  }
  return target.backend->legal(graph, node);
}

// What a run binds is not computed anywhere.
bool is_bound(const Node& node) {
  // Constants are not here: one in float64 is refused on a device without it.
  return node.op->id == "Input" || node.op->id == "graph.weight";
}

}  // namespace

// Changes nothing. All precision errors come before any missing kernel: they are the ones that a
// user can mend in the manifest.
Result<Graph> lower(const Graph& graph, const PassOptions& options) {
  if (options.targets.empty()) return graph;
  const auto target_of = [&](const Node& node) -> const Target& {
    // As in the other passes: a node without a device, and any name that `place` has not checked,
    // belongs to the default target.
    const auto found = std::ranges::find(options.targets, node.device, &Target::name);
    return found == options.targets.end() ? options.targets.front() : *found;
  };
  for (const Node& node : graph.nodes()) {
    if (!is_bound(node)) QUERN_TRY(check_precision(graph, node, target_of(node)));
  }
  for (const Node& node : graph.nodes()) QUERN_TRY(check_support(graph, node, target_of(node)));
  return graph;
}

}  // namespace quern
