// The rules of the pass `simplify`, by kind.
#pragma once

#include <optional>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"
#include "quern/op.h"

namespace quern {

// A node of the new graph that is not written yet; inputs are values of that graph.
struct Draft {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs = {};
  Attributes attributes = {};
  TensorType type = {};  // of its only output

  bool is(std::string_view id) const { return op->id == id; }
};

// What a rule found: an existing value instead of the node, or another node instead of it.
struct Simpler {
  ValueId value = kNoValue;
  std::optional<Draft> node = {};
};

// A rule of strict numerics keeps the bits for every input: zeros of both signs, denormals,
// infinities, NaN (whose payload is not part of the promise), and every dtype the operation takes.
struct SimplifyContext {
  const Graph& graph;  // the new graph so far
  Numerics numerics;

  const Value& value(ValueId id) const { return graph.value(id); }
  const TensorType& type(ValueId id) const { return graph.value(id).type; }
  // The node that makes a value.
  const Node& producer(ValueId id) const { return graph.node(graph.value(id).producer); }
  bool is_made_by(ValueId id, std::string_view op) const { return producer(id).op->id == op; }
  // The one number that all elements of a constant are, where they are one; never NaN.
  std::optional<double> splat(ValueId id) const;
  const OpDef* op(std::string_view id) const { return graph.registry().find(id); }
};

using SimplifyRule = std::optional<Simpler> (*)(const SimplifyContext& context, const Draft& draft);

// x + -0, x * 1, x - (-y), max(x, x), ...
std::optional<Simpler> simplify_arithmetic(const SimplifyContext& context, const Draft& draft);
// math.cast to the same dtype, back from a wider one, or through one.
std::optional<Simpler> simplify_casts(const SimplifyContext& context, const Draft& draft);
// Reshapes, transposes, slices and joins that move nothing, or that one can do.
std::optional<Simpler> simplify_shapes(const SimplifyContext& context, const Draft& draft);

}  // namespace quern
