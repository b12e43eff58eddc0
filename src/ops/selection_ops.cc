// Finding the largest elements of rows: argmax and top k.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/max_min.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Rows whose indices fit i32 and that have an element. A symbolic extent is checked at run time.
Result<void> check_extent(int64_t n) {
  if (n >= 1 && n <= std::numeric_limits<int32_t>::max()) return {};
  return fail::invalid("Port 'x' has rows of {} elements; they need 1 to 2147483647.", n);
}

// Floats of rank 1 or more; a known last extent is checked before any run.
Result<void> check_rows(const TensorType& x) {
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank_at_least("x", x, 1));
  // A constant is its factor; a symbol waits for the run.
  return x.dims.back().is_constant() ? check_extent(x.dims.back().factor) : Result<void>{};
}

// The last axis goes away.
Result<std::vector<TensorType>> infer_argmax(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(check_rows(x));
  TensorType indices{.dtype = DType::kI32, .dims = x.dims};
  indices.dims.pop_back();
  return std::vector<TensorType>{std::move(indices)};
}

// The index of the largest element of each row. A NaN wins over every number, so that a broken
// row shows.
template <class T>
void argmax(const TensorView& x, int32_t* indices) {
  const int64_t n = x.shape.last();
  std::vector<T> row(static_cast<size_t>(n));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    load_row(x, r * n, n, row.data());
    size_t best = 0;
    // Only a larger element takes over, so that the lowest index of equals stays.
    for (size_t i = 1; i < row.size(); ++i) {
      if (is_larger_or_nan(row[i], row[best])) best = i;
    }
    indices[r] = static_cast<int32_t>(best);
  }
}

// A symbolic extent may turn out to be empty only now.
Result<void> run_argmax(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  QUERN_TRY(check_extent(x.shape.last()));
  with_compute_type(x.dtype, [&]<class T>(T) { argmax<T>(x, context.outputs[0].as<int32_t>()); });
  return {};
}

// The last extent becomes k; values keep the dtype, indices are i32.
Result<std::vector<TensorType>> infer_top_k(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(check_rows(x));
  const int64_t k = context.attributes.integer("k");
  // Against a symbol only the lower limit can be checked.
  const bool is_too_many = x.dims.back().is_constant() && k > x.dims.back().factor;
  if (k < 1 || is_too_many) {
    return fail::invalid("Attribute 'k' is {}; it must be from 1 to the last extent of {}.", k,
                         x.to_string());
  }
  return std::vector<TensorType>{with_last_dim(x, x.dtype, Dim::constant(k)),
                                 with_last_dim(x, DType::kI32, Dim::constant(k))};
}

// Sorts the first k of each row. The comparison is a strict weak order: NaN first, then
// descending, then by index, which makes the sort stable.
template <class T>
void top_k(const TensorView& x, const TensorView& values, int32_t* indices) {
  const int64_t n = x.shape.last(), k = values.shape.last();
  std::vector<T> row(static_cast<size_t>(n));
  std::vector<T> best(static_cast<size_t>(k));
  std::vector<int32_t> order(static_cast<size_t>(n));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    load_row(x, r * n, n, row.data());
    // Indices are sorted, the row stays where it is.
    std::iota(order.begin(), order.end(), 0);
    // partial_sort keeps no order of equals; the index as last criterion does.
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int32_t a, int32_t b) {
      const T va = row[static_cast<size_t>(a)], vb = row[static_cast<size_t>(b)];
      if (is_larger_or_nan(va, vb)) return true;
      return !is_larger_or_nan(vb, va) && a < b;
    });
    std::copy_n(order.begin(), k, indices + r * k);
    // A narrow float that widened rounds back to its own bits.
    for (size_t i = 0; i < best.size(); ++i) best[i] = row[static_cast<size_t>(order[i])];
    store_row(values, r * k, k, best.data());
  }
}

// k may exceed an extent that was a symbol in the rule.
Result<void> run_top_k(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  QUERN_TRY(check_extent(x.shape.last()));
  if (context.outputs[0].shape.last() > x.shape.last()) {
    return fail::invalid("Attribute 'k' is {}; input 'x' has rows of {} elements.",
                         context.outputs[0].shape.last(), x.shape.last());
  }
  with_compute_type(x.dtype, [&]<class T>(T) {
    top_k<T>(x, context.outputs[0], context.outputs[1].as<int32_t>());
  });
  return {};
}

}  // namespace

void register_selection_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "reduction.argmax",
                .doc = "Index of the largest element along the last axis, which is removed. NaN "
                       "counts as largest; the lowest index among equals (+0 equals -0). Rows "
                       "without elements are an error.",
                .shape_rule = "x [..., N] floats; indices i32 [...].",
                .edge_rule = "No rows give none.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("indices")},
                .infer = infer_argmax,
                .reference = run_argmax});
  registry.add({.id = "sort.top_k",
                .doc = "The k largest elements along the last axis, descending, and their "
                       "indices. NaN counts as largest; equal elements keep their order.",
                .shape_rule = "x [..., N] floats; values [..., k] of its dtype, indices i32 "
                              "[..., k].",
                .edge_rule = "+0 and -0 are equal. A k outside 1 to N is refused. No rows "
                             "give none.",
                .f32_bound = 0,
                .inputs = {port("x")},
                .outputs = {port("values"), port("indices")},
                .attributes = {integer("k", kRequired, "From 1 to the last extent.")},
                .infer = infer_top_k,
                .reference = run_top_k});
}

}  // namespace quern
