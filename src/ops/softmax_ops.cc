// Softmax and its relatives over the last axis.
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/lanes.h"
#include "ops/math/strict_math.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// e[i] = exp(x[i] - max) in place of x, with what the formulas need of the row.
template <class T>
struct ShiftedRow {
  T max;
  T sum;  // lanes(32) of e
};

// Fills e and returns the row's maximum and sum. The maximum is subtracted first, so that no
// exponential overflows; a row of only -infinity gives NaN by -inf - -inf.
template <class T>
ShiftedRow<T> shift_and_exp(const std::vector<T>& x, std::vector<T>& e) {
  const auto n = static_cast<int64_t>(x.size());
  // strict_max carries a NaN of any element, so that the whole row becomes NaN.
  const T max = lanes_max<T>(n, [&](int64_t i) { return x[static_cast<size_t>(i)]; });
  for (size_t i = 0; i < x.size(); ++i) e[i] = strict_exp(x[i] - max);
  return {max, lanes_sum<T>(n, [&](int64_t i) { return e[static_cast<size_t>(i)]; })};
}

// Calls row(x, e, first) for each row of n > 0 elements; e is scratch of the same size.
template <class T, class F>
void for_each_row(const TensorView& x, F&& row) {
  const int64_t n = x.shape.last();
  // Rows without elements have nothing to write, and no maximum.
  if (n == 0) return;
  // Two rows of scratch serve the whole tensor.
  std::vector<T> values(static_cast<size_t>(n));
  std::vector<T> scratch(static_cast<size_t>(n));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    load_row(x, r * n, n, values.data());
    row(values, scratch, r);
  }
}

// One multiplication by the reciprocal of the sum for each element, not a division: what all
// backends do.
template <class T>
void softmax(const TensorView& x, const TensorView& y) {
  for_each_row<T>(x, [&](const std::vector<T>& row, std::vector<T>& e, int64_t r) {
    // The sum is at least exp(0) = 1 unless the row holds NaN or an infinite maximum.
    const T inv = T(1) / shift_and_exp(row, e).sum;
    for (T& v : e) v = v * inv;
    store_row(y, r * x.shape.last(), x.shape.last(), e.data());
  });
}

// From the logarithm of the sum, so that tiny probabilities keep their digits.
template <class T>
void log_softmax(const TensorView& x, const TensorView& y) {
  for_each_row<T>(x, [&](const std::vector<T>& row, std::vector<T>& e, int64_t r) {
    const ShiftedRow<T> shifted = shift_and_exp(row, e);
    // Two subtractions, each rounded: x - m first, which is exact for near values.
    const T log_sum = strict_log(shifted.sum);
    for (size_t i = 0; i < row.size(); ++i) e[i] = (row[i] - shifted.max) - log_sum;
    store_row(y, r * x.shape.last(), x.shape.last(), e.data());
  });
}

// m itself where it is infinite: m + log(s) would be NaN there.
template <class T>
void logsumexp(const TensorView& x, const TensorView& y) {
  for_each_row<T>(x, [&](const std::vector<T>& row, std::vector<T>& e, int64_t r) {
    const ShiftedRow<T> shifted = shift_and_exp(row, e);
    // A NaN maximum is not infinite and goes through the formula.
    const T result = std::isinf(shifted.max) ? shifted.max : shifted.max + strict_log(shifted.sum);
    store_row(y, r, 1, &result);
  });
}

// Floats of rank 1 or more; the result has the type of x.
Result<std::vector<TensorType>> infer_same(const InferContext& context) {
  QUERN_TRY(expect_float("x", *context.inputs[0]));
  QUERN_TRY(expect_rank_at_least("x", *context.inputs[0], 1));
  return std::vector<TensorType>{*context.inputs[0]};
}

// The last axis goes away; it must not be known to be empty.
Result<std::vector<TensorType>> infer_logsumexp(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(infer_same(context));
  // A symbol passes: run_logsumexp() looks at the extent that it turns out to have.
  if (x.dims.back() == Dim::constant(0)) {
    return fail::invalid("Port 'x' has type {}; rows without elements have no maximum.",
                         x.to_string());
  }
  TensorType y = x;
  y.dims.pop_back();
  return std::vector<TensorType>{std::move(y)};
}

// Narrow floats widen row by row; only the result rounds.
Result<void> run_softmax(const KernelContext& context) {
  with_compute_type(context.inputs[0].dtype,
                    [&]<class T>(T) { softmax<T>(context.inputs[0], context.outputs[0]); });
  return {};
}

Result<void> run_log_softmax(const KernelContext& context) {
  with_compute_type(context.inputs[0].dtype,
                    [&]<class T>(T) { log_softmax<T>(context.inputs[0], context.outputs[0]); });
  return {};
}

// A symbolic extent may turn out to be 0 only now.
Result<void> run_logsumexp(const KernelContext& context) {
  const Shape& shape = context.inputs[0].shape;
  if (shape.last() == 0 && shape.num_rows() > 0) {
    return fail::invalid("Input 'x' of shape {} has rows without elements.", shape.to_string());
  }
  with_compute_type(context.inputs[0].dtype,
                    [&]<class T>(T) { logsumexp<T>(context.inputs[0], context.outputs[0]); });
  return {};
}

}  // namespace

void register_softmax_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add(
      {.id = "math.softmax",
       .doc = "Over the last axis: m = max(x); e = exp(x - m); s = lanes(32) sum of e; "
              "y = e * (1 / s).",
       .shape_rule = "x [..., K] floats; y has its type.",
       .edge_rule =
           "A row with NaN, +infinity or only -infinity gives NaN. K = 0 and no rows give none.",
       .f32_bound = 8,
       .inputs = {port("x")},
       .outputs = {port("y")},
       .infer = infer_same,
       .reference = run_softmax,
       .in_place_input = 0});
  registry.add({.id = "activation.log_softmax",
                .doc = "Over the last axis: y = (x - m) - log(s), with m and s as in "
                       "math.softmax.",
                .shape_rule = "x [..., K] floats; y has its type.",
                .edge_rule = "A row of only -infinity, with +infinity or with NaN gives "
                             "NaN. K = 0 and no rows give none.",
                .f32_bound = 8,
                .f32_cancels = true,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_same,
                .reference = run_log_softmax,
                .in_place_input = 0});
  registry.add({.id = "math.logsumexp",
                .doc = "Over the last axis, which is removed: y = m + log(s), with m and s as in "
                       "math.softmax; m itself where m is infinite. Rows without elements are an "
                       "error.",
                .shape_rule = "x [..., K] floats, K above 0; y [...] of its dtype.",
                .edge_rule = "A row of only -infinity gives -infinity, with +infinity that; "
                             "NaN gives NaN. No rows give none.",
                .f32_bound = 8,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .infer = infer_logsumexp,
                .reference = run_logsumexp});
}

}  // namespace quern
