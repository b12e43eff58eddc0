// Orders of small directed graphs given by an edge test.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fail.h"

namespace quern {

// Nodes 0 .. n - 1 so that edges go forward, the lowest ready node first. `has_edge(i, j)` is true
// for an edge from i to j. Errors: a cycle.
// Kahn's method with a scan for the lowest ready node, so that the order is the same everywhere:
// 2 n^2 edge tests, fine for the small graphs of causal models. A node with an edge to itself is a
// cycle.
template <class HasEdge>
Result<std::vector<int64_t>> topological_order(int64_t n, HasEdge&& has_edge) {
  std::vector<int64_t> waiting(static_cast<size_t>(n)), order;
  for (int64_t i = 0; i < n; ++i) {
    // waiting[j] counts the edges into j from nodes that are not yet placed.
    for (int64_t j = 0; j < n; ++j) waiting[static_cast<size_t>(j)] += has_edge(i, j);
  }
  while (static_cast<int64_t>(order.size()) < n) {
    int64_t next = 0;
    while (next < n && waiting[static_cast<size_t>(next)] != 0) ++next;
    if (next == n) return fail::invalid("The graph of {} nodes has a cycle.", n);
    waiting[static_cast<size_t>(next)] = -1;
    for (int64_t j = 0; j < n; ++j) waiting[static_cast<size_t>(j)] -= has_edge(next, j);
    // -1 never becomes 0 again, so a placed node is not found twice.
    order.push_back(next);
  }
  return order;
}

}  // namespace quern
