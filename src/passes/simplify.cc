// Applies the rules to each node until none fits.
#include "passes/simplify.h"

#include <algorithm>
#include <cmath>

#include "passes/graph_copier.h"
#include "passes/simplify_rules.h"

namespace quern {
namespace {

constexpr SimplifyRule kRules[] = {simplify_arithmetic, simplify_casts, simplify_shapes};

// A rule may enable another; no chain of useful ones is longer.
// Also the guard against two rules that undo each other: a bug then costs 8 rounds, no hang.
constexpr int kMaxRounds = 8;

// Dropout outside of training is the only random node that is its input.
bool is_simplifiable(const Node& node) {
  // Its effect is kRandom even where it drops nothing.
  const bool is_plain = node.op->effect == Effect::kPure || node.op->id == "math.dropout";
  return is_plain && node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0] != kNoValue;
}

// The first rule that fits.
std::optional<Simpler> apply_rules(const SimplifyContext& context, const Draft& draft) {
  // The kinds look at different operations, so that at most one of them answers.
  for (const SimplifyRule rule : kRules) {
    if (auto simpler = rule(context, draft)) return simpler;
  }
  return std::nullopt;
}

// The node's simplest form; nothing if no rule fits.
std::optional<Simpler> simplest(const SimplifyContext& context, Draft draft) {
  std::optional<Simpler> best;
  for (int round = 0; round < kMaxRounds; ++round) {
    auto next = apply_rules(context, draft);
    if (!next) break;
    // A value stands for another only if it has its type, symbols included.
    // The graph's interface must not change: [4] may not stand where [T] was promised.
    if (!next->node && !(context.type(next->value) == draft.type)) break;
    best = std::move(next);
    if (!best->node) break;
    // The rule's node is looked at again as if it stood in the graph.
    draft = *best->node;
  }
  return best;
}

}  // namespace

// The one value that all elements of a constant have, sign of zero included; NaN is none.
std::optional<double> SimplifyContext::splat(ValueId id) const {
  const Node& node = producer(id);
  if (node.op->id != "graph.constant") return std::nullopt;
  const std::vector<double>& values = node.attributes.numbers("values");
  if (values.empty() || std::isnan(values[0])) return std::nullopt;
  const bool is_one = std::ranges::all_of(values, [&](double v) {
    // +0 and -0 compare equal but are different neutral elements.
    return v == values[0] && std::signbit(v) == std::signbit(values[0]);
  });
  return is_one ? std::optional(values[0]) : std::nullopt;
}

// Nodes that are read by name stay: replacing one would take its name away.
Result<Graph> simplify(const Graph& graph, const PassOptions& options) {
  GraphCopier copier(graph);
  for (const Node& node : graph.nodes()) {
    std::optional<Simpler> simpler;
    if (is_simplifiable(node) && !options.is_readable(graph, node)) {
      // Rules see what is simplified already: chains collapse in one sweep from inputs to outputs.
      const SimplifyContext context{copier.graph(), options.numerics};
      simpler = simplest(context, {node.op, copier.mapped_inputs(node), node.attributes,
                                   graph.value(node.outputs[0]).type});
    }
    if (!simpler) {
      copier.copy(node);
    } else if (simpler->node) {
      copier.emit(node, simpler->node->op->id, simpler->node->inputs,
                  std::move(simpler->node->attributes));
    } else {
      copier.replace(node, simpler->value);
    }
  }
  return copier.finish();
}

}  // namespace quern
