// Operations with two published forms, `estimator` (samples) and `table` (probabilities), chosen by
// the attribute `form`. Ports are in the order of the doc; later ones belong to one form only.
#pragma once

#include <vector>

#include "ops/op_parts.h"
#include "quern/op.h"

namespace quern {

// `form`: "estimator" (the default) or "table".
AttributeDef form_attribute();

// For InferContext and KernelContext.
template <class Context>
bool is_table(const Context& context) {
  return context.attributes.text("form") == "table";
}

// The type of a float port that must be present; any rank where `rank` is -1.
// Errors: an absent port, integers, another rank.
Result<TensorType> float_port(const InferContext& context, size_t port, int rank = -1);
// A port of class labels, masks or edges (integers of at least 8 bits) with these extents.
Result<void> expect_integers(const InferContext& context, size_t port, std::vector<Dim> dims);
// A present port must have exactly this type.
// Extents may be symbols, which must be the same ones.
Result<void> expect_port(const InferContext& context, size_t port, const TensorType& wanted);
// Refuses a port that only the other form reads: ignored, it would look as if it counted.
Result<void> expect_absent(const InferContext& context, size_t port);

}  // namespace quern
