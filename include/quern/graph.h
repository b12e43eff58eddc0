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
// By convention T counts tokens, S sequences, R output rows. A plain value; thread-compatible.
struct Dim {
  int64_t factor = 1;
  char symbol = 0;  // 0: a constant, whose value is `factor`

  // An extent of 0 or more.
  static Dim constant(int64_t value) { return {value, 0}; }
  // `factor` times the symbol `name`, an upper-case letter.
  static Dim symbolic(char name, int64_t factor = 1) { return {factor, name}; }
  bool is_constant() const { return symbol == 0; }
  bool operator==(const Dim&) const = default;
};

// Run-time values of the symbols 'A' to 'Z'; -1 where unbound. A plain value; thread-compatible.
class SymbolValues {
 public:
  SymbolValues() { values_.fill(-1); }
  // The value, or -1 where it has none; so for characters that are no symbol.
  int64_t get(char symbol) const { return is_symbol(symbol) ? values_[index(symbol)] : -1; }
  // Binds a symbol; -1 unbinds it. A character that is no symbol is left alone.
  void set(char symbol, int64_t value) {
    if (is_symbol(symbol)) values_[index(symbol)] = value;
  }
  bool operator==(const SymbolValues&) const = default;

 private:
  static bool is_symbol(char c) { return c >= 'A' && c <= 'Z'; }
  static size_t index(char symbol) { return static_cast<size_t>(symbol - 'A'); }
  std::array<int64_t, 26> values_;
};

// What is known of a tensor before a run: dtype, extents, layout. A plain value; thread-compatible.
struct TensorType {
  DType dtype = DType::kF32;
  std::vector<Dim> dims;
  LayoutKind layout = LayoutKind::kRowMajor;

  int rank() const { return static_cast<int>(dims.size()); }
  // Without symbols: the shape is known already.
  bool is_static() const;
  // "f32[T, 576]", with "@private" and the like for layouts that are not row-major.
  std::string to_string() const;
  // The shape under these values. Errors: kFailedPrecondition for an unbound symbol,
  // kInvalidArgument for extents that Shape::make refuses.
  Result<Shape> resolve(const SymbolValues& symbols) const;
  bool operator==(const TensorType&) const = default;
};

// A value of one of the kinds of AttributeKind, in the order of that enumeration.
using AttributeValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
// "true", "5", "0.5", "\"text\"", "[1, 2]", "f[0.5]"; parses back to the same value, a double to
// the same bits (all NaNs are one).
std::string attribute_to_string(const AttributeValue& value);

// Values by name, sorted, so that equal sets print and hash alike. A node's holds a value for each
// attribute of its operation, defaults filled in. A plain value; thread-compatible.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> list)
      : values_(list) {}
  // Adds the attribute, or replaces its value.
  void set(std::string name, AttributeValue value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  // Null where there is none. Valid until the next set().
  const AttributeValue* find(std::string_view name) const;
  // The value of an attribute that the operation declares with that kind: for type rules and
  // kernels, which see checked nodes. Absence or another kind is a defect and ends the process.
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

// Index of a value in its graph, and of a node; kNoValue stands for an absent optional input.
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
  std::string device = {};  // where it runs; empty: the device that the graph is compiled for
};

// What one output port of a node yields. Immutable once its graph is made.
struct Value {
  TensorType type;
  NodeId producer = -1;
  int output = 0;    // port of the producer
  std::string name;  // the node's name; "node:port" where the operation has several outputs
};

// State that outlives an execution, read and written by name. Kind "kv" is a key-value cache with
// attributes layers, heads, key_dim, value_dim, key_type, value_type and, optionally,
// keeps_unrotated. A plain value; thread-compatible.
struct StateDecl {
  std::string name;
  std::string kind;
  Attributes attributes;
};

// A value that a run gives back, under the name that RunResult::find() knows.
struct GraphOutput {
  std::string name;
  ValueId value = kNoValue;
};

// Immutable; made by GraphBuilder or parse_graph. Nodes stand in an order that defines values
// before uses and keeps effects on the same state in program order. Thread-safe: nothing changes
// after it was made. Spans and references into it live as long as the graph and move with it.
class Graph {
 public:
  // All nodes, all values, by id.
  std::span<const Node> nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  std::span<const Value> values() const { return values_; }
  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  // In the order in which they were added; so the results of a run.
  std::span<const GraphOutput> outputs() const { return outputs_; }
  std::span<const StateDecl> states() const { return states_; }
  // Borrowed: the registry must outlive the graph.
  const OpRegistry& registry() const { return *registry_; }
  // Nodes of the operation "Input", in order; the input's name is the node's name.
  std::vector<NodeId> inputs() const;
  // The value of this name, or kNoValue.
  ValueId find_value(std::string_view name) const;
  // Null where there is none.
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
// inferred, uses after definitions, unique names, states declared.
// Errors: kInvalidArgument, naming the node and the rule.
Result<void> verify(const Graph& graph);

// The text form, a line for each state, node and output; parse_graph gives the same graph back.
//   graph {
//     %x = Input() {type = "f32[T, 64]"} : f32[T, 64]
//     %y = math.scale(%x) {factor = 0.5} : f32[T, 64]
//     output y = %y
//   }
// Attributes that have their default value are left out.
std::string print_graph(const Graph& graph);
// Reads the text form. Types behind ':' may be left out; where they stand they must be what the
// operation infers. '#' begins a comment. `registry` is borrowed by the graph.
// Errors: kInvalidArgument with line and column, also for what the operation refuses.
Result<Graph> parse_graph(std::string_view text, const OpRegistry& registry);

// Equal for graphs that differ only in the names of inner nodes; it covers operations with their
// versions, attributes, types, edges, effects' order, inputs, outputs and states. The same on every
// machine and in every run: a key for caches on disk.
uint64_t semantic_hash(const Graph& graph);

}  // namespace quern
