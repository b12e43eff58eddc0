// The rules of one node, shared by the builder and the verifier.
#pragma once

#include <span>
#include <vector>

#include "quern/graph.h"
#include "quern/op.h"

namespace quern {

// Checks that given attributes are declared and of their kind (an integer may stand for a number)
// and adds the defaults. Errors name operation, attribute and value.
// The result holds every declared attribute and no other, each of exactly its declared kind, so
// that kernels read them without a check. Code of all errors: invalid argument.
Result<Attributes> complete_attributes(const OpDef& op, const Attributes& given);
// Checks the number of inputs and that required ports are present.
// Absent inputs (kNoValue) may stand at optional ports and behind the last value, but not between
// the values of a variadic port.
Result<void> check_ports(const OpDef& op, std::span<const ValueId> inputs);
// Checks that inputs are values of a graph with `num_values` of them, or absent.
Result<void> check_ids(std::span<const ValueId> inputs, size_t num_values);
// Runs the operation's type rule; adds the operation's id to its errors.
// Needs inputs that check_ids() and check_ports() accept and complete attributes. One type for each
// output port; a rule that gives another number is an internal error.
Result<std::vector<TensorType>> infer_types(const OpDef& op, std::span<const Value> values,
                                            std::span<const ValueId> inputs,
                                            const Attributes& attributes,
                                            std::span<const StateDecl> states);

}  // namespace quern
