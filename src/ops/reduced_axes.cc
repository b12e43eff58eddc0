// The index arithmetic of a reduction over some axes.
#include "ops/reduced_axes.h"

#include <fmt/format.h>

#include "base/fail.h"
#include "ops/strided_copy.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

// One flag for each axis: is it reduced?
Result<std::vector<bool>> reduced_flags(int rank, std::span<const int64_t> axes) {
  std::vector<bool> is_reduced(static_cast<size_t>(rank), axes.empty());
  for (const int64_t axis : axes) {
    QUERN_ASSIGN_OR_RETURN(const int resolved, type_rules::resolve_axis("axes", axis, rank));
    if (is_reduced[static_cast<size_t>(resolved)]) {
      return fail::invalid("Attribute 'axes' [{}] names axis {} twice.", fmt::join(axes, ", "),
                           resolved);
    }
    is_reduced[static_cast<size_t>(resolved)] = true;
  }
  return is_reduced;
}

}  // namespace

// Offsets of all index tuples of `axes` in order. Neighbouring axes are one run with a constant
// stride and need no list; no axes at all are the single offset 0.
AxisOffsets::AxisOffsets(const Shape& shape, std::span<const int> axes) {
  bool are_neighbours = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    count_ *= shape[axes[i]];
    are_neighbours = are_neighbours && (i == 0 || axes[i] == axes[i - 1] + 1);
  }
  const auto strides = dense_strides(shape);
  // Axes that follow one another are a single axis of the product of their extents, whose stride is
  // that of the last.
  if (!axes.empty()) stride_ = strides[static_cast<size_t>(axes.back())];
  if (are_neighbours || count_ == 0) return;
  list_.reserve(static_cast<size_t>(count_));
  // Row-major: the last axis counts fastest, whatever lies between the axes in memory.
  for (int64_t i = 0; i < count_; ++i) {
    int64_t rest = i, offset = 0;
    for (size_t a = axes.size(); a-- > 0;) {
      offset += rest % shape[axes[a]] * strides[static_cast<size_t>(axes[a])];
      rest /= shape[axes[a]];
    }
    list_.push_back(offset);
  }
}

// Splits the axes into those that are kept and those that are reduced; no axes mean all.
Result<ReducedAxes> ReducedAxes::make(const Shape& shape, std::span<const int64_t> axes) {
  QUERN_ASSIGN_OR_RETURN(const auto is_reduced, reduced_flags(shape.rank(), axes));
  std::vector<int> kept, reduced;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    // Both lists ascend, as AxisOffsets wants.
    (is_reduced[static_cast<size_t>(axis)] ? reduced : kept).push_back(axis);
  }
  ReducedAxes result;
  result.kept_ = AxisOffsets(shape, kept);
  result.reduced_ = AxisOffsets(shape, reduced);
  return result;
}

// The extents that remain; reduced ones are 1 or gone.
Result<std::vector<Dim>> reduced_dims(const TensorType& x, std::span<const int64_t> axes,
                                      bool keep_dims) {
  QUERN_ASSIGN_OR_RETURN(const auto is_reduced, reduced_flags(x.rank(), axes));
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < x.dims.size(); ++axis) {
    if (!is_reduced[axis]) dims.push_back(x.dims[axis]);
    if (is_reduced[axis] && keep_dims) dims.push_back(Dim::constant(1));
  }
  return dims;
}

}  // namespace quern
