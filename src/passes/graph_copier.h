// Copies a graph node by node into a new one, for passes that drop or replace nodes.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {

// The pass visits every node of the source once, in order, and copies, replaces or drops it;
// finish() maps the outputs. Until the first change nothing is built: a pass that changes nothing
// costs a walk over the graph, and finish() gives the source itself. One thread only; the source
// must outlive it.
class GraphCopier {
 public:
  explicit GraphCopier(const Graph& source);

  // The graph that mapped values belong to: the new one so far.
  const Graph& graph() const { return has_changed_ ? builder_.so_far() : source_; }
  // The value of the new graph that stands for a value of the source; kNoValue if none yet.
  ValueId mapped(ValueId source) const;
  // Inputs of a source node in the new graph.
  std::vector<ValueId> mapped_inputs(const Node& node) const;

  // A node of the source, or a copy of it with other attributes.
  void copy(const Node& node);
  // Leaves the node out. Its values need a replace() if anybody reads them.
  void drop(const Node& node);
  // Leaves the node out; its outputs are those of `same`, a node of the source that was visited.
  void merge(const Node& node, const Node& same);
  // Leaves the node out; `replacement` (of the new graph) stands for its only output.
  void replace(const Node& node, ValueId replacement);
  // Another operation with the node's name, device and outputs.
  void emit(const Node& node, std::string_view op, std::span<const ValueId> inputs,
            Attributes attributes);
  // One more node on the device of `near`, named after it; gives its first output.
  ValueId insert(const Node& near, std::string_view suffix, std::string_view op,
                 std::span<const ValueId> inputs, Attributes attributes);

  // The node's expansion in its place; the last node takes the node's name. Needs op->expand.
  Result<void> expand(const Node& node);

  // The new graph. Errors: what the rules of the operations say of emitted nodes.
  Result<Graph> finish();

 private:
  // From "nothing changed" to a graph of its own; later calls do nothing.
  void start();
  // Copies a node of the source into the new graph, device included.
  void append(const Node& node);
  // Names of dropped nodes count as taken, too.
  std::string fresh_name(std::string_view base);

  const Graph& source_;
  GraphBuilder builder_;
  std::vector<ValueId> map_;  // by value of the source; used once something has changed
  std::set<std::string, std::less<>> names_;  // of all nodes, once insert() was called
  size_t num_visited_ = 0;                    // nodes of the source so far
  bool has_changed_ = false;
};

}  // namespace quern
