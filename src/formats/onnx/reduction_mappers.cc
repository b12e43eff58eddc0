// ONNX operators that reduce or scan axes.
// Axes come as attribute or as input, depending on the version of the operator.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// Steps of a scan that a graph is unrolled into.
constexpr int64_t kMaxScan = 4096;

// Axes and whether they stay as extents of 1; they come as attribute or as input, by version.
struct Reduction {
  ValueId x = kNoValue;
  Dims axes;  // ascending, from the front
  bool keep_dims = true;
};

// Axes are an attribute in old versions and an input in new ones; none means all, or none at all
// with noop_with_empty_axes.
Result<Reduction> read_reduction(NodeContext& c) {
  Reduction r;
  r.x = c.in(0);
  r.keep_dims = c.integer("keepdims", 1) != 0;
  const int64_t rank = c.g().rank(r.x);
  Dims axes = c.integers("axes");
  if (c.has(1)) {
    QUERN_ASSIGN_OR_RETURN(axes, c.ints(1));
  }
  for (const int64_t axis : axes) {
    QUERN_ASSIGN_OR_RETURN(const int64_t normal, normal_axis(axis, rank));
    r.axes.push_back(normal);
  }
  // binary_search() below relies on it.
  std::ranges::sort(r.axes);
  if (r.axes.empty() && c.integer("noop_with_empty_axes", 0) == 0) {
    r.axes.resize(static_cast<size_t>(rank));
    std::iota(r.axes.begin(), r.axes.end(), int64_t{0});
  }
  return r;
}

// The result's dtype is the input's; integer sums are exact in i64 before that.
ValueId reduce(TensorAlgebra& g, std::string_view name, const Reduction& r, ValueId x) {
  return g.cast(g.reduce(name, x, r.axes, r.keep_dims), g.dtype(r.x));
}

// Of the result.
Dims reduced_dims(const Dims& dims, const Reduction& r) {
  Dims reduced;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!std::ranges::binary_search(r.axes, static_cast<int64_t>(i))) {
      reduced.push_back(dims[i]);
    } else if (r.keep_dims) {
      reduced.push_back(1);
    }
  }
  return reduced;
}

// Empty axes mean all, or none where the attribute says so.
Result<void> reduce_sum(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, r.axes.empty() ? c.g().op("shape.reshape", {r.x}, {{"shape", c.g().dims(r.x)}})
                          : reduce(c.g(), "sum", r, r.x));
  return c.done();
}
Result<void> reduce_mean(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, reduce(c.g(), "mean", r, r.x));
  return c.done();
}
Result<void> reduce_prod(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, reduce(c.g(), "prod", r, r.x));
  return c.done();
}
Result<void> reduce_l1(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, reduce(c.g(), "l1_norm", r, r.x));
  return c.done();
}
Result<void> reduce_sum_square(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, reduce(c.g(), "sum", r, c.g().op("math.mul", {r.x, r.x})));
  return c.done();
}
Result<void> reduce_l2(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  const ValueId sum = reduce(c.g(), "sum", r, c.g().op("math.mul", {r.x, r.x}));
  c.out(0, c.g().op("elementwise.sqrt", {sum}));
  return c.done();
}
Result<void> reduce_log_sum(NodeContext& c) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  c.out(0, c.g().op("math.log", {reduce(c.g(), "sum", r, r.x)}));
  return c.done();
}

// Without elements the result is the neutral one, which the operation itself has not.
Result<void> reduce_extreme(NodeContext& c, std::string_view name, double neutral) {
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  const Dims dims = c.g().dims(r.x), reduced = reduced_dims(dims, r);
  if (count_of(dims) == 0 && count_of(reduced) > 0) {
    c.out(0, c.g().broadcast(c.g().scalar(r.x, neutral), reduced));
  } else {
    c.out(0, reduce(c.g(), name, r, r.x));
  }
  return c.done();
}
// NaN wins, as the reductions here define it.
Result<void> reduce_max(NodeContext& c) {
  return reduce_extreme(c, "reduce_max", -std::numeric_limits<double>::infinity());
}
Result<void> reduce_min(NodeContext& c) {
  return reduce_extreme(c, "reduce_min", std::numeric_limits<double>::infinity());
}

// All reduced axes side by side at the end, then math.logsumexp.
Result<void> reduce_log_sum_exp(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Reduction r, read_reduction(c));
  const Dims dims = g.dims(r.x), reduced = reduced_dims(dims, r);
  if (count_of(dims) == 0) {
    c.out(0, g.broadcast(g.scalar(r.x, -std::numeric_limits<double>::infinity()), reduced));
    return c.done();
  }
  Dims order, rows;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    if (std::ranges::binary_search(r.axes, i)) continue;
    order.push_back(i);
    rows.push_back(dims[static_cast<size_t>(i)]);
  }
  //   kept axes | reduced axes  ->  [rows, elements of a row]
  order.insert(order.end(), r.axes.begin(), r.axes.end());
  const int64_t num_rows = count_of(rows);
  const ValueId flat = g.reshape(g.permute(r.x, order), {num_rows, count_of(dims) / num_rows});
  c.out(0, g.reshape(g.op("math.logsumexp", {flat}), reduced));
  return c.done();
}

// The index of the extreme along one axis. The last among equals is the first of the reverse.
Result<void> arg_extreme(NodeContext& c, std::string_view id) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const Dims dims = g.dims(x);
  const auto rank = static_cast<int64_t>(dims.size());
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", 0, rank));
  const int64_t extent = dims[static_cast<size_t>(axis)];
  ValueId rows = g.move_axis(x, axis, rank - 1);
  const bool takes_last = c.integer("select_last_index", 0) != 0;
  if (takes_last) {
    if (!g.allows(extent)) return c.done();
    std::vector<int64_t> reversed(static_cast<size_t>(extent));
    for (size_t i = 0; i < reversed.size(); ++i) reversed[i] = extent - 1 - static_cast<int64_t>(i);
    rows = g.take(rows, rank - 1, reversed);
  }
  ValueId index = g.cast(g.op(id, {rows}), DType::kI64);
  if (takes_last) {
    // Place i of the reversed row is place extent - 1 - i of the row.
    index = g.binary("elementwise.sub", g.scalar(index, static_cast<double>(extent - 1)), index);
  }
  Dims result = dims;
  result[static_cast<size_t>(axis)] = 1;
  if (c.integer("keepdims", 1) == 0) result.erase(result.begin() + axis);
  c.out(0, g.reshape(index, result));
  return c.done();
}
// The first or last of equal elements.
Result<void> arg_max(NodeContext& c) {
  return arg_extreme(c, "reduction.argmax");
}
Result<void> arg_min(NodeContext& c) {
  return arg_extreme(c, "reduction.argmin");
}

// Slice by slice, so that integers stay exact.
Result<void> scan(NodeContext& c, std::string_view id, double neutral) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const Dims dims = g.dims(x);
  QUERN_ASSIGN_OR_RETURN(const int64_t given, c.known_int(1));
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, normal_axis(given, static_cast<int64_t>(dims.size())));
  const int64_t extent = dims[static_cast<size_t>(axis)];
  if (extent < 1 || extent > kMaxScan) {
    return fail::unimplemented("A scan of {} elements is outside 1 to {}.", extent, kMaxScan);
  }
  const bool is_exclusive = c.integer("exclusive", 0) != 0,
             is_reverse = c.integer("reverse", 0) != 0;
  std::vector<ValueId> parts;
  Dims slab = dims;
  slab[static_cast<size_t>(axis)] = 1;
  ValueId total = g.broadcast(g.scalar(x, neutral), slab);
  for (int64_t step = 0; step < extent; ++step) {
    const int64_t i = is_reverse ? extent - 1 - step : step;
    const ValueId before = total;
    total = g.op(id, {total, g.slice(x, axis, i, i + 1)});
    // Exclusive: the sum of what comes before, beginning with the neutral value.
    parts.push_back(is_exclusive ? before : total);
  }
  if (is_reverse) std::ranges::reverse(parts);
  c.out(0, g.concat(parts, axis));
  return c.done();
}
// With exclusive and reverse forms.
Result<void> cum_sum(NodeContext& c) {
  return scan(c, "math.add", 0);
}
Result<void> cum_prod(NodeContext& c) {
  return scan(c, "math.mul", 1);
}

constexpr std::array kMappers = {
    OpMapper{"ArgMax", arg_max},
    OpMapper{"ArgMin", arg_min},
    OpMapper{"CumProd", cum_prod},
    OpMapper{"CumSum", cum_sum},
    OpMapper{"ReduceL1", reduce_l1},
    OpMapper{"ReduceL2", reduce_l2},
    OpMapper{"ReduceLogSum", reduce_log_sum},
    OpMapper{"ReduceLogSumExp", reduce_log_sum_exp},
    OpMapper{"ReduceMax", reduce_max},
    OpMapper{"ReduceMean", reduce_mean},
    OpMapper{"ReduceMin", reduce_min},
    OpMapper{"ReduceProd", reduce_prod},
    OpMapper{"ReduceSum", reduce_sum},
    OpMapper{"ReduceSumSquare", reduce_sum_square},
};

}  // namespace

std::span<const OpMapper> reduction_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
