// Comparisons, the choice by a mask, and the arithmetic of integers and bits. Masks are u8, 0 or 1.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/elementwise.h"
#include "ops/number_kernel.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using Types = std::vector<TensorType>;
using namespace type_rules;

// Comparisons ---------------------------------------------------------------------------------

// Formulas of two numbers of one type: T is float or double for floats, the element type for
// integers, so that i64 and u64 compare without a detour over f64.
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

// z is written as bytes 0 and 1 directly: the output's dtype is u8 whatever T is.
template <class Formula>
struct ComparisonKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const typename NumberAccess<T>::Input a(context.inputs[0]), b(context.inputs[1]);
    auto* z = context.outputs[0].as<uint8_t>();
    const int64_t count = context.outputs[0].shape.num_elements();
    for (int64_t i = 0; i < count; ++i) z[i] = Formula()(T(a[i]), T(b[i])) ? 1 : 0;
    return {};
  }
};

// The rule of arithmetic, with another dtype of the result.
Result<Types> infer_comparison(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(Types types, infer_same_numbers(context));
  types[0].dtype = DType::kU8;
  return types;
}

// No bound of errors: the result is no float. No in-place input either, since the widths differ.
template <class Formula>
OpDef comparison_op(std::string id, std::string doc, Formula) {
  return {
      .id = std::move(id),
      .doc = std::move(doc),
      .shape_rule = "Floats or integers of one dtype and shape; the result is u8 of that shape.",
      .edge_rule = "NaN compares as IEEE 754 says, zeros are equal. No elements give none.",
      .inputs = {op_parts::port("a"), op_parts::port("b")},
      .outputs = {op_parts::port("z")},
      .infer = infer_comparison,
      .reference = number_kernel<ComparisonKernel<Formula>>};
}

// where ---------------------------------------------------------------------------------------

// The mask must have the whole shape; broadcasting is a node of its own.
Result<Types> infer_where(const InferContext& context) {
  const TensorType& x = *context.inputs[1];
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_same_type(context, 2, x, "x"));
  QUERN_TRY(expect_type(context, 0, TensorType{DType::kU8, x.dims}, "a mask for 'x'"));
  return Types{x};
}

// Copies of `width` bytes, so that one loop serves all dtypes and no NaN changes its payload.
// inputs[1] is x, inputs[2] is y.
Result<void> run_where(const KernelContext& context) {
  const TensorView& z = context.outputs[0];
  const auto* mask = context.inputs[0].as<const uint8_t>();
  const auto width = static_cast<size_t>(dtype_info(z.dtype).block_bytes);
  for (int64_t i = 0; i < z.shape.num_elements(); ++i) {
    const size_t offset = static_cast<size_t>(i) * width;
    std::memcpy(z.data + offset, context.inputs[mask[i] != 0 ? 1 : 2].data + offset, width);
  }
  return {};
}

// Quotients and remainders --------------------------------------------------------------------

// Both cases below would trap or be undefined in C++: division by 0, and the lowest number by -1.
struct Quotient {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return wrapping_subtract(T(0), a);  // the lowest number has no negative
    }
    return static_cast<T>(a / b);
  }
};

// fmod subtracts a multiple of b without rounding. The lowest integer by -1 has the remainder 0,
// but the instruction would trap.
template <class T>
T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);  // exact by definition
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return 0;
    }
    return static_cast<T>(a % b);
  }
}

// The remainder of a quotient that was rounded down; a zero has the sign of the divisor, too.
template <class T>
T with_sign_of(T r, T b) {
  if (r != 0 && (r < 0) != (b < 0)) return static_cast<T>(r + b);
  if constexpr (std::is_floating_point_v<T>) {
    if (r == 0) return std::copysign(T(0), b);
  }
  return r;
}

struct RemainderKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const typename NumberAccess<T>::Input a(context.inputs[0]), b(context.inputs[1]);
    typename NumberAccess<T>::Output z(context.outputs[0]);
    const bool takes_divisor = context.attributes.text("sign") == "divisor";
    for (int64_t i = 0; i < z.size(); ++i) {
      T r = remainder_of(T(a[i]), T(b[i]));
      z[i] = takes_divisor ? with_sign_of(r, T(b[i])) : r;
    }
    return {};
  }
};

// Bits ----------------------------------------------------------------------------------------

// Bits of integers; the casts undo the promotion of small types to int.
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// Shifts by the number of bits or more give 0, or -1 for negative numbers to the right.
// A negative count is a huge one as u64, and acts so.
struct ShiftLeft {
  template <class T>
  T operator()(T a, T b) const {
    const auto count = static_cast<uint64_t>(b);
    // The shift is done in u64, where moving a bit out of the top is defined; the cast back drops
    // what T does not have.
    return count >= 8 * sizeof(T) ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << count);
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, T b) const {
    const auto count = std::min<uint64_t>(static_cast<uint64_t>(b), 8 * sizeof(T));
    if (count == 8 * sizeof(T)) return a < T(0) ? static_cast<T>(-1) : T(0);
    // >> of a negative number copies the sign (C++20).
    return static_cast<T>(a >> count);
  }
};

// Integers compute in their own type: IntegerElements reads and writes the memory directly.
template <class Formula>
Result<void> run_integers(const KernelContext& context) {
  return with_integer_type(context.inputs[0].dtype, [&]<class T>(T) -> Result<void> {
    const IntegerElements<T> a(context.inputs[0]), b(context.inputs[1]), z(context.outputs[0]);
    for (int64_t i = 0; i < z.size(); ++i) z[i] = Formula()(T(a[i]), T(b[i]));
    return {};
  });
}

// The list has all integers of whole bytes; i4, u4 and b1 have no arithmetic.
Result<Types> infer_same_integers(const InferContext& context) {
  QUERN_TRY(expect_dtype(port_name(context, 0), *context.inputs[0],
                         {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU64,
                          DType::kU32, DType::kU16, DType::kU8}));
  return infer_same_numbers(context);
}

// `formula` is the doc and the type; its object is made again for each element and holds nothing.
template <class Formula>
OpDef integer_op(std::string id, std::string doc, Formula) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = "Integers of one dtype and shape; the result has both.",
          .edge_rule = "Defined for every pair of numbers, as said above. No elements give none.",
          .inputs = {op_parts::port("a"), op_parts::port("b")},
          .outputs = {op_parts::port("z")},
          .infer = infer_same_integers,
          .reference = run_integers<Formula>,
          .in_place_input = 0};
}

}  // namespace

void register_comparison_ops(OpRegistry& registry) {
  registry.add(
      comparison_op("compare.equal", "1 where a == b, else 0; NaN equals nothing.", Equal{}));
  registry.add(comparison_op("compare.less", "1 where a < b, else 0, also for NaN.", Less{}));
  registry.add(comparison_op("compare.less_or_equal", "1 where a <= b, else 0, also for NaN.",
                             LessOrEqual{}));
  registry.add(
      {.id = "compare.where",
       .doc = "x where the mask is not 0, else y; equal shapes.",
       .shape_rule = "mask u8; x and y of one dtype, no part of blocks; the result has it.",
       .edge_rule = "Every value is copied bit for bit, NaN too. No elements give none.",
       .inputs = {op_parts::port("mask"), op_parts::port("x"), op_parts::port("y")},
       .outputs = {op_parts::port("z")},
       .infer = infer_where,
       .reference = run_where});
  registry.add(integer_op("elementwise.quotient",
                          "a / b of integers, rounded towards zero; 0 where b is 0, and the lowest "
                          "number by -1 wraps.",
                          Quotient{}));
  registry.add(
      {.id = "elementwise.remainder",
       .version = 2,
       .doc = "a - b * q with the quotient q rounded towards zero (sign = dividend) or "
              "down (divisor). A zero has that sign, too. Integers by 0 give 0, floats NaN; exact "
              "up to one sum.",
       .shape_rule = "Floats or integers of one dtype and shape; the result has both.",
       .edge_rule = "NaN or an infinite a gives NaN; an infinite b gives a for the sign of the "
                    "dividend. No elements give none.",
       .f32_bound = 1,
       .inputs = {op_parts::port("a"), op_parts::port("b")},
       .outputs = {op_parts::port("z")},
       .attributes = {op_parts::text("sign", "dividend", "Whose sign the result has.",
                                     {"dividend", "divisor"})},
       .infer = infer_same_numbers,
       .reference = number_kernel<RemainderKernel>,
       .in_place_input = 0});
  registry.add(integer_op("bits.and", "Bit by bit a and b.", And{}));
  registry.add(integer_op("bits.or", "Bit by bit a or b.", Or{}));
  registry.add(integer_op("bits.xor", "Bit by bit, where a and b differ.", Xor{}));
  registry.add(integer_op("bits.shift_left",
                          "a moved b bits up; zeros come in. b past the width "
                          "gives 0.",
                          ShiftLeft{}));
  registry.add(integer_op("bits.shift_right",
                          "a moved b bits down; the sign comes in. b past the "
                          "width gives 0 or -1.",
                          ShiftRight{}));
}

}  // namespace quern
