// Rows of float tensors for kernels of one element type: read in place, or converted at the edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "backends/cpu/loaded_values.h"
#include "backends/cpu/step.h"
#include "backends/cpu/work_split.h"
#include "base/checked_math.h"
#include "ops/float_rows.h"

namespace quern::cpu {

// The dtype whose elements are T: float or double.
template <class T>
inline constexpr DType kDTypeOf = std::is_same_v<T, double> ? DType::kF64 : DType::kF32;

// Calls f(T{}) with the type that operations on a float dtype compute in.
template <class F>
auto with_row_type(DType dtype, F&& f) {
  return with_compute_type(dtype, std::forward<F>(f));
}

// A vector operand such as the weight of a norm, as T. A weight of another dtype is converted once.
template <class T>
class VectorOperand {
 public:
  static Result<VectorOperand> make(const StepRequest& request, size_t port) {
    VectorOperand operand;
    if (!request.has_input(port)) return operand;
    const ValueId value = request.node().inputs[port];
    const Tensor& kept = request.loaded.kept(value);
    if (kept.is_empty() || kept.dtype() == kDTypeOf<T>) return operand;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, kept.host_view());
    operand.is_constant_ = true;
    operand.convert({kept.dtype(), kept.shape(), const_cast<std::byte*>(bytes.data())});
    return operand;
  }

  // Null if the view is absent. Valid until the next call.
  const T* get(const TensorView& view) {
    if (!view.is_present()) return nullptr;
    if (view.dtype == kDTypeOf<T>) return view.as<const T>();
    if (!is_constant_) convert(view);
    return converted_.data();
  }

 private:
  void convert(const TensorView& view) {
    converted_.resize(static_cast<size_t>(view.shape.num_elements()) + 1);
    load_row(view, 0, view.shape.num_elements(), converted_.data());
  }

  bool is_constant_ = false;
  std::vector<T> converted_;
};

// A row of x and of y as T while a kernel runs on it.
template <class T>
struct RowPair {
  const T* x;
  T* y;
  T* scratch;  // n elements
};

// Rows up to this size are made in the first two levels of the caches and streamed from there.
inline constexpr int64_t kMostStreamedRowBytes = int64_t{64} << 10;

// Calls kernel(RowPair, row, n) for each row of n > 0 elements of x and y, which have one shape.
// `cost` is the work of an element in units of for_ranges. Where x and y are larger than the caches
// the kernel's row lies in scratch memory and goes past the caches from there, while the next row
// of x is fetched.
template <class T, class F>
Result<void> for_each_row_index(Machine& machine, const TensorView& x, const TensorView& y,
                                int64_t cost, F&& kernel) {
  const int64_t n = x.shape.last();
  const int64_t rows = x.shape.num_rows();
  if (n == 0 || rows == 0) return {};
  const auto element = static_cast<int64_t>(sizeof(T));
  const int64_t row_size = round_up(n, 64 / element);
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch,
                         machine.scratch(3 * row_size * element * machine.pool.num_threads()));
  const bool is_direct = x.dtype == kDTypeOf<T>;
  const bool streams = is_direct && x.data != y.data && n * element <= kMostStreamedRowBytes &&
                       machine.goes_past_caches(2 * rows * n * element);
  const auto run_row = [&](int64_t r, T* own) {
    T* made = own + 2 * row_size;
    if (is_direct) {
      const T* from = x.as<const T>() + r * n;
      T* to = y.as<T>() + r * n;
      kernel(RowPair<T>{from, streams ? made : to, own}, r, n);
      if (!streams) return;
      NextReads next;
      next.add(from + n);
      machine.kernels.elementwise.stream(made, to, n * element, next);
      return;
    }
    load_row(x, r * n, n, own + row_size);
    kernel(RowPair<T>{own + row_size, made, own}, r, n);
    store_row(y, r * n, n, made);
  };
  for_ranges(machine.pool, rows, n * cost, [&](int64_t begin, int64_t end, int thread) {
    T* own = reinterpret_cast<T*>(scratch) + 3 * row_size * thread;
    for (int64_t r = begin; r < end; ++r) run_row(r, own);
    if (streams) machine.kernels.elementwise.end_stream();
  });
  return {};
}

// The same with kernel(RowPair, n).
template <class T, class F>
Result<void> for_each_row(Machine& machine, const TensorView& x, const TensorView& y, int64_t cost,
                          F&& kernel) {
  return for_each_row_index<T>(machine, x, y, cost,
                               [&](const RowPair<T>& row, int64_t, int64_t n) { kernel(row, n); });
}

}  // namespace quern::cpu
