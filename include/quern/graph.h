// The graph IR: an SSA graph of versioned operations over tensor types.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quern/dtype.h"
#include "quern/error.h"
#include "quern/layout.h"
#include "quern/shape.h"

namespace quern {

struct OpDef;
class OpRegistry;

// An extent: a constant, or factor * symbol with the symbol ('A' to 'Z') known at run time.
// By convention T counts tokens, S sequences, R output rows.
struct Dim {
  int64_t factor = 1;
  char symbol = 0;  // 0: a constant, whose value is `factor`

  static Dim constant(int64_t value) { return {value, 0}; }
  static Dim symbolic(char name, int64_t factor = 1) { return {factor, name}; }
  bool is_constant() const { return symbol == 0; }
  bool operator==(const Dim&) const = default;
};

// Run-time values of symbols; -1 where unbound.
class SymbolValues {
 public:
  SymbolValues() { values_.fill(-1); }
  int64_t get(char symbol) const { return values_[static_cast<size_t>(symbol - 'A')]; }
  void set(char symbol, int64_t value) { values_[static_cast<size_t>(symbol - 'A')] = value; }
  bool operator==(const SymbolValues&) const = default;

 private:
  std::array<int64_t, 26> values_;
};

struct TensorType {
  DType dtype = DType::kF32;
  std::vector<Dim> dims;
  LayoutKind layout = LayoutKind::kRowMajor;

  int rank() const { return static_cast<int>(dims.size()); }
  bool is_static() const;
  // "f32[T, 576]"
  std::string to_string() const;
  // Errors: kFailedPrecondition for an unbound symbol.
  Result<Shape> resolve(const SymbolValues& symbols) const;
  bool operator==(const TensorType&) const = default;
};

using AttributeValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
// "true", "5", "0.5", "\"text\"", "[1, 2]", "f[0.5]"; parses back to the same value.
std::string attribute_to_string(const AttributeValue& value);

// Sorted by name; a node's holds a value for each attribute of its operation that has a default.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> list)
      : values_(list) {}
  void set(std::string name, AttributeValue value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  const AttributeValue* find(std::string_view name) const;
  // The value of an attribute that the operation declares with that kind.
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<int64_t>& integers(std::string_view name) const;
  const std::vector<double>& numbers(std::string_view name) const;
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  size_t size() const { return values_.size(); }
  bool operator==(const Attributes&) const = default;

 private:
  std::map<std::string, AttributeValue, std::less<>> values_;
};

// Index of a value in its graph; kNoValue stands for an absent optional input.
using ValueId = int32_t;
using NodeId = int32_t;
inline constexpr ValueId kNoValue = -1;

// The meaning of a node is its operation's (OpDef). Inputs are in port order.
struct Node {
  const OpDef* op = nullptr;
  std::string name;  // unique in the graph
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
};

// What one output port of a node yields.
struct Value {
  TensorType type;
  NodeId producer = -1;
  int output = 0;    // port of the producer
  std::string name;  // the node's name; "node:port" where the operation has several outputs
};

// State that outlives an execution, read and written by name. Kind "kv" is a key-value cache with
// attributes layers, heads, key_dim, value_dim, key_type, value_type.
struct StateDecl {
  std::string name;
  std::string kind;
  Attributes attributes;
};

struct GraphOutput {
  std::string name;
  ValueId value = kNoValue;
};

// Immutable; made by GraphBuilder or parse_graph. Nodes stand in an order that defines values
// before uses and keeps effects on the same state in program order.
class Graph {
 public:
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  std::span<const Value> values() const { return values_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  std::span<const GraphOutput> outputs() const { return outputs_; }
  std::span<const StateDecl> states() const { return states_; }
  const OpRegistry& registry() const { return *registry_; }
  // Nodes of the operation "Input", in order; the input's name is the node's name.
  std::vector<NodeId> inputs() const;
  // The value of this name, or kNoValue.
  ValueId find_value(std::string_view name) const;
  const StateDecl* find_state(std::string_view name) const;

 private:
  friend class GraphBuilder;
  const OpRegistry* registry_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<GraphOutput> outputs_;
  std::vector<StateDecl> states_;
  std::map<std::string, ValueId, std::less<>> value_names_;
};

// Checks every rule of the IR: operations known, ports and attributes as declared, types as
// inferred, uses after definitions, unique names, states declared. Errors name the node.
Result<void> verify(const Graph& graph);

// The text form; parse_graph gives the same graph back.
std::string print_graph(const Graph& graph);
// Errors: kInvalidArgument with line and column.
Result<Graph> parse_graph(std::string_view text, const OpRegistry& registry);

// Equal for graphs that differ only in the names of inner nodes; it covers operations with their
// versions, attributes, types, edges, effects' order, inputs, outputs and states.
uint64_t semantic_hash(const Graph& graph);

}  // namespace quern
