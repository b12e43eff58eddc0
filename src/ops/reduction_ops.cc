// Reductions over axes: sum, prod, min, max, l1 norm, mean; argmin; the dot product.
#include <cmath>
#include <limits>
#include <vector>

#include "base/fail.h"
#include "ops/blocked.h"
#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/number_kernel.h"
#include "ops/reduced_axes.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using Types = std::vector<TensorType>;

// Formulas ----------------------------------------------------------------------------------

// +0 for no elements.
struct Sum {
  template <class T, class F>
  static T reduce(int64_t n, F&& element) {
    return lanes_sum<T>(n, element);
  }
};
// 1 for no elements.
struct Product {
  template <class T, class F>
  static T reduce(int64_t n, F&& element) {
    return lanes_product<T>(n, element);
  }
};
// Elements change before the sum: as_term.
struct L1Norm : Sum {
  template <class A, class T>
  static A as_term(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x);
    } else {
      // Negated in the accumulator: the lowest integer of a width has no positive there.
      return x < 0 ? A(0) - static_cast<A>(x) : static_cast<A>(x);
    }
  }
};
// The lanes(32) sum divided by the count; 0 / 0 is NaN for no elements.
struct Mean {
  template <class T, class F>
  static T reduce(int64_t n, F&& element) {
    return lanes_mean<T>(n, element);
  }
};
// NaN if there is one; +0 is above -0.
struct Largest {
  template <class T, class F>
  static T reduce(int64_t n, F&& element) {
    return lanes_max<T>(n, element);
  }
};
// NaN if there is one; -0 is below +0.
struct Smallest {
  template <class T, class F>
  static T reduce(int64_t n, F&& element) {
    return lanes_min<T>(n, element);
  }
};

// The split of the axes that the node's attribute names.
Result<ReducedAxes> reduced_axes(const KernelContext& context) {
  return ReducedAxes::make(context.inputs[0].shape, context.attributes.integers("axes"));
}

// The element as the accumulator sees it: changed by the formula if it has `as_term`.
template <class Formula, class A, class T>
A term_of(T x) {
  if constexpr (requires { Formula::template as_term<A>(x); }) {
    return Formula::template as_term<A>(x);
  } else {
    return static_cast<A>(x);
  }
}

// y[o] = reduce over i of x at (o, i), in the accumulator A: T itself, or uint64_t for integers.
template <class Formula, class A, class Input, class Output>
void reduce_all(const ReducedAxes& axes, const Input& x, Output& y) {
  for (int64_t o = 0; o < axes.num_outputs(); ++o) {
    const int64_t base = axes.output_offset(o);
    y[o] = Formula::template reduce<A>(axes.num_reduced(), [&](int64_t i) {
      return term_of<Formula, A>(x[base + axes.reduced_offset(i)]);
    });
  }
}

// Sums: floats in their compute type, integers in i64 that wraps.
template <class Formula>
struct SumKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const ReducedAxes axes, reduced_axes(context));
    const typename NumberAccess<T>::Input x(context.inputs[0]);
    if constexpr (std::is_floating_point_v<T>) {
      FloatOutput<T> y(context.outputs[0]);
      reduce_all<Formula, T>(axes, x, y);
    } else {
      // uint64_t wraps by definition and has the bits that i64 would.
      IntegerElements<uint64_t> y(context.outputs[0]);
      reduce_all<Formula, uint64_t>(axes, x, y);
    }
    return {};
  }
};

// Floats divide their sum; integers add exactly in 64 bits, then divide once in f64.
struct MeanKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    if constexpr (std::is_floating_point_v<T>) {
      return SumKernel<Mean>::run<T>(context);
    } else {
      QUERN_ASSIGN_OR_RETURN(const ReducedAxes axes, reduced_axes(context));
      const IntegerElements<T> x(context.inputs[0]);
      std::vector<uint64_t> sums(static_cast<size_t>(axes.num_outputs()));
      IntegerElements<uint64_t> target(sums.data(), axes.num_outputs());
      reduce_all<Sum, uint64_t>(axes, x, target);
      for (size_t o = 0; o < sums.size(); ++o) {
        // The 64 bits are read as signed, for unsigned inputs too.
        const auto sum = static_cast<double>(static_cast<int64_t>(sums[o]));
        context.outputs[0].as<double>()[o] = sum / static_cast<double>(axes.num_reduced());
      }
      return {};
    }
  }
};

// Largest and smallest: no elements have neither, which is an error rather than an infinity.
template <class Formula>
struct SelectKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    QUERN_ASSIGN_OR_RETURN(const ReducedAxes axes, reduced_axes(context));
    // No outputs, no question: an empty result of an empty tensor is fine.
    if (axes.num_reduced() == 0 && axes.num_outputs() > 0) {
      return fail::invalid(
          "The largest or smallest of no elements is not defined; 'x' has the "
          "shape {}.",
          context.inputs[0].shape.to_string());
    }
    const typename NumberAccess<T>::Input x(context.inputs[0]);
    typename NumberAccess<T>::Output y(context.outputs[0]);
    reduce_all<Formula, T>(axes, x, y);
    return {};
  }
};

// Type rules --------------------------------------------------------------------------------

// The type of x without the reduced axes, of `integer_result` where x holds integers.
Result<Types> infer_reduction(const InferContext& context, DType integer_result) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(type_rules::expect_number("x", x));
  QUERN_ASSIGN_OR_RETURN(std::vector<Dim> dims, reduced_dims(x, context.attributes.integers("axes"),
                                                             context.attributes.flag("keep_dims")));
  return Types{{is_float(x.dtype) ? x.dtype : integer_result, std::move(dims)}};
}
// Integers add and multiply in i64.
Result<Types> infer_sum(const InferContext& context) {
  return infer_reduction(context, DType::kI64);
}
// Integers have a mean in f64.
Result<Types> infer_mean(const InferContext& context) {
  return infer_reduction(context, DType::kF64);
}
// A selected element has the dtype of x.
Result<Types> infer_select(const InferContext& context) {
  return infer_reduction(context, context.inputs[0]->dtype);
}

// The definition that all reductions share: axes, keep_dims, order.
OpDef reduction_op(std::string id, std::string doc, OpDef::Infer infer, OpDef::Kernel kernel) {
  return {.id = std::move(id),
          .doc = std::move(doc) + " Order: lanes(32) over the reduced elements in row-major order.",
          .shape_rule =
              "x: floats or integers of any shape; y without the reduced "
              "axes (extent 1 with keep_dims), of x's dtype for floats.",
          .edge_rule = "NaN gives NaN; infinities follow IEEE.",
          .f32_bound = 8,
          .inputs = {op_parts::port("x")},
          .outputs = {op_parts::port("y")},
          .attributes = {op_parts::integers("axes", std::vector<int64_t>{},
                                            "Axes to reduce; empty reduces all."),
                         op_parts::flag("keep_dims", false, "Keep reduced axes with extent 1.")},
          .infer = infer,
          .reference = kernel};
}

// argmin ------------------------------------------------------------------------------------

// One index for each row.
Result<Types> infer_argmin(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(type_rules::expect_number("x", x));
  QUERN_TRY(type_rules::expect_rank_at_least("x", x, 1));
  return Types{{DType::kI32, {x.dims.begin(), x.dims.end() - 1}}};
}

// The first NaN wins, then the first of the smallest; -0 and +0 are equal here, unlike in
// reduce_min.
struct ArgminKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const int64_t n = context.inputs[0].shape.last();
    const int64_t num_rows = context.inputs[0].shape.num_rows();
    // Before the check: without rows their length does not matter.
    if (num_rows == 0) return {};
    // Indices are i32, which must hold n - 1.
    if (n < 1 || n > std::numeric_limits<int32_t>::max()) {
      return fail::invalid("Port 'x' has the shape {}; rows need 1 to 2^31 - 1 elements.",
                           context.inputs[0].shape.to_string());
    }
    const typename NumberAccess<T>::Input x(context.inputs[0]);
    for (int64_t row = 0; row < num_rows; ++row) {
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i) {
        if (is_smaller_or_nan<T>(x[row * n + i], x[row * n + best])) best = i;
      }
      context.outputs[0].as<int32_t>()[row] = static_cast<int32_t>(best);
    }
    return {};
  }
};

// dot ---------------------------------------------------------------------------------------

// Two vectors of one float type.
Result<Types> infer_dot(const InferContext& context) {
  QUERN_TRY(type_rules::expect_rank("a", *context.inputs[0], 1));
  QUERN_TRY(infer_same_floats(context));
  return Types{{context.inputs[0]->dtype, {}}};
}

// Blocks of 256 products, the order of all matrix products, so that matmul of a row and a column
// gives these bits.
struct DotKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> a(context.inputs[0]), b(context.inputs[1]);
    FloatOutput<T> y(context.outputs[0]);
    y[0] = blocked_sum<T>(a.size(), [&](int64_t k) { return a[k] * b[k]; });
    return {};
  }
};

}  // namespace

void register_reduction_ops(OpRegistry& registry) {
  registry.add(reduction_op("reduction.sum",
                            "The sum; +0 of no elements. Integers add in i64, which wraps.",
                            infer_sum, number_kernel<SumKernel<Sum>>));
  registry.add(reduction_op("reduction.prod",
                            "The product; 1 of no elements. Integers multiply in i64, which wraps.",
                            infer_sum, number_kernel<SumKernel<Product>>));
  registry.add(reduction_op("reduction.l1_norm", "The sum of |x|; integers as reduction.sum.",
                            infer_sum, number_kernel<SumKernel<L1Norm>>));
  registry.add(reduction_op("reduction.mean",
                            "Sum divided by count, NaN of no elements. Integers give "
                            "f64(sum) / f64(count).",
                            infer_mean, number_kernel<MeanKernel>));
  registry.add(reduction_op("reduction.reduce_max",
                            "The largest; a NaN gives NaN, +0 is above -0; no elements are an "
                            "error.",
                            infer_select, number_kernel<SelectKernel<Largest>>));
  registry.add(reduction_op("reduction.reduce_min",
                            "The smallest; a NaN gives NaN, -0 is below +0; no elements are an "
                            "error.",
                            infer_select, number_kernel<SelectKernel<Smallest>>));
  registry.add({.id = "reduction.argmin",
                .doc = "Index of the smallest element of each row (the last axis): the lowest "
                       "among equals, the first NaN if there is one. Empty rows are an error.",
                .shape_rule = "x [..., N] of floats or integers; y i32 [...].",
                .edge_rule = "-0 and +0 are equal. No rows give none.",
                .f32_bound = 0,
                .inputs = {op_parts::port("x")},
                .outputs = {op_parts::port("y")},
                .infer = infer_argmin,
                .reference = number_kernel<ArgminKernel>});
  registry.add({.id = "dot.dot",
                .doc = "Sum of a[k] * b[k] in the order blocked(256); +0 for no elements.",
                .shape_rule = "Vectors [K] of one float dtype; the result is a scalar.",
                .edge_rule = "NaN gives NaN; 0 times infinity is NaN. K = 0 gives +0.",
                .f32_bound = 8,
                .inputs = {op_parts::port("a"), op_parts::port("b")},
                .outputs = {op_parts::port("y")},
                .infer = infer_dot,
                .reference = float_kernel<DotKernel>});
}

}  // namespace quern
