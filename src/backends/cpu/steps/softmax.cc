// math.softmax, activation.log_softmax and reduction.argmax.
#include <limits>

#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: an exponential, or a comparison.
constexpr int64_t kCostOfSoftmax = 8;
constexpr int64_t kCostOfArgmax = 1;

// Over the last axis. Rows over the threads; a row is never cut, since its sum is one fold.
template <class T>
class SoftmaxStep final : public Step {
 public:
  explicit SoftmaxStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const auto kernel = functions_of<T>(machine_.kernels.softmax).softmax;
    return for_each_row<T>(machine_, context.inputs[0], context.outputs[0], kCostOfSoftmax,
                           [&](const RowPair<T>& row, int64_t n) { kernel(row.x, row.y, n); });
  }

 private:
  Machine& machine_;
};

// The same; the kernel needs a row of scratch memory for the exponentials.
template <class T>
class LogSoftmaxStep final : public Step {
 public:
  explicit LogSoftmaxStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const auto kernel = functions_of<T>(machine_.kernels.softmax).log_softmax;
    return for_each_row<T>(
        machine_, context.inputs[0], context.outputs[0], kCostOfSoftmax,
        [&](const RowPair<T>& row, int64_t n) { kernel(row.x, row.y, row.scratch, n); });
  }

 private:
  Machine& machine_;
};

// i32 of each row of the last axis; ties and NaN as the reference has them.
template <class T>
class ArgmaxStep final : public Step {
 public:
  explicit ArgmaxStep(Machine& machine) : machine_(machine) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const int64_t n = x.shape.last();
    if (n < 1 || n > std::numeric_limits<int32_t>::max()) {
      return fail::invalid("Input 'x' has rows of {} elements; they need 1 to 2147483647.", n);
    }
    QUERN_ASSIGN_OR_RETURN(
        std::byte * scratch,
        machine_.scratch(n * static_cast<int64_t>(sizeof(T)) * machine_.pool.num_threads()));
    auto* indices = context.outputs[0].as<int32_t>();
    const auto run = [&](int64_t begin, int64_t end, int thread) {
      T* own = reinterpret_cast<T*>(scratch) + n * thread;
      for (int64_t r = begin; r < end; ++r) indices[r] = row_argmax(x, r, n, own);
    };
    for_ranges(machine_.pool, x.shape.num_rows(), n * kCostOfArgmax, run);
    return {};
  }

 private:
  // One row, widened to `scratch` where it is not of type T.
  int32_t row_argmax(const TensorView& x, int64_t row, int64_t n, T* scratch) const {
    const T* values = scratch;
    if (x.dtype == kDTypeOf<T>) {
      values = x.as<const T>() + row * n;
    } else {
      load_row(x, row * n, n, scratch);
    }
    return static_cast<int32_t>(functions_of<T>(machine_.kernels.softmax).argmax(values, n));
  }

  Machine& machine_;
};

// The step for float or double, by the dtype of the first input.
template <template <class> class S>
Result<std::unique_ptr<Step>> make_for_type(const StepRequest& request) {
  return with_row_type(request.input_type(0).dtype,
                       [&]<class T>(T) -> Result<std::unique_ptr<Step>> {
                         return std::make_unique<S<T>>(request.machine);
                       });
}

}  // namespace

Result<std::unique_ptr<Step>> make_softmax(const StepRequest& request) {
  return make_for_type<SoftmaxStep>(request);
}
Result<std::unique_ptr<Step>> make_log_softmax(const StepRequest& request) {
  return make_for_type<LogSoftmaxStep>(request);
}
Result<std::unique_ptr<Step>> make_argmax(const StepRequest& request) {
  return make_for_type<ArgmaxStep>(request);
}

}  // namespace quern::cpu
