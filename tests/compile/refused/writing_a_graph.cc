// A finished graph cannot be changed.
// Refused: const|assign
#include "quern/graph.h"

void caller(quern::Graph& graph) {
#ifdef REFUSED
  graph.nodes()[0].name = "other";
#else
  (void)graph.nodes()[0].name;
#endif
}
