// One line for each elementwise operation with a kernel.
#include "backends/cpu/steps/element_functions.h"

#include <algorithm>
#include <string>

namespace quern::cpu {
namespace {

// Work of an element in units of for_ranges: arithmetic and formulas with an exponential.
constexpr int64_t kCheap = 1;
constexpr int64_t kDear = 8;

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
    {"math.erf", UnaryFunction::kErf},
    {"math.exp", UnaryFunction::kExp},
    {"math.log", UnaryFunction::kLog},
    {"math.scale", UnaryFunction::kScale, "factor"},
    {"math.sign", UnaryFunction::kSign},
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

int64_t cost_of(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kAbs:
    case UnaryFunction::kClamp:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kNeg:
    case UnaryFunction::kRelu:
    case UnaryFunction::kScale:
    case UnaryFunction::kSign:
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

// Operations on the halves of packed rows have the formulas of those on tensors.
bool is_packed_gate(std::string_view id) {
  return std::ranges::find(kBinaryOps, std::string(id) + "_tensors", &BinaryOp::id) !=
         std::end(kBinaryOps);
}

std::optional<ElementFunction> find_binary(std::string_view id, const Attributes& attributes) {
  const auto* binary = std::ranges::find(kBinaryOps, id, &BinaryOp::id);
  if (binary == std::end(kBinaryOps)) return std::nullopt;
  return ElementFunction{.is_binary = true,
                         .binary = binary->function,
                         .a = binary->a.of(attributes),
                         .cost = cost_of(binary->function)};
}

}  // namespace

std::optional<ElementFunction> find_element_function(std::string_view id,
                                                     const Attributes& attributes) {
  const auto* unary = std::ranges::find(kUnaryOps, id, &UnaryOp::id);
  if (unary == std::end(kUnaryOps)) {
    return is_packed_gate(id) ? std::nullopt : find_binary(id, attributes);
  }
  UnaryFunction f = unary->function;
  if (f == UnaryFunction::kGelu && attributes.text("approximate") == "tanh") {
    f = UnaryFunction::kGeluTanh;
  }
  return ElementFunction{
      .unary = f, .a = unary->a.of(attributes), .b = unary->b.of(attributes), .cost = cost_of(f)};
}

std::optional<ElementFunction> find_gate_function(std::string_view id,
                                                  const Attributes& attributes) {
  return is_packed_gate(id) ? find_binary(id, attributes) : std::nullopt;
}

bool has_element_function(std::string_view id) {
  const bool is_unary = std::ranges::find(kUnaryOps, id, &UnaryOp::id) != std::end(kUnaryOps);
  const bool is_binary = std::ranges::find(kBinaryOps, id, &BinaryOp::id) != std::end(kBinaryOps);
  return is_unary || (is_binary && !is_packed_gate(id));
}

}  // namespace quern::cpu
