// Common shapes and the nodes that lead to them.
#include "ops/broadcasting.h"

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "ir/variadic_port.h"

namespace quern {
namespace {

// The operations whose inputs must have one shape: those that front ends with implicit
// broadcasting (ONNX, NumPy-like builders) write with differing ones. Sorted by id.
// A list and not a flag of the operation: what broadcasts is a matter of these front ends. Aliases
// have their own line, since an id is looked up as it is written.
constexpr std::array<std::string_view, 17> kEqualShapes = {"Add",
                                                           "Mul",
                                                           "compare.equal",
                                                           "compare.less",
                                                           "compare.less_or_equal",
                                                           "elementwise.axpy",
                                                           "elementwise.div",
                                                           "elementwise.max",
                                                           "elementwise.min",
                                                           "elementwise.quotient",
                                                           "elementwise.remainder",
                                                           "elementwise.sub",
                                                           "math.add",
                                                           "math.mul",
                                                           "math.pow",
                                                           "vsa.bind",
                                                           "vsa.bundle"};

using Dims = std::vector<Dim>;

// Extents of both, aligned at the end; nothing where they do not fit.
// From the last axis to the first; a missing axis counts as 1. Two different symbols do not fit,
// and a symbol fits 1 or itself: whether T equals 3 is not known here. 0 with 1 gives 0.
std::optional<Dims> common_dims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), Dim::constant(1));
  for (size_t i = 1; i <= dims.size(); ++i) {
    const Dim one = Dim::constant(1);
    const Dim from_a = i <= a.size() ? a[a.size() - i] : one;
    const Dim from_b = i <= b.size() ? b[b.size() - i] : one;
    if (from_a != from_b && from_a != one && from_b != one) return std::nullopt;
    // Where both are 1 the result is 1.
    dims[dims.size() - i] = from_a == one ? from_b : from_a;
  }
  return dims;
}

// math.add takes a vector along the last axis of its first input by itself.
// `y` has one axis, as long as the last of x: a bias, for which math.add needs no copy of the
// vector in every row. With x of rank 1 both inputs are equal anyway.
bool is_bias(const OpDef& op, const Dims& x, const Dims& y) {
  const bool is_add = op.id == "math.add" || op.alias_of == "math.add" || op.id == "Add";
  return is_add && y.size() == 1 && !x.empty() && x.back() == y.front();
}

// Adds one shape.broadcast node for each input that lacks the common shape. Present inputs that
// have it already are passed on without a node, so that a graph without broadcasting stays as it
// was.
class Broadcaster {
 public:
  Broadcaster(GraphBuilder& builder, std::span<const ValueId> inputs)
      : builder_(builder), inputs_(inputs) {}

  // The inputs of `op` with the common shape, absent ones as they were; `name` begins the names
  // of the new nodes.
  Result<std::vector<ValueId>> run(const OpDef& op, std::string_view name) {
    QUERN_TRY(find_target(op));
    std::vector<ValueId> outputs(inputs_.begin(), inputs_.end());
    // The last port of a variadic operation takes all further inputs, and its number tells their
    // nodes apart.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == kNoValue || dims_of(inputs_[i]) == target_) continue;
      const size_t port = std::min(i, op.inputs.size() - 1);
      const std::string suffix = op.inputs[port].is_variadic
                                     ? fmt::format("{}{}", op.inputs[port].name, i)
                                     : op.inputs[port].name;
      QUERN_ASSIGN_OR_RETURN(outputs[i],
                             broadcast(inputs_[i], fmt::format("{}.broadcast.{}", name, suffix)));
    }
    return outputs;
  }

 private:
  // The caller has made sure that every present input has a type.
  const Dims& dims_of(ValueId value) const { return builder_.type(value)->dims; }

  // The common shape of all present inputs, or the error that names the two types that clash.
  Result<void> find_target(const OpDef& op) {
    const ValueId* first = nullptr;
    for (const ValueId& input : inputs_) {
      if (input == kNoValue) continue;
      // The target grows from the first present input. A pair that clashes is reported with the
      // first input and the one at hand, whose types the author knows, and not with a shape in
      // between.
      if (first == nullptr) {
        first = &input;
        target_ = dims_of(input);
        continue;
      }
      auto common = common_dims(target_, dims_of(input));
      if (!common) {
        const auto port = [&](const ValueId& value) {
          return input_name(op.inputs, static_cast<size_t>(&value - inputs_.data()));
        };
        return fail::invalid(
            "Ports '{}' and '{}' have types {} and {}, which do not broadcast to a common shape.",
            port(*first), port(input), builder_.type(*first)->to_string(),
            builder_.type(input)->to_string());
      }
      target_ = std::move(*common);
    }
    return {};
  }

  // A node that repeats `value` to the target. Constant extents go into the attribute; extents
  // with symbols need an input that has the target shape, for the port 'like'.
  // A symbol has no number before the run, so that the node must read the extent from a tensor.
  Result<ValueId> broadcast(ValueId value, const std::string& name) {
    const bool is_static = std::ranges::all_of(target_, &Dim::is_constant);
    if (is_static) {
      std::vector<int64_t> shape;
      for (const Dim& dim : target_) shape.push_back(dim.factor);
      // An empty list would ask for a port instead; rank 0 never needs a broadcast.
      return builder_.add("shape.broadcast", {value}, {{"shape", std::move(shape)}}, name);
    }
    for (const ValueId like : inputs_) {
      if (like == kNoValue || dims_of(like) != target_) continue;
      return builder_.add("shape.broadcast", {value, like}, {}, name);
    }
    return fail::invalid("{} broadcasts to a shape with symbols that no input has.",
                         builder_.type(value)->to_string());
  }

  GraphBuilder& builder_;
  std::span<const ValueId> inputs_;
  Dims target_;
};

}  // namespace

bool takes_equal_shapes(const OpDef& op) {
  return std::ranges::find(kEqualShapes, op.id) != kEqualShapes.end();
}

// Returned as they are also where the builder has an error already: it is the author's first one,
// and another about shapes would hide it.
Result<std::vector<ValueId>> broadcast_inputs(GraphBuilder& builder, const OpDef& op,
                                              std::span<const ValueId> inputs,
                                              std::string_view name) {
  const std::vector<ValueId> same(inputs.begin(), inputs.end());
  if (!takes_equal_shapes(op)) return same;
  for (const ValueId input : inputs) {
    if (input != kNoValue && builder.type(input) == nullptr)
      return same;  // the builder has an error
  }
  if (inputs.size() == 2 && inputs[0] != kNoValue && inputs[1] != kNoValue &&
      is_bias(op, builder.type(inputs[0])->dims, builder.type(inputs[1])->dims)) {
    return same;
  }
  return Broadcaster(builder, inputs).run(op, name);
}

}  // namespace quern
