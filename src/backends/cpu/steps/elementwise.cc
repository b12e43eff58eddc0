// Elementwise operations of one or two tensors, and gated activations of packed rows.
#include <algorithm>
#include <array>
#include <optional>

#include "backends/cpu/steps/element_functions.h"
#include "backends/cpu/steps/float_rows.h"
#include "backends/cpu/steps/steps.h"

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: arithmetic and formulas with an exponential.
constexpr int64_t kCheap = 1;
constexpr int64_t kDear = 8;
// Elements that are converted at a time for narrow floats.
constexpr int64_t kPiece = 1024;

// A parameter: a constant, or the attribute of that name.
struct Parameter {
  double value = 0;
  const char* attribute = nullptr;

  constexpr Parameter() = default;
  constexpr Parameter(double v) : value(v) {}                 // NOLINT(google-explicit-constructor)
  constexpr Parameter(const char* name) : attribute(name) {}  // NOLINT(google-explicit-constructor)
  double of(const Attributes& attributes) const {
    return attribute == nullptr ? value : attributes.number(attribute);
  }
};

// A line of the list: an operation, the kernel that computes it, and where its parameters come
// from.
struct UnaryOp {
  std::string_view id;
  UnaryFunction function;
  Parameter a = {};
  Parameter b = {};
};

// Sorted by id, as the operations are. Fixed numbers are parts of a formula (celu's alpha of 1).
constexpr UnaryOp kUnaryOps[] = {
    {"activation.celu", UnaryFunction::kCelu, 1.0},
    {"activation.celu_alpha", UnaryFunction::kCelu, "alpha"},
    {"activation.elu", UnaryFunction::kElu, 1.0},
    {"activation.elu_alpha", UnaryFunction::kElu, "alpha"},
    {"activation.expm1", UnaryFunction::kExpm1},
    {"activation.gelu", UnaryFunction::kGelu},
    {"activation.gelu_tanh", UnaryFunction::kGeluTanh},
    {"activation.hard_shrink", UnaryFunction::kHardShrink, "lambda"},
    {"activation.hard_sigmoid", UnaryFunction::kHardSigmoid},
    {"activation.hard_swish", UnaryFunction::kHardSwish},
    {"activation.hard_tanh", UnaryFunction::kClamp, -1.0, 1.0},
    {"activation.hard_tanh_range", UnaryFunction::kClamp, "min", "max"},
    {"activation.leaky_relu", UnaryFunction::kLeakyRelu, "alpha"},
    {"activation.log1p", UnaryFunction::kLog1p},
    {"activation.log_sigmoid", UnaryFunction::kLogSigmoid},
    {"activation.mish", UnaryFunction::kMish},
    {"activation.prelu", UnaryFunction::kLeakyRelu, "slope"},
    {"activation.quick_gelu", UnaryFunction::kQuickGelu},
    {"activation.relu", UnaryFunction::kRelu},
    {"activation.selu", UnaryFunction::kSelu},
    {"activation.sigmoid", UnaryFunction::kSigmoid},
    {"activation.snake", UnaryFunction::kSnake, "alpha", "alpha"},
    {"activation.snake_parametric", UnaryFunction::kSnake, "alpha", "beta"},
    {"activation.soft_shrink", UnaryFunction::kSoftShrink, "lambda"},
    {"activation.softplus", UnaryFunction::kSoftplus},
    {"activation.softsign", UnaryFunction::kSoftsign},
    {"activation.swish", UnaryFunction::kSwish},
    {"activation.tanh", UnaryFunction::kTanh},
    {"activation.tanh_shrink", UnaryFunction::kTanhShrink},
    {"activation.threshold", UnaryFunction::kThreshold, "theta"},
    {"elementwise.abs", UnaryFunction::kAbs},
    {"elementwise.neg", UnaryFunction::kNeg},
    {"elementwise.sqrt", UnaryFunction::kSqrt},
    {"math.cos", UnaryFunction::kCos},
    {"math.exp", UnaryFunction::kExp},
    {"math.log", UnaryFunction::kLog},
    {"math.scale", UnaryFunction::kScale, "factor"},
    {"math.sin", UnaryFunction::kSin},
};

// The same for two operands.
struct BinaryOp {
  std::string_view id;
  BinaryFunction function;
  Parameter a = {};
};

// Of two tensors, then of the halves of packed rows.
constexpr BinaryOp kBinaryOps[] = {
    {"activation.geglu_tanh_tensors", BinaryFunction::kGegluTanh},
    {"activation.geglu_tensors", BinaryFunction::kGeglu},
    {"activation.glu_tensors", BinaryFunction::kGlu},
    {"activation.linglu_tensors", BinaryFunction::kMul},
    {"activation.reglu_tensors", BinaryFunction::kReglu},
    {"activation.siglu_tensors", BinaryFunction::kSiglu},
    {"activation.swiglu_tensors", BinaryFunction::kSwiglu},
    {"elementwise.axpy", BinaryFunction::kAxpy, "alpha"},
    {"elementwise.div", BinaryFunction::kDiv},
    {"elementwise.max", BinaryFunction::kMax},
    {"elementwise.min", BinaryFunction::kMin},
    {"elementwise.sub", BinaryFunction::kSub},
    {"math.add", BinaryFunction::kAdd},
    {"math.mul", BinaryFunction::kMul},
    {"activation.geglu", BinaryFunction::kGeglu},
    {"activation.geglu_tanh", BinaryFunction::kGegluTanh},
    {"activation.glu", BinaryFunction::kGlu},
    {"activation.linglu", BinaryFunction::kMul},
    {"activation.reglu", BinaryFunction::kReglu},
    {"activation.siglu", BinaryFunction::kSiglu},
    {"activation.swiglu", BinaryFunction::kSwiglu},
};

// The entry of a node's operation, or null.
template <class Op, size_t kCount>
const Op* find_function(const Op (&ops)[kCount], const StepRequest& request) {
  const auto found = std::ranges::find(ops, request.op_id(), &Op::id);
  return found == std::end(ops) ? nullptr : found;
}

int64_t cost_of(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kAbs:
    case UnaryFunction::kClamp:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kNeg:
    case UnaryFunction::kRelu:
    case UnaryFunction::kScale:
    case UnaryFunction::kThreshold:
      return kCheap;
    default:
      return kDear;
  }
}
int64_t cost_of(BinaryFunction f) {
  switch (f) {
    case BinaryFunction::kGeglu:
    case BinaryFunction::kGegluTanh:
    case BinaryFunction::kGlu:
    case BinaryFunction::kSiglu:
    case BinaryFunction::kSwiglu:
      return kDear;
    default:
      return kCheap;
  }
}

// Elements of a view as T: in place, or up to kPiece of them converted to `room`.
template <class T>
const T* elements(const TensorView& view, int64_t first, int64_t n, T* room) {
  if (view.dtype == kDTypeOf<T>) return view.as<const T>() + first;
  load_row(view, first, n, room);
  return room;
}
// Where results go, before put_elements() takes them to a view of another dtype.
template <class T>
T* result_room(const TensorView& view, int64_t first, T* room) {
  return view.dtype == kDTypeOf<T> ? view.as<T>() + first : room;
}
template <class T>
void put_elements(const TensorView& view, int64_t first, int64_t n, const T* values) {
  if (view.dtype != kDTypeOf<T>) store_row(view, first, n, values);
}

// Calls f(begin, n) for pieces of [begin, end): all of it where nothing is converted.
template <class F>
void for_pieces(int64_t begin, int64_t end, bool is_direct, F&& f) {
  const int64_t step = is_direct ? end - begin : kPiece;
  for (int64_t i = begin; i < end; i += step) f(i, std::min(step, end - i));
}

// y[i] = f(x[i], a, b), computed in T whatever the dtype: narrow floats are widened and rounded
// once.
template <class T>
class UnaryStep final : public Step {
 public:
  UnaryStep(Machine& machine, UnaryFunction f, T a, T b)
      : machine_(machine),
        kernel_(element_functions<T>(machine)[f]),
        cost_(cost_of(f)),
        a_(a),
        b_(b) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& x = context.inputs[0];
    const TensorView& y = context.outputs[0];
    const bool is_direct = x.dtype == kDTypeOf<T>;
    for_ranges(machine_.pool, x.shape.num_elements(), cost_, [&](int64_t begin, int64_t end, int) {
      for_pieces(begin, end, is_direct, [&](int64_t first, int64_t n) {
        // On the stack: 8 or 16 KiB, in the first cache.
        T in[kPiece], out[kPiece];
        T* to = result_room(y, first, out);
        kernel_(elements(x, first, n, in), to, n, a_, b_);
        put_elements(y, first, n, to);
      });
    });
    return {};
  }

 private:
  Machine& machine_;
  typename ElementwiseFunctions<T>::Unary kernel_;
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
  BinaryStep(Machine& machine, BinaryFunction f, T a, bool is_packed)
      : machine_(machine),
        kernel_(element_functions<T>(machine)[f]),
        cost_(cost_of(f)),
        a_(a),
        is_packed_(is_packed) {}

  Result<void> run(const StepContext& context) override {
    const TensorView& left = context.inputs[0];
    const TensorView& right = is_packed_ ? left : context.inputs[1];
    const TensorView& z = context.outputs[0];
    const BinaryRows rows = rows_of(context);
    if (rows.n == 0) return {};
    const bool is_direct = z.dtype == kDTypeOf<T>;
    // One long row is cut inside, many rows between them.
    const auto run_row = [&](int64_t row, int64_t begin, int64_t end) {
      for_pieces(begin, end, is_direct, [&](int64_t i, int64_t n) {
        T a[kPiece], b[kPiece], out[kPiece];
        T* to = result_room(z, row * rows.n + i, out);
        kernel_(elements(left, row * rows.left_stride + i, n, a),
                elements(right, row * rows.right_stride + rows.right_offset + i, n, b), to, n, a_);
        put_elements(z, row * rows.n + i, n, to);
      });
    };
    if (rows.rows == 1) {
      for_ranges(machine_.pool, rows.n, cost_,
                 [&](int64_t begin, int64_t end, int) { run_row(0, begin, end); });
      return {};
    }
    for_ranges(machine_.pool, rows.rows, rows.n * cost_, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) run_row(row, 0, rows.n);
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

// Integers, and operations that the list does not have, stay with the reference.
MadeStep make_binary_step(const StepRequest& request, bool is_packed) {
  const BinaryOp* op = find_function(kBinaryOps, request);
  if (op == nullptr || !is_float(request.input_type(0).dtype)) return make_reference(request);
  const double a = op->a.of(request.attributes());
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<BinaryStep<T>>(request.machine, op->function, static_cast<T>(a),
                                           is_packed);
  });
}

// Operations on the halves of packed rows have the formulas of those on tensors.
bool is_packed_gate(std::string_view id) {
  return std::ranges::find(kBinaryOps, std::string(id) + "_tensors", &BinaryOp::id) !=
         std::end(kBinaryOps);
}

}  // namespace

std::optional<ElementFunction> find_element_function(std::string_view id,
                                                     const Attributes& attributes) {
  const auto* unary = std::ranges::find(kUnaryOps, id, &UnaryOp::id);
  if (unary != std::end(kUnaryOps)) {
    UnaryFunction f = unary->function;
    if (f == UnaryFunction::kGelu && attributes.text("approximate") == "tanh") {
      f = UnaryFunction::kGeluTanh;
    }
    return ElementFunction{
        .unary = f, .a = unary->a.of(attributes), .b = unary->b.of(attributes), .cost = cost_of(f)};
  }
  const auto* binary = std::ranges::find(kBinaryOps, id, &BinaryOp::id);
  if (binary == std::end(kBinaryOps) || is_packed_gate(id)) return std::nullopt;
  return ElementFunction{.is_binary = true,
                         .binary = binary->function,
                         .a = binary->a.of(attributes),
                         .cost = cost_of(binary->function)};
}

bool has_element_function(std::string_view id) {
  const bool is_unary = std::ranges::find(kUnaryOps, id, &UnaryOp::id) != std::end(kUnaryOps);
  const bool is_binary = std::ranges::find(kBinaryOps, id, &BinaryOp::id) != std::end(kBinaryOps);
  return is_unary || (is_binary && !is_packed_gate(id));
}

MadeStep make_unary(const StepRequest& request) {
  const auto f = find_element_function(request.op_id(), request.attributes());
  if (!f || !is_float(request.input_type(0).dtype)) return make_reference(request);
  return with_row_type(request.input_type(0).dtype, [&]<class T>(T) -> MadeStep {
    return std::make_unique<UnaryStep<T>>(request.machine, f->unary, static_cast<T>(f->a),
                                          static_cast<T>(f->b));
  });
}

MadeStep make_binary(const StepRequest& request) {
  return make_binary_step(request, false);
}
MadeStep make_packed_gate(const StepRequest& request) {
  return make_binary_step(request, true);
}

}  // namespace quern::cpu
