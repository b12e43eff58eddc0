// reduction.*: sums, products, maxima and minima over any axes of float tensors.
//
// Neighbouring axes that are both kept or both reduced count as one, so a shape becomes rows
// [kept][reduced], columns [kept][reduced][kept], or something rarer that is gathered chunk by
// chunk. Long rows are cut between chunks of 4,096, whose results join in order.
#include <algorithm>
#include <optional>

#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "ops/max_min.h"
#include "ops/reduced_axes.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: one read of memory.
constexpr int64_t kCostPerElement = 1;

// An operation: the kernel, and whether a division by the count follows.
struct ReduceOp {
  std::string_view id;
  ReduceFunction function;
  bool is_mean = false;
};
constexpr ReduceOp kReduceOps[] = {
    {"reduction.l1_norm", ReduceFunction::kL1Norm}, {"reduction.mean", ReduceFunction::kSum, true},
    {"reduction.prod", ReduceFunction::kProduct},   {"reduction.reduce_max", ReduceFunction::kMax},
    {"reduction.reduce_min", ReduceFunction::kMin}, {"reduction.sum", ReduceFunction::kSum},
};

// Axes of a shape in runs: outer x reduced x inner, where one run of reduced axes is all there is.
struct ReducedRuns {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// Absent where kept axes lie between reduced ones. Axes of extent 1 belong to any run.
std::optional<ReducedRuns> find_runs(const Shape& shape, std::span<const int64_t> axes) {
  ReducedRuns runs;
  enum { kOuter, kReduced, kInner } place = kOuter;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool is_reduced = axes.empty() || std::ranges::any_of(axes, [&](int64_t a) {
                              return a == axis || a + shape.rank() == axis;
                            });
    if (is_reduced) {
      if (place == kInner) return std::nullopt;
      place = kReduced;
      runs.reduced *= shape[axis];
    } else if (place == kOuter) {
      runs.outer *= shape[axis];
    } else {
      place = kInner;
      runs.inner *= shape[axis];
    }
  }
  return runs;
}

template <class T>
class ReductionStep final : public Step {
 public:
  ReductionStep(Machine& machine, const ReduceOp& op, std::vector<int64_t> axes,
                std::unique_ptr<Step> reference)
      : machine_(machine),
        op_(op),
        axes_(std::move(axes)),
        reference_(std::move(reference)),
        row_(functions_of<T>(machine.kernels.reduce).row[static_cast<int>(op.function)]),
        columns_(functions_of<T>(machine.kernels.reduce).columns[static_cast<int>(op.function)]) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    QUERN_ASSIGN_OR_RETURN(const ReducedAxes axes, ReducedAxes::make(x.shape, axes_));
    const TensorView& y = context.outputs[0];
    if (axes.num_outputs() == 0) return {};
    if (axes.num_reduced() == 0) return reference_->run(context);  // nothing to be fast at
    const auto runs = find_runs(x.shape, axes_);
    const bool is_direct = x.dtype == kDTypeOf<T>;
    if (runs && is_direct && runs->inner > 1) return run_columns(x, y, *runs);
    return run_rows(x, y, axes, runs && runs->inner == 1);
  }

 private:
  // Joins results of two chunks, the earlier one first.
  T join(T a, T b) const {
    switch (op_.function) {
      case ReduceFunction::kProduct:
        return a * b;
      case ReduceFunction::kMax:
        return strict_max(a, b);
      case ReduceFunction::kMin:
        return strict_min(a, b);
      default:
        return a + b;
    }
  }
  T finish(T total, int64_t n) const { return op_.is_mean ? total / static_cast<T>(n) : total; }

  // x [outer][reduced][inner]: columns in blocks.
  Result<void> run_columns(const TensorView& x, const TensorView& y, const ReducedRuns& runs) {
    const int64_t blocks = ceil_divide(runs.inner, kReduceColumns);
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch(machine_.pool.num_threads() * kReduceScratch * int64_t{sizeof(T)}));
    const int64_t cost = runs.reduced * std::min(runs.inner, kReduceColumns) * kCostPerElement;
    for_ranges(machine_.pool, runs.outer * blocks, cost,
               [&](int64_t begin, int64_t end, int thread) {
                 T* own = reinterpret_cast<T*>(scratch) + thread * kReduceScratch;
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t outer = i / blocks, first = i % blocks * kReduceColumns;
                   const int64_t count = std::min(kReduceColumns, runs.inner - first);
                   T* to = y.as<T>() + outer * runs.inner + first;
                   columns_(x.as<const T>() + outer * runs.reduced * runs.inner + first,
                            runs.reduced, runs.inner, count, to, own);
                   for (int64_t c = 0; c < count; ++c) to[c] = finish(to[c], runs.reduced);
                 }
               });
    return {};
  }

  // Results of chunks [0, chunks) of every output, then their joins in order. Elements that do not
  // lie in a row of T are brought together first.
  Result<void> run_rows(const TensorView& x, const TensorView& y, const ReducedAxes& axes,
                        bool is_row) {
    const int64_t n = axes.num_reduced();
    const int64_t chunks = ceil_divide(n, kReduceChunk);
    const int64_t rows = axes.num_outputs();
    const int threads = machine_.pool.num_threads();
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch((rows * chunks + threads * kReduceChunk) * int64_t{sizeof(T)}));
    T* results = reinterpret_cast<T*>(scratch);
    T* rooms = results + rows * chunks;
    const bool is_direct = x.dtype == kDTypeOf<T> && is_row;
    const int64_t cost =
        std::min(n, kReduceChunk) * (is_direct ? kCostPerElement : 4 * kCostPerElement);
    for_ranges(machine_.pool, rows * chunks, cost, [&](int64_t begin, int64_t end, int thread) {
      T* room = rooms + thread * kReduceChunk;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i / chunks, first = i % chunks * kReduceChunk;
        const int64_t count = std::min(kReduceChunk, n - first);
        const T* values = room;
        if (is_direct) {
          values = x.as<const T>() + row * n + first;
        } else {
          gather(x, axes, row, first, count, room);
        }
        results[i] = row_(values, count);
      }
    });
    std::vector<T> totals(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      T total = results[row * chunks];
      for (int64_t c = 1; c < chunks; ++c) total = join(total, results[row * chunks + c]);
      totals[static_cast<size_t>(row)] = finish(total, n);
    }
    store_row(y, 0, rows, totals.data());
    return {};
  }

  // Reduced elements [first, first + count) of output `row` side by side as T.
  static void gather(const TensorView& x, const ReducedAxes& axes, int64_t row, int64_t first,
                     int64_t count, T* out) {
    const int64_t base = axes.output_offset(row);
    const bool is_run =
        axes.reduced_offset(first + count - 1) - axes.reduced_offset(first) == count - 1;
    if (is_run) return load_row(x, base + axes.reduced_offset(first), count, out);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t offset = base + axes.reduced_offset(first + i);
      if (x.dtype == kDTypeOf<T>) {
        out[i] = x.as<const T>()[offset];
      } else {
        load_row(x, offset, 1, out + i);
      }
    }
  }

  Machine& machine_;
  ReduceOp op_;  // by value: a few words
  std::vector<int64_t> axes_;
  std::unique_ptr<Step> reference_;
  typename ReduceFunctions<T>::Row row_;
  typename ReduceFunctions<T>::Columns columns_;
};

}  // namespace

MadeStep make_reduction(const StepRequest& request) {
  const auto op = std::ranges::find(kReduceOps, request.op_id(), &ReduceOp::id);
  if (op == std::end(kReduceOps) || !is_float(request.input_type(0).dtype)) {
    return make_reference(request);
  }
  QUERN_ASSIGN_OR_RETURN(auto reference, make_reference(request));
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<ReductionStep<T>>(
        request.machine, *op, request.attributes().integers("axes"), std::move(reference));
  });
}

}  // namespace quern::cpu
