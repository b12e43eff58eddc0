// pooling.max_pool2d and avg_pool2d: whole rows of outputs at a time, one vector operation for each
// tap. A maximum depends on no order, so rows of the window fold first, then columns; a sum keeps
// the window's order, row by row. The adaptive forms, whose windows differ, walk theirs.
#include <algorithm>
#include <limits>

#include "backends/cpu/steps/element_functions.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"
#include "ops/max_min.h"
#include "ops/window.h"

namespace quern::cpu {
namespace {

constexpr int64_t kCostPerTap = 2;

// Taps that fall into the padding are left out, so each tap serves a range of outputs.
// Outputs [begin, end) of an axis whose tap lies inside the input.
struct TapRange {
  int64_t begin;
  int64_t end;
};
TapRange outputs_of_tap(const Window& window, int64_t tap, int64_t in, int64_t out) {
  const int64_t shift = tap * window.dilation - window.pad;  // output o reads o * stride + shift
  const int64_t begin = shift >= 0 ? 0 : ceil_divide(-shift, window.stride);
  const int64_t end = in <= shift ? 0 : ceil_divide(in - shift, window.stride);
  return {std::min(begin, out), std::clamp(end, std::min(begin, out), out)};
}

// Calls f(plane, from, to, thread) for every [H, W] plane of x and its result, converted where the
// dtype is another.
template <class T, class F>
Result<void> for_each_plane(Machine& machine, const StepContext& context, int64_t extra_elements,
                            int64_t cost, F&& f) {
  const TensorView& x = context.inputs[0];
  const TensorView& y = context.outputs[0];
  const int64_t in = x.shape[2] * x.shape[3], out = y.shape[2] * y.shape[3];
  const bool is_direct = x.dtype == kDTypeOf<T>;
  const int64_t own_elements = round_up(extra_elements + (is_direct ? 0 : in + out), 16);
  QUERN_ASSIGN_OR_RETURN(std::byte * scratch, machine.scratch(machine.pool.num_threads() *
                                                              own_elements * int64_t{sizeof(T)}));
  const int64_t planes = x.shape[0] * x.shape[1];
  for_ranges(machine.pool, planes, out * cost, [&](int64_t begin, int64_t end, int thread) {
    T* own = reinterpret_cast<T*>(scratch) + thread * own_elements;
    for (int64_t p = begin; p < end; ++p) {
      if (is_direct) {
        f(x.as<const T>() + p * in, y.as<T>() + p * out, own);
        continue;
      }
      T* from = own + extra_elements;
      load_row(x, p * in, in, from);
      f(from, from + in, own);
      store_row(y, p * out, out, from + in);
    }
  });
  return {};
}

template <class T>
class PoolStep final : public Step {
 public:
  PoolStep(Machine& machine, const Window3& windows, bool is_max)
      : machine_(machine), down_(windows[1]), across_(windows[2]), is_max_(is_max) {}

  Result<void> run(const StepContext& context) override {
    const Shape& in = context.inputs[0].shape;
    const Shape& out = context.outputs[0].shape;
    if (out.num_elements() == 0) return {};
    const Extents extents{in[2], in[3], out[2], out[3]};
    const int64_t cost = kCostPerTap * down_.kernel * across_.kernel;
    // Scratch of a thread: a row of the input, its phases, and the counts of two kinds of taps.
    const int64_t extra = extents.in_columns * 2 + across_.stride + extents.out_columns;
    return for_each_plane<T>(machine_, context, extra, cost, [&](const T* x, T* y, T* own) {
      for (int64_t row = 0; row < extents.out_rows; ++row) {
        T* to = y + row * extents.out_columns;
        if (is_max_) {
          max_row(x, extents, row, to, own);
        } else {
          mean_row(x, extents, row, to, own);
        }
      }
    });
  }

 private:
  struct Extents {
    int64_t in_rows, in_columns, out_rows, out_columns;
  };
  using Binary = typename ElementwiseFunctions<T>::Binary;

  // Elements of a row that one tap needs for the outputs of its range, side by side. Those of
  // phase p = element mod stride stand together from phases_of(p) on.
  struct Phases {
    const T* elements;
    int64_t size;
    int64_t stride;
    const T* at(int64_t element) const {
      return elements + element % stride * size + element / stride;
    }
  };
  Phases split(const T* row, int64_t columns, T* room) const {
    if (across_.stride == 1) return {row, columns, 1};
    const int64_t size = ceil_divide(columns, across_.stride);
    const auto pick = functions_of<T>(machine_.kernels.convolution).pick;
    for (int64_t p = 0; p < std::min(across_.stride, columns); ++p) {
      pick(row + p, across_.stride, ceil_divide(columns - p, across_.stride), room + p * size);
    }
    return {room, size, across_.stride};
  }

  // to = f(to, element) for each tap of a row and the outputs that it reaches.
  void fold_taps(Binary f, const Phases& phases, const Extents& extents, T* to) const {
    for (int64_t tap = 0; tap < across_.kernel; ++tap) {
      const TapRange range = outputs_of_tap(across_, tap, extents.in_columns, extents.out_columns);
      if (range.end <= range.begin) continue;
      const int64_t first = across_.input_of(range.begin, tap);
      f(to + range.begin, phases.at(first), to + range.begin, range.end - range.begin, T(0));
    }
  }

  // One row of outputs. The window's rows fold first, over whole input rows; then each tap along w
  // folds what it reaches. -inf is what every element replaces, NaN too. `own` has room for an
  // input row and its phases.
  void max_row(const T* x, const Extents& extents, int64_t row, T* to, T* own) const {
    const Binary larger = element_functions<T>(machine_)[BinaryFunction::kMax];
    std::fill_n(to, extents.out_columns, -std::numeric_limits<T>::infinity());
    const T* folded = nullptr;  // the largest of the window's rows, column by column
    for (int64_t tap = 0; tap < down_.kernel; ++tap) {
      const int64_t from = down_.input_of(row, tap);
      if (from < 0 || from >= extents.in_rows) continue;
      const T* line = x + from * extents.in_columns;
      if (folded != nullptr) {
        larger(folded, line, own, extents.in_columns, T(0));
        folded = own;
      } else {
        folded = line;
      }
    }
    if (folded == nullptr) return;
    fold_taps(larger, split(folded, extents.in_columns, own + extents.in_columns), extents, to);
  }

  // One row of outputs: sums in the window's order (row by row), divided by the count of taps
  // inside the input. `own` as above, and then the counts.
  void mean_row(const T* x, const Extents& extents, int64_t row, T* to, T* own) const {
    const auto& functions = element_functions<T>(machine_);
    std::fill_n(to, extents.out_columns, T(0));
    int64_t rows = 0;
    for (int64_t tap = 0; tap < down_.kernel; ++tap) {
      const int64_t from = down_.input_of(row, tap);
      if (from < 0 || from >= extents.in_rows) continue;
      ++rows;
      const Phases phases =
          split(x + from * extents.in_columns, extents.in_columns, own + extents.in_columns);
      fold_taps(functions[BinaryFunction::kAdd], phases, extents, to);
    }
    T* counts = own;
    std::fill_n(counts, extents.out_columns, T(0));
    for (int64_t tap = 0; tap < across_.kernel; ++tap) {
      const TapRange range = outputs_of_tap(across_, tap, extents.in_columns, extents.out_columns);
      for (int64_t o = range.begin; o < range.end; ++o) counts[o] += static_cast<T>(rows);
    }
    functions[BinaryFunction::kDiv](to, counts, to, extents.out_columns, T(0));
  }

  Machine& machine_;
  Window down_;
  Window across_;
  bool is_max_;
};

// Windows differ in extent, so each output walks its own.
// Window o of an axis is [floor(o in / out), ceil((o + 1) in / out)).
template <class T>
class AdaptivePoolStep final : public Step {
 public:
  AdaptivePoolStep(Machine& machine, bool is_max) : machine_(machine), is_max_(is_max) {}

  Result<void> run(const StepContext& context) override {
    const Shape& in = context.inputs[0].shape;
    const Shape& out = context.outputs[0].shape;
    if (out.num_elements() == 0) return {};
    const int64_t cost = kCostPerTap * ceil_divide(in[2], out[2]) * ceil_divide(in[3], out[3]);
    return for_each_plane<T>(machine_, context, 0, cost, [&](const T* x, T* y, T*) {
      for (int64_t row = 0; row < out[2]; ++row) {
        for (int64_t column = 0; column < out[3]; ++column) {
          const Span rows = span_of(row, in[2], out[2]), columns = span_of(column, in[3], out[3]);
          y[row * out[3] + column] =
              is_max_ ? max_of(x, in[3], rows, columns) : mean_of(x, in[3], rows, columns);
        }
      }
    });
  }

 private:
  struct Span {
    int64_t begin, end;
  };
  static Span span_of(int64_t output, int64_t in, int64_t out) {
    return {output * in / out, ceil_divide((output + 1) * in, out)};
  }
  static T max_of(const T* x, int64_t width, Span rows, Span columns) {
    T result = x[rows.begin * width + columns.begin];
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        result = strict_max(result, x[i * width + j]);
      }
    }
    return result;
  }
  static T mean_of(const T* x, int64_t width, Span rows, Span columns) {
    T sum = 0;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) sum = sum + x[i * width + j];
    }
    return sum / static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
  }

  Machine& machine_;
  bool is_max_;
};

}  // namespace

MadeStep make_pool(const StepRequest& request) {
  QUERN_ASSIGN_OR_RETURN(const Window3 windows, read_windows(request.attributes(), "hw"));
  const bool is_max = request.op_id() == "pooling.max_pool2d";
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<PoolStep<T>>(request.machine, windows, is_max);
  });
}

MadeStep make_adaptive_pool(const StepRequest& request) {
  const bool is_max = request.op_id() == "pooling.adaptive_max_pool2d";
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<AdaptivePoolStep<T>>(request.machine, is_max);
  });
}

}  // namespace quern::cpu
