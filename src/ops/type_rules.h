// Checks that type rules share. Each error is a sentence with the port, its type and what it needs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "quern/op.h"

namespace quern::type_rules {

// Any float dtype, narrow ones too.
Result<void> expect_float(std::string_view port, const TensorType& type);
// Floats and integers of 8 bits and more.
Result<void> expect_number(std::string_view port, const TensorType& type);
// One of these dtypes; the error lists them all.
Result<void> expect_dtype(std::string_view port, const TensorType& type,
                          std::initializer_list<DType> allowed);
// Exactly this rank, or at least this one.
Result<void> expect_rank(std::string_view port, const TensorType& type, int rank);
Result<void> expect_rank_at_least(std::string_view port, const TensorType& type, int rank);
// `meaning` says what the extent must equal: "the rows of 'weight'".
// Symbols equal themselves alone. The axis must exist: check the rank first.
Result<void> expect_dim(std::string_view port, const TensorType& type, int axis, const Dim& wanted,
                        std::string_view meaning);
// A vector of floats with that extent; a null type (an absent port) passes.
Result<void> expect_vector(std::string_view port, const TensorType* type, const Dim& wanted,
                           std::string_view meaning);
// The extent of an axis, which must be a constant.
// Errors: a symbol.
Result<int64_t> constant_dim(std::string_view port, const TensorType& type, int axis);
// An attribute that repeats an extent; 0 says nothing.
Result<void> expect_declared(std::string_view attribute, int64_t declared, const Dim& found,
                             std::string_view meaning);
// An optional port that must be no wider than the values it meets: f64 only next to f64.
Result<void> expect_no_wider(std::string_view port, const TensorType* type, const TensorType& x);

// The type with the same dims but the last, which becomes `last`. Needs rank 1 or more.
TensorType with_last_dim(const TensorType& type, DType dtype, const Dim& last);

// Axis of `rank` that an attribute names; negative values count from the end.
// Errors: an axis outside [-rank, rank), and any axis of a scalar.
Result<int> resolve_axis(std::string_view attribute, int64_t axis, int rank);
// The same for an attribute of a context (InferContext or KernelContext).
template <class Context>
Result<int> axis_attribute(const Context& context, std::string_view name, int rank) {
  return resolve_axis(name, context.attributes.integer(name), rank);
}

// Elements that can be moved one by one: not block-quantised, 8 bits or more.
Result<void> expect_whole_elements(std::string_view port, const TensorType& type);
// A rank that `name` asks for; the limit is kMaxRank.
Result<void> check_rank_limit(std::string_view name, int64_t rank);
// The name of an input, for rules that many operations share; values of a variadic port have names
// of their own.
std::string port_name(const InferContext& context, size_t port);
// The input must have exactly the type `wanted`, which is the type of the port `other`.
Result<void> expect_same_type(const InferContext& context, size_t port, const TensorType& wanted,
                              std::string_view other);
// The same where the type is no other port's; `meaning` says what it is: "a row of the product".
Result<void> expect_type(const InferContext& context, size_t port, const TensorType& wanted,
                         std::string_view meaning);

}  // namespace quern::type_rules
