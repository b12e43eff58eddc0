// Orders of small directed graphs given by an edge test.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fail.h"

namespace quern {

// Nodes 0 .. n - 1 so that edges go forward, the lowest ready node first. `has_edge(i, j)` is true
// for an edge from i to j. Errors: a cycle.
template <class HasEdge>
Result<std::vector<int64_t>> topological_order(int64_t n, HasEdge&& has_edge) {
  std::vector<int64_t> waiting(static_cast<size_t>(n)), order;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) waiting[static_cast<size_t>(j)] += has_edge(i, j);
  }
  while (static_cast<int64_t>(order.size()) < n) {
    int64_t next = 0;
    while (next < n && waiting[static_cast<size_t>(next)] != 0) ++next;
    if (next == n) return fail::invalid("The graph of {} nodes has a cycle.", n);
    waiting[static_cast<size_t>(next)] = -1;
    for (int64_t j = 0; j < n; ++j) waiting[static_cast<size_t>(j)] -= has_edge(next, j);
    order.push_back(next);
  }
  return order;
}

}  // namespace quern
