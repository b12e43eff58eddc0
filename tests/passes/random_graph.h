// Graphs made at random, for properties that every graph must have.
#pragma once

#include <cstdint>

#include "quern/graph.h"

namespace quern::test {

// The same graph for the same seed, on every machine. About 30 nodes of most kinds of operations,
// with shapes that hold 0, 1 and odd extents and a symbol, all float dtypes that have kernels, some
// integers, weights in several formats, and the forms that passes look for: aliases, equal nodes,
// neutral constants, moves that cancel, dead ends, chains, products with what follows them.
Graph random_graph(uint64_t seed);

// The extent of the symbol T in such a graph.
int64_t random_extent(uint64_t seed);

}  // namespace quern::test
