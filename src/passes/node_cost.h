// What each node of a graph costs at least: arithmetic and memory traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/graph.h"

namespace quern {

// The estimate serves explanations and rooflines: operations over bytes tells which bound a node
// has.
struct NodeCost {
  double flops = 0;         // float additions and multiplications; other functions count as several
  double int_ops = 0;       // additions and multiplications of int8 products (16 bits are two of 8)
  double weight_bytes = 0;  // weights and constants that are read
  double read_bytes = 0;    // other inputs, and the rows of a key-value cache
  double write_bytes = 0;

  double bytes() const { return weight_bytes + read_bytes + write_bytes; }
  // Operations for each byte; 0 where nothing is moved.
  double intensity() const { return bytes() > 0 ? (flops + int_ops) / bytes() : 0; }
  NodeCost& operator+=(const NodeCost& other);
};

struct CostContext {
  SymbolValues symbols;
  // Rows that a key-value cache holds before the run.
  int64_t cached_rows = 0;
};

// By node. Inputs, weights, constants and reshapes cost nothing.
// Errors: a symbol without a value.
// A cost of 0 for a node means that it only binds or renames, not that it is free to run.
Result<std::vector<NodeCost>> annotate_cost(const Graph& graph, const CostContext& context);

}  // namespace quern
