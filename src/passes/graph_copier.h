// Copies a graph node by node into a new one, for passes that drop or replace nodes.
#pragma once

#include <vector>

#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {

// Starts with the states of the source; the pass visits the source's nodes in order and copies or
// replaces each; finish() maps the outputs.
class GraphCopier {
 public:
  explicit GraphCopier(const Graph& source);
  // The value of the new graph that stands for a value of the source; kNoValue if none yet.
  ValueId mapped(ValueId source) const;
  // Inputs of a source node in the new graph.
  std::vector<ValueId> mapped_inputs(const Node& node) const;
  void copy(const Node& node);
  // From now on `replacement` (of the new graph) stands for `source`.
  void replace(ValueId source, ValueId replacement);
  GraphBuilder& builder() { return builder_; }
  Result<Graph> finish();

 private:
  const Graph& source_;
  GraphBuilder builder_;
  std::vector<ValueId> map_;
};

}  // namespace quern
