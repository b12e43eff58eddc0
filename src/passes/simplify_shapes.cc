// Moves of elements that cancel, do nothing, or follow one another. All are copies: exact.
#include <algorithm>
#include <numeric>

#include "passes/simplify_rules.h"

namespace quern {
namespace {

using Found = std::optional<Simpler>;

// The node is one of its inputs.
Found same_as(ValueId value) {
  return Simpler{.value = value};
}

// The last of two reshapes decides; to its own type it does nothing.
Found simplify_reshape(const SimplifyContext& context, const Draft& draft) {
  if (!draft.is("shape.reshape")) return std::nullopt;
  const ValueId x = draft.inputs[0];
  // Symbols included, so that [T, 4] to [T, 4] goes and [T, 4] to [4, T] stays.
  if (context.type(x) == draft.type) return same_as(x);
  const Node& inner = context.producer(x);
  if (inner.op->id != "shape.reshape") return std::nullopt;
  // The outer shape alone decides where elements go: both keep row-major order.
  return Simpler{.node = Draft{draft.op, {inner.inputs[0]}, draft.attributes, draft.type}};
}

// The source axis of each axis of the output of a transpose or permute.
std::vector<int64_t> axes_of(std::string_view id, const Attributes& attributes, int rank) {
  if (id == "shape.permute") {
    auto axes = attributes.integers("order");
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    return axes;
  }
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  int64_t a = attributes.integer("dim0"), b = attributes.integer("dim1");
  a += a < 0 ? rank : 0;
  b += b < 0 ? rank : 0;
  // A transpose is the permutation that swaps two places of the identity.
  std::swap(axes[static_cast<size_t>(a)], axes[static_cast<size_t>(b)]);
  return axes;
}

// The two operations that move axes and copy nothing else.
bool is_permutation_op(std::string_view id) {
  return id == "shape.permute" || id == "shape.transpose";
}

// Two permutations are one; the identity is none.
Found simplify_permutation(const SimplifyContext& context, const Draft& draft) {
  if (!is_permutation_op(draft.op->id)) return std::nullopt;
  ValueId source = draft.inputs[0];
  std::vector<int64_t> axes = axes_of(draft.op->id, draft.attributes, draft.type.rank());
  const Node& inner = context.producer(source);
  const bool is_double = is_permutation_op(inner.op->id);
  if (is_double) {
    const auto before = axes_of(inner.op->id, inner.attributes, draft.type.rank());
    // Output axis i comes from axis axes[i] of the middle, which came from before[axes[i]] of the
    // source.
    for (int64_t& axis : axes) axis = before[static_cast<size_t>(axis)];
    source = inner.inputs[0];
  }
  std::vector<int64_t> identity(axes.size());
  std::iota(identity.begin(), identity.end(), int64_t{0});
  if (axes == identity) return same_as(source);
  // One permutation alone has no simpler form.
  if (!is_double) return std::nullopt;
  return Simpler{.node =
                     Draft{context.op("shape.permute"), {source}, {{"order", axes}}, draft.type}};
}

// Start and end along an axis of constant extent; nothing for a symbolic one.
struct Bounds {
  int64_t axis = 0;
  int64_t start = 0;
  int64_t end = 0;
};
std::optional<Bounds> bounds_of(const Attributes& attributes, const TensorType& x) {
  Bounds bounds{attributes.integer("dim"), attributes.integer("start"), attributes.integer("end")};
  bounds.axis += bounds.axis < 0 ? x.rank() : 0;
  const Dim& extent = x.dims[static_cast<size_t>(bounds.axis)];
  if (!extent.is_constant()) return std::nullopt;
  // As in canonicalise: the whole axis.
  if (bounds.end == 0) bounds.end = extent.factor;
  return bounds;
}

// A slice of everything goes; a slice of a slice along one axis is one slice of the source.
Found simplify_slice(const SimplifyContext& context, const Draft& draft) {
  if (!draft.is("shape.slice")) return std::nullopt;
  const ValueId x = draft.inputs[0];
  if (context.type(x) == draft.type && draft.attributes.integer("start") == 0) return same_as(x);
  const Node& inner = context.producer(x);
  if (inner.op->id != "shape.slice") return std::nullopt;
  const auto outer_bounds = bounds_of(draft.attributes, context.type(x));
  const auto inner_bounds = bounds_of(inner.attributes, context.type(inner.inputs[0]));
  if (!outer_bounds || !inner_bounds || outer_bounds->axis != inner_bounds->axis) {
    return std::nullopt;
  }
  // x[a : b][c : d] = x[a + c : a + d].
  const int64_t end = inner_bounds->start + outer_bounds->end;
  if (end == 0) return std::nullopt;  // would mean the whole axis
  Attributes attributes{{"dim", outer_bounds->axis},
                        {"start", inner_bounds->start + outer_bounds->start},
                        {"end", end}};
  return Simpler{.node = Draft{draft.op, {inner.inputs[0]}, std::move(attributes), draft.type}};
}

// Joining one tensor, repeating nothing, choosing between equals, merging what was just split.
Found simplify_rest(const SimplifyContext& context, const Draft& draft) {
  const ValueId x = draft.inputs[0];
  if (draft.is("shape.concat") && draft.inputs.size() == 1) return same_as(x);
  if (draft.is("shape.broadcast") && context.type(x) == draft.type) return same_as(x);
  if (draft.is("shape.select_rows") && draft.inputs[0] == draft.inputs[1]) return same_as(x);
  // [B, T, H*D] -> [B, H, T, D] -> [B, T, H*D]: every element is back where it was.
  if (draft.is("shape.merge_heads") && context.is_made_by(x, "shape.view_as_heads")) {
    return same_as(context.producer(x).inputs[0]);
  }
  return std::nullopt;
}

constexpr SimplifyRule kShapeRules[] = {simplify_reshape, simplify_permutation, simplify_slice,
                                        simplify_rest};

}  // namespace

// The first rule that fits.
std::optional<Simpler> simplify_shapes(const SimplifyContext& context, const Draft& draft) {
  if (!draft.op->id.starts_with("shape.")) return std::nullopt;
  for (const SimplifyRule rule : kShapeRules) {
    if (auto found = rule(context, draft)) return found;
  }
  return std::nullopt;
}

}  // namespace quern
