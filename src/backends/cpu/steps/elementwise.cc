// Elementwise operations of one or two tensors, and gated activations of packed rows.
#include "backends/cpu/steps/element_functions.h"
#include "backends/cpu/steps/elementwise_pieces.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// y[i] = f(x[i], a, b), computed in T whatever the dtype: narrow floats are widened and rounded
// once.
template <class T>
class UnaryStep final : public Step {
 public:
  UnaryStep(Machine& machine, const ElementFunction& f)
      : machine_(machine),
        kernel_(element_functions<T>(machine)[f.unary]),
        streamed_(element_functions<T>(machine).streamed[static_cast<int>(f.unary)]),
        cost_(f.cost),
        a_(static_cast<T>(f.a)),
        b_(static_cast<T>(f.b)) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const ResultPieces<T> y(machine_, context);
    for_ranges(machine_.pool, x.shape.num_elements(), cost_, [&](int64_t begin, int64_t end, int) {
      if (streamed_ != nullptr && y.streamed_to(begin) != nullptr) {
        streamed_(x.as<const T>() + begin, y.streamed_to(begin), end - begin, a_, b_);
        return y.finish_range();
      }
      for_pieces(begin, end, y.piece(end - begin), [&](int64_t first, int64_t n) {
        // On the stack: 8 or 16 KiB, in the first cache.
        T in[kPiece], out[kPiece];
        T* to = y.at(first, out);
        const T* from = elements(x, first, n, in);
        kernel_(from, to, n, a_, b_);
        y.put(first, n, to, {&from, 1});
      });
      y.finish_range();
    });
    return {};
  }

 private:
  Machine& machine_;
  typename ElementwiseFunctions<T>::Unary kernel_;
  typename ElementwiseFunctions<T>::Unary streamed_;  // null: pieces of kernel_ are streamed
  int64_t cost_;
  T a_;
  T b_;
};

// Rows of `left` elements from x and `right` from the other operand make a row of the result:
// equal shapes are one row, a bias repeats for each row, and a packed row holds both operands.
struct BinaryRows {
  int64_t rows = 1;
  int64_t n = 0;            // elements of a row of the result
  int64_t left_stride = 0;  // elements between rows of the operands
  int64_t right_stride = 0;
  int64_t right_offset = 0;  // of the first right element
};

// z = f(x, w, a) over rows of x; w is a tensor, a shorter one that repeats, or the other half of x.
template <class T>
class BinaryStep final : public Step {
 public:
  BinaryStep(Machine& machine, const ElementFunction& f, bool is_packed)
      : machine_(machine),
        kernel_(element_functions<T>(machine)[f.binary]),
        cost_(f.cost),
        a_(static_cast<T>(f.a)),
        is_packed_(is_packed) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& left = context.inputs[0];
    const TensorView& right = is_packed_ ? left : context.inputs[1];
    const ResultPieces<T> z(machine_, context);
    const BinaryRows rows = rows_of(context);
    if (rows.n == 0) return {};
    // One long row is cut inside, many rows between them.
    const auto run_row = [&](int64_t row, int64_t begin, int64_t end) {
      for_pieces(begin, end, z.piece(end - begin), [&](int64_t i, int64_t n) {
        T a[kPiece], b[kPiece], out[kPiece];
        T* to = z.at(row * rows.n + i, out);
        const T* operands[] = {
            elements(left, row * rows.left_stride + i, n, a),
            elements(right, row * rows.right_stride + rows.right_offset + i, n, b)};
        kernel_(operands[0], operands[1], to, n, a_);
        z.put(row * rows.n + i, n, to, operands);
      });
    };
    if (rows.rows == 1) {
      for_ranges(machine_.pool, rows.n, cost_, [&](int64_t begin, int64_t end, int) {
        run_row(0, begin, end);
        z.finish_range();
      });
      return {};
    }
    for_ranges(machine_.pool, rows.rows, rows.n * cost_, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) run_row(row, 0, rows.n);
      z.finish_range();
    });
    return {};
  }

 private:
  // How the operands of this run make rows.
  BinaryRows rows_of(const StepContext& context) const {
    const Shape& x = context.inputs[0].shape;
    const int64_t elements = context.outputs[0].shape.num_elements();
    if (is_packed_) {
      const int64_t half = context.outputs[0].shape.last();
      return {x.num_rows(), half, 2 * half, 2 * half, half};
    }
    const int64_t period = context.inputs[1].shape.num_elements();
    if (period == elements || period == 0) return {1, elements, elements, elements, 0};
    return {elements / period, period, period, 0, 0};
  }

  Machine& machine_;
  typename ElementwiseFunctions<T>::Binary kernel_;
  int64_t cost_;
  T a_;
  bool is_packed_;
};

// Integers, and operations without a function, stay with the reference.
MadeStep make_binary_step(const StepRequest& request, bool is_packed) {
  const auto f = is_packed ? find_gate_function(request.op_id(), request.attributes())
                           : find_element_function(request.op_id(), request.attributes());
  if (!f || !is_float(request.input_type(0).dtype)) return make_reference(request);
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<BinaryStep<T>>(request.machine, *f, is_packed);
  });
}

}  // namespace

MadeStep make_unary(const StepRequest& request) {
  const auto f = find_element_function(request.op_id(), request.attributes());
  if (!f || !is_float(request.input_type(0).dtype)) return make_reference(request);
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<UnaryStep<T>>(request.machine, *f);
  });
}

MadeStep make_binary(const StepRequest& request) {
  return make_binary_step(request, false);
}
MadeStep make_packed_gate(const StepRequest& request) {
  return make_binary_step(request, true);
}

}  // namespace quern::cpu
