// Depth-first search with its own stack: chains may be as long as the manifest.
// Nodes that are in order already stay where they are: the same file gives the same graph.
#include "formats/manifest/node_order.h"

#include <algorithm>

namespace quern::manifest {
namespace {

// Linear in nodes and edges: each node is opened once, each dependency followed once.

// Not seen, on the path, or in the order.
enum class Mark : uint8_t { kNew, kOpen, kDone };

// A node on the path, and how many of its dependencies were followed.
struct Visit {
  size_t node = 0;
  std::vector<size_t> dependencies;
  size_t next = 0;
};

// The open nodes from the first visit of `node` on are the cycle.
tl::unexpected<Error> cycle_error(std::span<const NodeDecl> nodes, const std::vector<Visit>& stack,
                                  size_t node) {
  auto first = std::ranges::find(stack, node, &Visit::node);
  std::string chain;
  constexpr int kMaxShown = 8;
  int shown = 0;
  for (auto it = first; it != stack.end() && shown < kMaxShown; ++it, ++shown) {
    chain += nodes[it->node].id + " <- ";
  }
  if (stack.end() - first > kMaxShown) chain += "... <- ";
  return error_at(nodes[node].place, fmt::format("Node '{}' is part of a cycle: {}{}.",
                                                 nodes[node].id, chain, nodes[node].id));
}

}  // namespace

// The order of the list where it is one already.
Result<std::vector<size_t>> order_nodes(
    std::span<const NodeDecl> nodes,
    const std::function<std::vector<size_t>(size_t)>& dependencies) {
  std::vector<Mark> marks(nodes.size(), Mark::kNew);
  std::vector<size_t> order;
  std::vector<Visit> stack;
  const auto open = [&](size_t node) {
    marks[node] = Mark::kOpen;
    stack.push_back({node, dependencies(node)});
  };
  for (size_t root = 0; root < nodes.size(); ++root) {
    if (marks[root] == Mark::kNew) open(root);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next == visit.dependencies.size()) {
        marks[visit.node] = Mark::kDone;
        order.push_back(visit.node);
        stack.pop_back();
        continue;
      }
      const size_t needed = visit.dependencies[visit.next++];
      // `visit` is a reference into the stack: it is not used again after open() may have moved it.
      if (marks[needed] == Mark::kOpen) return cycle_error(nodes, stack, needed);
      if (marks[needed] == Mark::kNew) open(needed);
    }
  }
  return order;
}

}  // namespace quern::manifest
