// What an operation declares: ports, attributes, types, effect, meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/error.h"
#include "quern/graph.h"
#include "quern/shape.h"

namespace quern {

class GraphBuilder;
class KvState;
struct OpDef;

// What an operation does beyond giving outputs. Passes merge and drop pure nodes only; the order of
// effects on one state is kept.
enum class Effect : uint8_t { kPure, kRandom, kStateRead, kStateWrite, kCheckpoint, kExternal };
// "pure", "random", "state_read", ...
std::string_view effect_name(Effect effect);

// The type of an attribute's value; the order is that of AttributeValue's alternatives.
enum class AttributeKind : uint8_t { kFlag, kInteger, kNumber, kText, kIntegers, kNumbers };
// "flag", "integer", "number", "text", "list of integers", "list of numbers".
std::string_view attribute_kind_name(AttributeKind kind);

// An input or output of an operation. A plain value.
struct PortDef {
  std::string name = {};
  bool is_optional = false;
  bool is_variadic = false;    // the last input port only: any number of values from one up
  bool is_table_only = false;  // no port in the form `estimator` (OpDef::table_inputs)
};

// An attribute that an operation knows. A plain value.
struct AttributeDef {
  std::string name = {};
  AttributeKind kind = AttributeKind::kNumber;
  std::optional<AttributeValue> default_value = {};  // absent: it must be given
  std::string doc = {};
  std::vector<std::string> choices = {};  // for kText: the allowed values; empty allows any
};

// Dense row-major view of host memory; `data` is null for an absent optional input. Borrowed: valid
// during the call of the kernel that gets it. Thread-compatible.
struct TensorView {
  DType dtype = DType::kF32;
  Shape shape;
  std::byte* data = nullptr;

  // The elements as T, which must be what the dtype stores.
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  bool is_present() const { return data != nullptr; }
};

// What the type rule of an operation sees, all of it borrowed. A null type is an absent optional
// input; there is an entry for each declared port, and more for a variadic one.
struct InferContext {
  std::span<const TensorType* const> inputs;
  const Attributes& attributes;
  std::span<const StateDecl> states;
  const OpDef* op = nullptr;  // for the names of ports in errors
};

// What a reference kernel sees: dense inputs, outputs of the inferred types whose bytes may be
// anything, attributes with all defaults. Borrowed for the call. Kernels do not write inputs.
struct KernelContext {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  const Attributes& attributes;
  KvState* kv = nullptr;  // the state that the attribute `state` names
  uint32_t stream = 0;    // random numbers: the run's step counter
  uint32_t node_id = 0;   // random numbers: index of the node in its graph
};

// Ports, rules and meaning of one operation: what docs/adding_an_op.md walks through. A plain
// value; thread-safe once it is in a registry.
struct OpDef {
  // Output types from input types and attributes; every error of a graph's author comes from here.
  using Infer = Result<std::vector<TensorType>> (*)(const InferContext&);
  // Computes the outputs on the host. Pure but for the state in the context; thread-safe.
  using Kernel = Result<void> (*)(const KernelContext&);
  // Appends the expansion into simpler operations to the builder and returns the outputs, one for
  // each port of the node. Errors are the builder's.
  using Expand = Result<std::vector<ValueId>> (*)(GraphBuilder&, const Node&);

  std::string id = {};          // "math.rmsnorm"
  int version = 1;              // raised when the meaning changes
  std::string doc = {};         // the formula and its steps, one paragraph
  std::string shape_rule = {};  // dtypes and extents of ports and results, in words
  std::string edge_rule = {};   // NaN, infinities, no elements, errors of a run, in words
  // Most that a result in f32 may differ from the exact one of the same inputs, in units of one ulp
  // of the exact result plus the change that half an ulp in each input makes. 0: none, also where
  // the result is no float.
  double f32_bound = 0;
  // The unit also holds an ulp of the largest number among 1 and the inputs: for results that are
  // what remains after large terms cancel.
  bool f32_cancels = false;
  // Names of the input ports in the form `table`, all required; empty if both forms have `inputs`.
  std::vector<std::string> table_inputs = {};
  std::vector<PortDef> inputs = {};
  std::vector<PortDef> outputs = {};
  std::vector<AttributeDef> attributes = {};
  Effect effect = Effect::kPure;
  Infer infer = nullptr;
  Kernel reference = nullptr;  // absent for graph-only operations
  Expand expand = nullptr;     // present for composites: the expansion is the definition
  std::string alias_of = {};   // another id with the same meaning, or empty
  int in_place_input = -1;     // output 0 may take the storage of this input
  // Element i of the only output depends on element i of each input alone, and its type is that of
  // the first input; a shorter input repeats along the last axis.
  bool is_elementwise = false;
  bool is_commutative = false;  // f(a, b) and f(b, a) have equal bits where a and b have one type

  // Null where the operation knows no such attribute.
  const AttributeDef* find_attribute(std::string_view name) const;
  // Input ports as the attribute `form` makes them, without those of the other form.
  std::vector<PortDef> input_ports(const Attributes& given) const;
};

// All operations by id. Built once by register_ops, then read-only and thread-safe. Graphs borrow
// it: it must outlive them, and must not grow while they live.
class OpRegistry {
 public:
  // A second definition of an id is a defect and ends the process.
  void add(OpDef op);
  // Null if there is none.
  const OpDef* find(std::string_view id) const;
  // In order of ids.
  std::vector<const OpDef*> list() const;

 private:
  std::map<std::string, OpDef, std::less<>> ops_;
};

// The operations of this build. Made at the first call, which is thread-safe; lives until the end.
const OpRegistry& builtin_ops();

}  // namespace quern
