// Type rules of operations on elements: arithmetic, comparisons, activations, gates.
#include <gtest/gtest.h>

#include "support/op_typing.h"

namespace quern::test {
namespace {

// A bias is the only short operand, and only the second one.
// Each row: operation, types of the inputs, attributes, and the types or the message that must
// come. Symbols stand for extents that are known at the run only.
TEST(AddRules, EqualTypesOrABias) {
  expect_types({
      {"math.add", "f32[T, 3]; f32[T, 3]", "", "f32[T, 3]"},
      {"math.add", "f32[T, 3]; f32[3]", "", "f32[T, 3]"},
      {"math.add", "f32[2, T]; f32[T]", "", "f32[2, T]"},
      {"math.add", "i16[4]; i16[4]", "", "i16[4]"},
      {"math.add", "f32[]; f32[]", "", "f32[]"},
      {"math.add", "f32[3]; f32[3]", "", "f32[3]"},
      // What NumPy would broadcast and math.add does not: a column vector, a row [1, 3], a longer
      // second operand, a scalar.
      {"math.add", "f32[2, 3]; f32[2]", "",
       "math.add: Port 'y' has type f32[2]; it needs the type of 'x', f32[2, 3]."},
      {"math.add", "f32[2, 3]; f32[1, 3]", "",
       "math.add: Port 'y' has type f32[1, 3]; it needs the type of 'x', f32[2, 3]."},
      {"math.add", "f32[3]; f32[2, 3]", "",
       "math.add: Port 'y' has type f32[2, 3]; it needs the type of 'x', f32[3]."},
      {"math.add", "f32[2, 3]; f32[]", "",
       "math.add: Port 'y' has type f32[]; it needs the type of 'x', f32[2, 3]."},
      // Dtypes: another one; 4 bits; blocks; complex numbers.
      {"math.add", "f32[3]; f16[3]", "",
       "math.add: Port 'y' has type f16[3]; it needs the type of 'x', f32[3]."},
      {"math.add", "i4[2]; i4[2]", "",
       "math.add: Port 'x' has type i4[2]; it needs floats, or integers of 8 bits or more."},
      {"math.add", "q8_0[1, 32]; q8_0[1, 32]", "",
       "math.add: Port 'x' has type q8_0[1, 32]; it needs floats, or integers of 8 bits or more."},
      {"math.add", "complex64[2]; complex64[2]", "",
       "math.add: Port 'x' has type complex64[2]; it needs floats, or integers of 8 bits or more."},
      // What the caller of every operation checks before the rule: missing and extra ports, unknown
      // attributes.
      {"math.add", "f32[3]", "", "math.add needs its input 'y'."},
      {"math.add", "f32[3]; f32[3]; f32[3]", "", "math.add takes at most 2 inputs; 3 were given."},
      {"math.add", "_; f32[3]", "", "math.add needs its input 'x'."},
      {"math.add", "f32[3]; f32[3]", "{alpha = 1.0}",
       "math.add has no attribute 'alpha' (given: 1.0)."},
      // vsa.bind and Mul name their ports a and b, and their errors do too.
      {"vsa.bind", "f32[3]; f32[4]", "",
       "vsa.bind: Port 'b' has type f32[4]; it needs the type of 'a', f32[3]."},
      {"Mul", "f32[2, 3]; f32[3]", "",
       "Mul: Port 'b' has type f32[3]; it needs the type of 'a', f32[2, 3]."},
      {"elementwise.sub", "f32[2, 3]; f32[3]", "",
       "elementwise.sub: Port 'b' has type f32[3]; it needs the type of 'a', f32[2, 3]."},
      {"elementwise.max", "u8[T]; u8[T]", "", "u8[T]"},
      // Division is for floats; the f8 types are floats.
      {"elementwise.div", "i32[2]; i32[2]", "",
       "elementwise.div: Port 'a' has type i32[2]; it needs floating-point elements."},
      {"elementwise.div", "f8e5m2[2]; f8e5m2[2]", "", "f8e5m2[2]"},
  });
}

// A required attribute has no default to hide behind.
TEST(AxpyRules, NeedTheirFactor) {
  expect_types({
      // An integer is a number where a number is wanted; text and lists are not.
      {"elementwise.axpy", "bf16[T]; bf16[T]", "{alpha = 2}", "bf16[T]"},
      {"elementwise.axpy", "f32[3]; f32[3]", "", "elementwise.axpy needs the attribute 'alpha'."},
      {"elementwise.axpy", "f32[3]; f32[4]", "{alpha = 2}",
       "elementwise.axpy: Port 'y' has type f32[4]; it needs the type of 'x', f32[3]."},
      {"elementwise.axpy", "i32[3]; i32[3]", "{alpha = 2}",
       "elementwise.axpy: Port 'x' has type i32[3]; it needs floating-point elements."},
      {"elementwise.axpy", "f32[3]; f32[3]", R"({alpha = "two"})",
       R"(Attribute 'alpha' of elementwise.axpy is "two"; it must be a number.)"},
      {"elementwise.axpy", "f32[3]; f32[3]", "{alpha = f[2.0]}",
       "Attribute 'alpha' of elementwise.axpy is f[2.0]; it must be a number."},
  });
}

// Two vectors of one dtype.
TEST(OuterRules, VectorsMakeAMatrix) {
  expect_types({
      {"math.outer", "f32[T]; f32[3]", "", "f32[T, 3]"},
      // An extent of 0 is an extent.
      {"math.outer", "f64[0]; f64[3]", "", "f64[0, 3]"},
      {"math.outer", "f32[2, 3]; f32[3]", "",
       "math.outer: Port 'a' has type f32[2, 3]; it needs rank 1."},
      {"math.outer", "f32[3]; f32[2, 3]", "",
       "math.outer: Port 'b' has type f32[2, 3]; it needs rank 1."},
      {"math.outer", "f32[3]; f64[3]", "",
       "math.outer: Port 'b' has type f64[3]; its elements must be f32."},
      {"math.outer", "i32[3]; i32[3]", "",
       "math.outer: Port 'a' has type i32[3]; it needs floating-point elements."},
  });
}

// Scalars and empty tensors too.
TEST(ScaleRules, FloatsOfAnyShape) {
  expect_types({
      {"math.scale", "f16[T, 3]", "{factor = 2}", "f16[T, 3]"},
      {"math.scale", "f32[3]", "", "math.scale needs the attribute 'factor'."},
      {"math.scale", "i32[3]", "{factor = 2}",
       "math.scale: Port 'x' has type i32[3]; it needs floating-point elements."},
      {"math.inv_sqrt_dim_scale", "f32[T, 64]", "", "f32[T, 64]"},
      // The factor needs the width at the run only, so that a symbol is fine.
      {"math.inv_sqrt_dim_scale", "f32[2, T]", "", "f32[2, T]"},
      {"math.inv_sqrt_dim_scale", "f32[2, 0]", "", "f32[2, 0]"},
      {"math.inv_sqrt_dim_scale", "f32[]", "",
       "math.inv_sqrt_dim_scale: Port 'x' has type f32[]; it needs rank 1 or more."},
  });
}

// Results and masks are u8 whatever is compared.
TEST(ComparisonRules, MasksAreBytes) {
  expect_types({
      {"compare.equal", "f32[T, 3]; f32[T, 3]", "", "u8[T, 3]"},
      // All widths from 8 bits on compare, signed and unsigned.
      {"compare.less", "u64[2]; u64[2]", "", "u8[2]"},
      {"compare.less_or_equal", "f32[2]; f32[3]", "",
       "compare.less_or_equal: Port 'b' has type f32[3]; it needs the type of 'a', f32[2]."},
      {"compare.less", "f32[2, 3]; f32[3]", "",
       "compare.less: Port 'b' has type f32[3]; it needs the type of 'a', f32[2, 3]."},
      {"compare.equal", "b1[8]; b1[8]", "",
       "compare.equal: Port 'a' has type b1[8]; it needs floats, or integers of 8 bits or more."},
      {"compare.where", "u8[2, 3]; i64[2, 3]; i64[2, 3]", "", "i64[2, 3]"},
      {"compare.where", "u8[T]; f16[T]; f16[T]", "", "f16[T]"},
      // A mask is not broadcast, is u8, and no i8.
      {"compare.where", "u8[3]; f32[2, 3]; f32[2, 3]", "",
       "compare.where: Port 'mask' has type u8[3]; it must be u8[2, 3], a mask for 'x'."},
      {"compare.where", "i8[3]; f32[3]; f32[3]", "",
       "compare.where: Port 'mask' has type i8[3]; it must be u8[3], a mask for 'x'."},
      {"compare.where", "u8[3]; f32[3]; f64[3]", "",
       "compare.where: Port 'y' has type f64[3]; it needs the type of 'x', f32[3]."},
      {"compare.where", "u8[3]; f32[3]; f32[4]", "",
       "compare.where: Port 'y' has type f32[4]; it needs the type of 'x', f32[3]."},
      // Elements of a block cannot be chosen one by one.
      {"compare.where", "u8[32]; q8_0[32]; q8_0[32]", "",
       "compare.where: Port 'x' has type q8_0[32]; it needs elements of whole bytes."},
  });
}

// Floats have other quotients; bits have none.
TEST(IntegerRules, IntegersOfOneType) {
  expect_types({
      {"bits.and", "u8[T]; u8[T]", "", "u8[T]"},
      {"bits.or", "i64[2, 2]; i64[2, 2]", "", "i64[2, 2]"},
      {"bits.xor", "f32[2]; f32[2]", "",
       "bits.xor: Port 'a' has type f32[2]; its elements must be i64 or i32 or i16 or i8 or u64 or "
       "u32 or u16 or u8."},
      // A shift's count has the type of the number.
      {"bits.shift_left", "i32[2]; u32[2]", "",
       "bits.shift_left: Port 'b' has type u32[2]; it needs the type of 'a', i32[2]."},
      {"bits.shift_right", "u4[2]; u4[2]", "",
       "bits.shift_right: Port 'a' has type u4[2]; its elements must be i64 or i32 or i16 or i8 or "
       "u64 or u32 or u16 or u8."},
      {"elementwise.quotient", "i16[3]; i16[3]", "", "i16[3]"},
      {"elementwise.quotient", "f32[3]; f32[3]", "",
       "elementwise.quotient: Port 'a' has type f32[3]; its elements must be i64 or i32 or i16 or "
       "i8 or u64 or u32 or u16 or u8."},
      {"elementwise.remainder", "f32[3]; f32[3]", "", "f32[3]"},
      {"elementwise.remainder", "i8[3]; i8[3]", R"({sign = "divisor"})", "i8[3]"},
      // Choices are checked by name.
      {"elementwise.remainder", "i8[3]; i8[3]", R"({sign = "floor"})",
       "Attribute 'sign' of elementwise.remainder is 'floor'; the choices are dividend, divisor."},
      {"elementwise.remainder", "i8[3]; i16[3]", "",
       "elementwise.remainder: Port 'b' has type i16[3]; it needs the type of 'a', i8[3]."},
  });
}

// Each parameter at its limits.
TEST(ActivationRules, Attributes) {
  expect_types({
      {"activation.gelu", "f32[T]", R"({approximate = "tanh"})", "f32[T]"},
      {"activation.gelu", "f32[3]", R"({approximate = "sigmoid"})",
       "Attribute 'approximate' of activation.gelu is 'sigmoid'; the choices are none, tanh."},
      {"activation.gelu", "f32[3]", "{approximate = 1}",
       "Attribute 'approximate' of activation.gelu is 1; it must be text."},
      // Negative is fine, 0 and NaN are not; elu does not divide by its alpha.
      {"activation.celu_alpha", "f32[3]", "{alpha = -0.5}", "f32[3]"},
      {"activation.celu_alpha", "f32[3]", "{alpha = 0}",
       "activation.celu_alpha: Attribute 'alpha' is 0; it must be a number other than 0."},
      {"activation.celu_alpha", "f32[3]", "{alpha = nan}",
       "activation.celu_alpha: Attribute 'alpha' is nan; it must be a number other than 0."},
      {"activation.celu_alpha", "f32[3]", "", "activation.celu_alpha needs the attribute 'alpha'."},
      {"activation.elu_alpha", "f32[3]", "{alpha = 0}", "f32[3]"},
      {"activation.snake", "f32[3]", "{alpha = 0.0}",
       "activation.snake: Attribute 'alpha' is 0; it must be a number other than 0."},
      // snake_parametric divides by beta alone; -0 is 0.
      {"activation.snake_parametric", "f32[3]", "{alpha = 0, beta = 2}", "f32[3]"},
      {"activation.snake_parametric", "f32[3]", "{alpha = 1, beta = -0.0}",
       "activation.snake_parametric: Attribute 'beta' is -0; it must be a number other than 0."},
      {"activation.snake_parametric", "f32[3]", "{alpha = 1}",
       "activation.snake_parametric needs the attribute 'beta'."},
      {"activation.hard_shrink", "f32[3]", "{lambda = -0.5}",
       "activation.hard_shrink: Attribute 'lambda' is -0.5; it must be 0 or more."},
      {"activation.soft_shrink", "f32[3]", "{lambda = nan}",
       "activation.soft_shrink: Attribute 'lambda' is nan; it must be 0 or more."},
      {"activation.soft_shrink", "f32[3]", "{lambda = 0}", "f32[3]"},
      // Equal bounds are a constant function, not an error; an infinite threshold cuts everything.
      {"activation.hard_tanh_range", "f32[3]", "{min = 1, max = 1}", "f32[3]"},
      {"activation.hard_tanh_range", "f32[3]", "{min = 2, max = 1}",
       "activation.hard_tanh_range: Attribute 'min' is 2; it must not be above 'max', 1."},
      {"activation.hard_tanh_range", "f32[3]", "{min = nan, max = 1}",
       "activation.hard_tanh_range: Attribute 'min' is nan; it must not be above 'max', 1."},
      {"activation.hard_tanh_range", "f32[3]", "{max = 1}",
       "activation.hard_tanh_range needs the attribute 'min'."},
      {"activation.threshold", "f32[3]", "{theta = inf}", "f32[3]"},
      {"activation.leaky_relu", "f32[3]", R"({alpha = "0.1"})",
       R"(Attribute 'alpha' of activation.leaky_relu is "0.1"; it must be a number.)"},
      {"activation.leaky_relu_slope", "f32[3]", "",
       "activation.leaky_relu_slope needs the attribute 'slope'."},
      {"activation.relu", "i32[3]", "",
       "activation.relu: Port 'x' has type i32[3]; it needs floating-point elements."},
      // Aliases report under their own name.
      {"ReLU", "q4_0[1, 32]", "",
       "ReLU: Port 'x' has type q4_0[1, 32]; it needs floating-point elements."},
      {"activation.tanh", "f32[3]", "{beta = 1}",
       "activation.tanh has no attribute 'beta' (given: 1)."},
      {"activation.tanh", "f32[3]; f32[3]", "",
       "activation.tanh takes at most 1 inputs; 2 were given."},
  });
}

// Nothing in between, also with symbols.
TEST(PreluVRules, OneSlopeOrOneForEach) {
  expect_types({
      // One slope, one for each of the six elements, with symbols too; an axis' worth of three is
      // neither.
      {"activation.prelu_v", "f32[2, 3]; f32[1]", "", "f32[2, 3]"},
      {"activation.prelu_v", "f32[2, 3]; f32[6]", "", "f32[2, 3]"},
      {"activation.prelu_v", "f32[T]; f32[T]", "", "f32[T]"},
      {"activation.prelu_v", "f32[T, 3]; f32[1]", "", "f32[T, 3]"},
      {"activation.prelu_v", "f32[2, 3]; f32[3]", "",
       "activation.prelu_v: Port 'slopes' has type f32[3]; it needs 1 slope or one for each "
       "element of f32[2, 3]."},
      {"activation.prelu_v", "f32[2, 3]; f32[2, 3]", "",
       "activation.prelu_v: Port 'slopes' has type f32[2, 3]; it needs rank 1."},
      {"activation.prelu_v", "f32[2, 3]; f16[6]", "",
       "activation.prelu_v: Port 'slopes' has type f16[6]; its elements must be f32."},
      {"activation.prelu_v", "f32[2, 3]", "", "activation.prelu_v needs its input 'slopes'."},
      {"activation.prelu_v", "i8[2]; i8[2]", "",
       "activation.prelu_v: Port 'x' has type i8[2]; it needs floating-point elements."},
  });
}

// Half a row is the gate.
TEST(GatedRules, PackedRowsAreEven) {
  expect_types({
      {"activation.swiglu", "f32[T, 8]", "", "f32[T, 4]"},
      // Half of 2*D is D; half of D is not known.
      {"activation.glu", "f16[2, 2*D]", "", "f16[2, D]"},
      {"activation.geglu", "f32[2, 0]", "", "f32[2, 0]"},
      {"activation.geglu", "f32[2, 7]", "",
       "activation.geglu: Port 'x' has type f32[2, 7]; the last extent must be even: gate, then "
       "up."},
      {"activation.reglu", "f32[2, D]", "",
       "activation.reglu: Port 'x' has type f32[2, D]; the last extent must be even: gate, then "
       "up."},
      {"activation.linglu", "f32[]", "",
       "activation.linglu: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"activation.siglu", "i32[2, 8]", "",
       "activation.siglu: Port 'x' has type i32[2, 8]; it needs floating-point elements."},
      // Two tensors instead of halves: the second has the first one's type.
      {"activation.swiglu_tensors", "f32[T, 4]; f32[T, 4]", "", "f32[T, 4]"},
      {"activation.seglu_tensors", "f32[2, 4]; f32[2, 3]", "",
       "activation.seglu_tensors: Port 'up' has type f32[2, 3]; it needs the type of 'gate', "
       "f32[2, 4]."},
      {"activation.glu_tensors", "f32[2]; f64[2]", "",
       "activation.glu_tensors: Port 'up' has type f64[2]; it needs the type of 'gate', f32[2]."},
      {"activation.glu_tensors", "f32[2]", "", "activation.glu_tensors needs its input 'up'."},
  });
}

// One of the two, not both.
TEST(RandomRules, ShapeOrLike) {
  expect_types({
      {"random.uniform", "", "{shape = [2, 3]}", "f32[2, 3]"},
      // Without a shape the result is a scalar; the port `like` gives extents, not the dtype.
      {"random.uniform", "", "", "f32[]"},
      {"random.uniform", "", R"({shape = [0], dtype = "f16"})", "f16[0]"},
      {"random.normal", "i8[T, 3]", R"({dtype = "f64"})", "f64[T, 3]"},
      {"random.integers", "f32[2]", "{limit = 10}", "i32[2]"},
      {"random.integers", "", "{limit = 10, shape = [5]}", "i32[5]"},
      {"random.uniform", "f32[2]", "{shape = [2]}",
       "random.uniform: Attribute 'shape' is [2] and port 'like' has type f32[2]; only one of them "
       "may be given."},
      {"random.uniform", "", "{shape = [-1]}",
       "random.uniform: The extent -1 of a shape is negative."},
      // 2^62 elements are the limit for a shape, whatever the memory.
      {"random.uniform", "", "{shape = [4611686018427387904]}",
       "random.uniform: A shape with the extent 4611686018427387904 has 2^62 elements or more."},
      {"random.uniform", "", "{shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]}",
       "random.uniform: A shape of rank 9 is over the limit of 8."},
      {"random.uniform", "", R"({dtype = "i32"})",
       "random.uniform: Attribute 'dtype' is 'i32'; it must name a float dtype."},
      {"random.normal", "", R"({dtype = "float"})",
       "random.normal: Attribute 'dtype' is 'float'; it must name a float dtype."},
      {"random.integers", "", "{limit = 0}",
       "random.integers: Attribute 'limit' is 0; it must be from 1 to 2^31."},
      // 2^31 itself is allowed: (word * n) >> 32 needs n below 2^32 and a result that fits i32.
      {"random.integers", "", "{limit = 2147483648}", "i32[]"},
      {"random.integers", "", "{limit = 2147483649}",
       "random.integers: Attribute 'limit' is 2147483649; it must be from 1 to 2^31."},
      {"random.integers", "", "", "random.integers needs the attribute 'limit'."},
      {"random.uniform", "", "{seed = 1.5}",
       "Attribute 'seed' of random.uniform is 1.5; it must be an integer."},
  });
}

// Probabilities and slopes in order.
TEST(DropoutRules, ShareAndBounds) {
  expect_types({
      {"math.dropout", "f32[T]", "", "f32[T]"},
      // Dropping everything, p = 1, is allowed; NaN and a number just above 1 are not.
      {"math.dropout", "f32[3]", "{p = 1}", "f32[3]"},
      {"math.dropout", "f32[3]", "{p = 1.0000001}",
       "math.dropout: Attribute 'p' is 1.0000001; it must be from 0 to 1."},
      {"math.dropout", "f32[3]", "{p = -0.1}",
       "math.dropout: Attribute 'p' is -0.1; it must be from 0 to 1."},
      {"math.dropout", "f32[3]", "{p = nan}",
       "math.dropout: Attribute 'p' is nan; it must be from 0 to 1."},
      {"math.dropout", "i8[3]", "",
       "math.dropout: Port 'x' has type i8[3]; it needs floating-point elements."},
      {"math.dropout", "f32[3]", "{training = 1}",
       "Attribute 'training' of math.dropout is 1; it must be a flag."},
      // Equal bounds leave nothing to chance, and pass.
      {"activation.rrelu", "bf16[T]", "{lower = 0.5, upper = 0.5}", "bf16[T]"},
      {"activation.rrelu", "f32[3]", "{lower = 0.6, upper = 0.5}",
       "activation.rrelu: Attribute 'lower' is 0.6; it must not be above 'upper', 0.5."},
      {"activation.rrelu", "f32[3]", "{lower = nan}",
       "activation.rrelu: Attribute 'lower' is nan; it must not be above 'upper', "
       "0.3333333333333333."},
      {"activation.rrelu", "f32[3]", R"({generator = "mersenne"})",
       "Attribute 'generator' of activation.rrelu is 'mersenne'; the choices are philox, lcg."},
  });
}

// Scales that divide by nothing, zero points outside the integers.
TEST(QuantRules, ScaleZeroPointAndBits) {
  expect_types({
      {"quant.quant", "f16[T, 3]", "{scale = 0.5}", "i8[T, 3]"},
      {"quant.quant", "f32[3]", "{scale = 0}",
       "quant.quant: Attribute 'scale' is 0; it must be above 0 and finite."},
      {"quant.quant", "f32[3]", "{scale = inf}",
       "quant.quant: Attribute 'scale' is inf; it must be above 0 and finite."},
      {"quant.quant", "f32[3]", "{scale = nan}",
       "quant.quant: Attribute 'scale' is nan; it must be above 0 and finite."},
      // The zero point is one of the integers, at both ends.
      {"quant.quant", "f32[3]", "{scale = 1, zero_point = 128}",
       "quant.quant: Attribute 'zero_point' is 128; it must be from -128 to 127."},
      {"quant.quant", "f32[3]", "{scale = 1, zero_point = -128}", "i8[3]"},
      {"quant.quant", "i8[3]", "{scale = 1}",
       "quant.quant: Port 'x' has type i8[3]; it needs floating-point elements."},
      {"quant.quant", "f32[3]", "", "quant.quant needs the attribute 'scale'."},
      // f64 unless asked.
      {"dequant.dequant", "i8[T]", "{scale = 0.5}", "f64[T]"},
      {"dequant.dequant", "i8[T]", R"({scale = 0.5, dtype = "f16"})", "f16[T]"},
      {"dequant.dequant", "i8[3]", R"({scale = 0.5, dtype = "i32"})",
       "dequant.dequant: Attribute 'dtype' is 'i32'; it must name a float dtype."},
      {"dequant.dequant", "u8[3]", "{scale = 0.5}",
       "dequant.dequant: Port 'q' has type u8[3]; its elements must be i8."},
      {"dequant.dequant", "i8[3]", "{scale = -1}",
       "dequant.dequant: Attribute 'scale' is -1; it must be above 0 and finite."},
      // A byte holds two integers: extents double, also 2 * T, unless they pass 63 bits. The zero
      // point is checked against i8, wide enough for the 4-bit numbers.
      {"dequant.dequant4", "u8[T, 3]", R"({scale = 0.5, dtype = "f32"})", "f32[T, 6]"},
      {"dequant.dequant4", "u8[3, T]", "{scale = 0.5}", "f64[3, 2*T]"},
      {"dequant.dequant4", "u8[3]", "{scale = 0.5, zero_point = 16}", "f64[6]"},
      {"dequant.dequant4", "u8[4611686018427387904]", "{scale = 0.5}",
       "dequant.dequant4: Port 'q' has type u8[4611686018427387904]; twice its last extent is over "
       "the limit of 2^63 - 1."},
      {"dequant.dequant4", "u8[]", "{scale = 0.5}",
       "dequant.dequant4: Port 'q' has type u8[]; it needs rank 1 or more."},
      {"dequant.dequant4", "i8[3]", "{scale = 0.5}",
       "dequant.dequant4: Port 'q' has type i8[3]; its elements must be u8."},
      {"quant.dynamic", "f32[T, 64]", "", "i8[T, 64]; f32[T, 2]"},
      // 65 elements are two blocks and a third, short one.
      {"quant.dynamic", "f32[T, 65]", "", "i8[T, 65]; f32[T, 3]"},
      {"quant.dynamic", "f64[2, 300]", "{block = 256, bits = 16}", "i16[2, 300]; f32[2, 2]"},
      {"quant.dynamic", "f32[2, 0]", "", "i8[2, 0]; f32[2, 0]"},
      // The number of blocks must be known.
      {"quant.dynamic", "f32[2, T]", "",
       "quant.dynamic: Port 'x' has type f32[2, T]; the extent of axis 1 must be a constant."},
      {"quant.dynamic", "f32[]", "",
       "quant.dynamic: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"quant.dynamic", "f32[2, 64]", "{bits = 4}",
       "quant.dynamic: Attribute 'bits' is 4; it must be 8 or 16."},
      {"quant.dynamic", "f32[2, 64]", "{block = 0}",
       "quant.dynamic: Attribute 'block' is 0; it must be 1 or more."},
      {"quant.dynamic", "i8[2, 64]", "",
       "quant.dynamic: Port 'x' has type i8[2, 64]; it needs floating-point elements."},
  });
}

// Types come from text and may be anything that a type can be.
TEST(GraphRules, ConstantsWeightsAndInputs) {
  expect_types({
      {"graph.constant", "", R"({type = "f16[2]", values = f[1.0, 2.0]})", "f16[2]"},
      {"graph.constant", "", R"({type = "f32[]", values = f[1.0]})", "f32[]"},
      {"graph.constant", "", R"({type = "i8[0]", values = f[]})", "i8[0]"},
      {"graph.constant", "", R"({type = "f32[2]", values = [1, 2]})", "f32[2]"},
      {"graph.constant", "", R"({type = "f32[2]", values = f[1.0]})",
       "graph.constant: A constant of type f32[2] has 2 values; 1 are given."},
      {"graph.constant", "", R"({type = "f32[T]", values = f[1.0]})",
       "graph.constant: A constant has type f32[T]; it needs constant extents and a plain dtype of "
       "8 bits or more."},
      {"graph.constant", "", R"({type = "q4_0[32]", values = f[1.0]})",
       "graph.constant: A constant has type q4_0[32]; it needs constant extents and a plain dtype "
       "of 8 bits or more."},
      {"graph.constant", "", R"({type = "i4[2]", values = f[1.0, 2.0]})",
       "graph.constant: A constant has type i4[2]; it needs constant extents and a plain dtype of "
       "8 bits or more."},
      {"graph.constant", "", R"({type = "f32", values = f[1.0]})",
       "graph.constant: 'f32' is not a tensor type such as f32[T, 64]."},
      {"graph.constant", "", R"({type = "f32[1]", values = "one"})",
       R"(Attribute 'values' of graph.constant is "one"; it must be a list of numbers.)"},
      {"graph.constant", "", R"({type = "f32[1]"})",
       "graph.constant needs the attribute 'values'."},
      {"graph.weight", "", R"({weight = "w", type = "q4_K[2, 256]"})", "q4_K[2, 256]"},
      {"graph.weight", "", R"({weight = "w", type = "f99[2]"})",
       "graph.weight: 'f99' is not a dtype."},
      {"graph.weight", "", R"({type = "f32[2]"})", "graph.weight needs the attribute 'weight'."},
      {"Input", "", R"({type = "f32[3*T, S]"})", "f32[3*T, S]"},
      {"Input", "", R"({type = "f32[t]"})",
       "Input: 't' is not a dim; a dim is a number, a letter or number*letter."},
      {"Input", "", R"({type = "f32[1, 1, 1, 1, 1, 1, 1, 1, 1]"})",
       "Input: A tensor type of rank 9 is over the limit of 8."},
  });
}

}  // namespace
}  // namespace quern::test
