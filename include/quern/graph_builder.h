// Builds graphs node by node, inferring types.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/graph.h"
#include "quern/op.h"

namespace quern {

// The first error is kept and returned by finish(); after it every call returns kNoValue, so a
// model's forward can be written without a check on each line. Thread-compatible.
class GraphBuilder {
 public:
  explicit GraphBuilder(const OpRegistry& registry);

  // A graph input. Its name must be unique.
  ValueId input(std::string_view name, TensorType type);
  // A weight of the model, by its name in the WeightSource.
  ValueId weight(std::string_view name, TensorType type);
  // A small constant, e.g. a table of rope factors; values round to `dtype`.
  ValueId constant(std::string_view name, DType dtype, const Shape& shape,
                   std::vector<double> values);
  // Memory that outlives a run, such as caches of keys and values. Errors, kept as all are: a name
  // that is taken by another state.
  void state(StateDecl declaration);

  // Appends a node and returns its first output (kNoValue if it has none). An empty name gets a
  // fresh one ("math.add.7"); a scope prefixes names: "layers.3." + "q".
  ValueId add(std::string_view op, std::initializer_list<ValueId> inputs,
              Attributes attributes = {}, std::string_view name = {});
  ValueId add(std::string_view op, std::span<const ValueId> inputs, Attributes attributes = {},
              std::string_view name = {});
  // All outputs of the node that add() appended last.
  std::span<const ValueId> last_outputs() const;
  // Appends a node whose types are known to be right, for copies of verified nodes: the rules of
  // the operation do not run again. Outputs as in add().
  ValueId add_known(const Node& like, std::span<const ValueId> inputs,
                    std::vector<TensorType> types);
  // Places the node that add() appended last; a name of a device such as "cpu" or "cuda:0".
  void set_device(std::string device);
  // The same for all nodes from index `first` on.
  void place_from(size_t first, const std::string& device);

  // Gives a node and its values another name, which must be free.
  void rename(NodeId node, std::string name);

  // From here to the matching pop_scope(), names of nodes begin with the prefix, which brings its
  // own dot ("layers.3."); scopes nest. Weights keep the name that they have in the file. Errors,
  // kept: a pop_scope() without its push_scope().
  void push_scope(std::string_view prefix);
  void pop_scope();

  // Outputs come in the order of these calls, and a value may be several. Errors, kept: a value
  // that the graph does not have.
  void output(std::string_view name, ValueId value);
  // Gives the current error, or notes one of the caller's.
  bool has_error() const { return error_.has_value(); }
  void set_error(Error error);
  // Null for kNoValue and for ids outside of the graph. The next call that adds a value may move
  // the type.
  const TensorType* type(ValueId value) const;
  // What has been built so far; not verified, and without outputs until they are added.
  const Graph& so_far() const { return graph_; }

  // The verified graph. The builder is empty afterwards.
  Result<Graph> finish();

 private:
  ValueId append(const OpDef& op, std::span<const ValueId> inputs, Attributes attributes,
                 std::string name, std::vector<TensorType> types);
  std::string full_name(std::string_view name, std::string_view op);
  // "node" for the only output of an operation, else "node:port".
  static std::string value_name(const OpDef& op, const std::string& node, size_t output);
  void add_value_name(const std::string& name, ValueId value);

  Graph graph_;
  std::vector<std::string> scopes_;
  std::vector<ValueId> last_outputs_;
  std::optional<Error> error_;
  int64_t next_name_ = 0;
};

}  // namespace quern
