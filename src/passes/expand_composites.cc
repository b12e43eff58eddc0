// Rounds of expansions until none is left.
#include "passes/expand_composites.h"

#include <algorithm>

#include "base/fail.h"
#include "passes/graph_copier.h"
#include "quern/op.h"

namespace quern {
namespace {

// Expansions nest a few levels; more is a definition that contains itself.
constexpr int kMaxDepth = 16;

// The target of the node's device; nodes without one belong to the first.
const Target& target_of(const Node& node, const PassOptions& options) {
  const auto found = std::ranges::find(options.targets, node.device, &Target::name);
  return found == options.targets.end() ? options.targets.front() : *found;
}

// Composites without a kernel of their own on the node's backend.
bool should_expand(const Node& node, const PassOptions& options) {
  // Direct support wins over the expansion although both give the same bits: a kernel of its own
  // reads and writes memory once.
  return node.op->expand != nullptr &&
         target_of(node, options).backend->supports(*node.op).kind != Support::Kind::kDirect;
}

}  // namespace

// Expansions may contain composites, so rounds go on until none is left.
Result<Graph> expand_composites(const Graph& graph, const PassOptions& options) {
  if (options.targets.empty()) return graph;
  Graph current = graph;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const auto is_left = [&](const Node& node) { return should_expand(node, options); };
    if (std::ranges::none_of(current.nodes(), is_left)) return current;
    GraphCopier copier(current);
    for (const Node& node : current.nodes()) {
      if (!is_left(node)) {
        copier.copy(node);
        continue;
      }
      QUERN_TRY(copier.expand(node));
    }
    QUERN_ASSIGN_OR_RETURN(current, copier.finish());
  }
  // A definition of our own that contains itself, so no fault of the caller's graph.
  return fail::internal("Composites are still there after {} rounds of expansion.", kMaxDepth);
}

}  // namespace quern
