// Type rules of products, norms, attention, convolution and pooling.
#include <gtest/gtest.h>

#include "support/op_typing.h"

namespace quern::test {
namespace {

// Symbols must be the same symbol.
// T against S is refused, since nothing says that two symbols are equal in a run. K = 0 is a valid
// inner extent. The error names the port that comes second where two ports disagree.
TEST(MatmulRules, InnerExtentsMeet) {
  expect_types({
      {"math.matmul", "f32[T, 3]; f32[3, N]", "", "f32[T, N]"},
      {"math.matmul", "f64[2, 0]; f64[0, 4]", "", "f64[2, 4]"},
      {"math.matmul", "f16[T, K]; f16[K, N]", "", "f16[T, N]"},
      {"math.matmul", "f32[2, 3]; f32[4, 5]", "",
       "math.matmul: Port 'b' has type f32[4, 5]; the extent of axis 0 must be 3, the columns of "
       "'a'."},
      {"math.matmul", "f32[2, T]; f32[S, 5]", "",
       "math.matmul: Port 'b' has type f32[S, 5]; the extent of axis 0 must be T, the columns of "
       "'a'."},
      {"math.matmul", "f32[2, 3]; f64[3, 5]", "",
       "math.matmul: Port 'b' has type f64[3, 5]; its elements must be f32."},
      {"math.matmul", "f32[3]; f32[3, 5]", "",
       "math.matmul: Port 'a' has type f32[3]; it needs rank 2."},
      {"math.matmul", "f32[1, 2, 3]; f32[3, 5]", "",
       "math.matmul: Port 'a' has type f32[1, 2, 3]; it needs rank 2."},
      {"math.matmul", "f32[2, 3]; f32[3]", "",
       "math.matmul: Port 'b' has type f32[3]; it needs rank 2."},
      {"math.matmul", "i32[2, 3]; i32[3, 5]", "",
       "math.matmul: Port 'a' has type i32[2, 3]; it needs floating-point elements."},
      // Packed weights belong to projection.linear.
      {"math.matmul", "q8_0[2, 32]; f32[32, 2]", "",
       "math.matmul: Port 'a' has type q8_0[2, 32]; it needs floating-point elements."},
      {"math.matmul", "f32[2, 3]", "", "math.matmul needs its input 'b'."},
      // An alias (vsa.similarity) has the rule of its operation but its own name in errors.
      {"dot.dot", "f32[T]; f32[T]", "", "f32[]"},
      {"dot.dot", "f32[3]; f32[4]", "",
       "dot.dot: Port 'b' has type f32[4]; it needs the type of 'a', f32[3]."},
      {"dot.dot", "f32[3, 1]; f32[3, 1]", "",
       "dot.dot: Port 'a' has type f32[3, 1]; it needs rank 1."},
      {"vsa.similarity", "f32[3]; f64[3]", "",
       "vsa.similarity: Port 'b' has type f64[3]; it needs the type of 'a', f32[3]."},
      {"dot.dot", "i8[3]; i8[3]", "",
       "dot.dot: Port 'a' has type i8[3]; it needs floating-point elements."},
  });
}

// Dtypes, extents and declared features.
// x [..., in], weight [out, in], bias [out]. Narrow and packed weights give f32, f64 activations
// f64, and nothing may be wider than x.
TEST(LinearRules, FloatActivations) {
  expect_types({
      {"projection.linear", "f32[T, 64]; f32[5, 64]", "", "f32[T, 5]"},
      {"projection.linear", "f16[T, 64]; q4_0[5, 64]", "", "f32[T, 5]"},
      {"projection.linear", "f64[2, 3, 64]; f64[5, 64]; f64[5]", "", "f64[2, 3, 5]"},
      {"projection.linear", "bf16[64]; f16[5, 64]; f32[5]", "", "f32[5]"},
      {"projection.linear", "f64[2, 64]; f32[5, 64]", "", "f64[2, 5]"},
      {"projection.linear", "f32[T, 64]; f32[N, 64]; f32[N]", "", "f32[T, N]"},
      {"projection.linear", "f32[T, K]; f32[5, K]", "", "f32[T, 5]"},
      // in_features and out_features only repeat extents; each is tried right, then wrong.
      {"projection.linear", "f32[2, 64]; f32[5, 64]", "{in_features = 64, out_features = 5}",
       "f32[2, 5]"},
      {"projection.linear", "f32[2, 64]; f32[5, 64]", "{in_features = 32}",
       "projection.linear: Attribute 'in_features' is 32; it must be 64, the columns of 'weight'."},
      {"projection.linear", "f32[2, 64]; f32[5, 64]", "{out_features = 6}",
       "projection.linear: Attribute 'out_features' is 6; it must be 5, the rows of 'weight'."},
      {"projection.linear", "f32[2, 64]; f32[5, 32]", "",
       "projection.linear: Port 'weight' has type f32[5, 32]; the extent of axis 1 must be 64, the "
       "last axis of 'x'."},
      {"projection.linear", "f32[2, 64]; f32[64]", "",
       "projection.linear: Port 'weight' has type f32[64]; it needs rank 2."},
      {"projection.linear", "f32[]; f32[5, 64]", "",
       "projection.linear: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"projection.linear", "f32[2, 64]; i8[5, 64]", "",
       "projection.linear: Port 'weight' has type i8[5, 64]; it needs floating-point elements."},
      // A wider weight would be rounded where its author does not expect it.
      {"projection.linear", "f32[2, 64]; f64[5, 64]", "",
       "projection.linear: Port 'weight' has type f64[5, 64], which is wider than the f32[2, 64] "
       "it works on."},
      {"projection.linear", "f64[2, 64]; q8_0[5, 64]", "",
       "projection.linear: Port 'x' has type f64[2, 64]; a weight of type q8_0[5, 64] takes f32 "
       "and narrower."},
      {"projection.linear", "f32[2, 64]; f32[5, 64]; f32[6]", "",
       "projection.linear: Port 'bias' has type f32[6]; the extent of axis 0 must be 5, the rows "
       "of 'weight'."},
      {"projection.linear", "f32[2, 64]; f32[5, 64]; f32[5, 1]", "",
       "projection.linear: Port 'bias' has type f32[5, 1]; it needs rank 1."},
      {"projection.linear", "f32[2, 64]; f32[5, 64]; f64[5]", "",
       "projection.linear: Port 'bias' has type f64[5], which is wider than the f32[2, 5] it works "
       "on."},
      {"projection.linear", "f32[2, 64]; f32[5, 64]; i32[5]", "",
       "projection.linear: Port 'bias' has type i32[5]; it needs floating-point elements."},
      // Rows are whole blocks: 48 is no multiple of 32, and a symbol is never known to be one.
      {"projection.linear", "f32[2, 48]; q8_0[5, 48]", "",
       "projection.linear: Port 'weight' has type q8_0[5, 48]; its rows must be whole blocks of "
       "32."},
      {"projection.linear", "f32[2, K]; q8_0[5, K]", "",
       "projection.linear: Port 'weight' has type q8_0[5, K]; the extent of axis 1 must be a "
       "constant."},
      // A scale without integers beside it would be ignored in silence.
      {"projection.linear", "f32[2, 64]; f32[5, 64]; _; f32[2, 2]", "",
       "projection.linear: Port 'scale' belongs to i8 or i16 activations; 'x' has type f32[2, "
       "64]."},
      {"projection.linear", "i32[2, 64]; f32[5, 64]", "",
       "projection.linear: Port 'x' has type i32[2, 64]; it needs floating-point elements."},
      {"projection.linear", "f32[2, 64]; q8_K[5, 64]", "",
       "projection.linear: Port 'weight' has type q8_K[5, 64]; it needs floating-point elements."},
  });
}

// Scales fit the weight's activation blocks.
// Integers come from quant.dynamic with a scale for each block of 32, or of 256 where the weight's
// block is 256. K = 96 is three blocks, so K need not be a power of two.
TEST(LinearRules, QuantisedActivations) {
  expect_types({
      {"projection.linear", "i8[T, 64]; q8_0[5, 64]; _; f32[T, 2]", "", "f32[T, 5]"},
      {"projection.linear", "i16[T, 512]; q4_K[5, 512]; f32[5]; f32[T, 2]", "", "f32[T, 5]"},
      {"projection.linear", "i8[T, 96]; q4_0[5, 96]; _; f32[T, 3]", "", "f32[T, 5]"},
      {"projection.linear", "i8[2, 64]; q8_0[5, 64]", "",
       "projection.linear: Port 'x' has type i8[2, 64], so port 'scale' must be given."},
      {"projection.linear", "i8[2, 64]; f32[5, 64]; _; f32[2, 2]", "",
       "projection.linear: Port 'weight' has type f32[5, 64]; activations of type i8[2, 64] need a "
       "block-quantised weight."},
      {"projection.linear", "i8[2, 64]; q8_0[5, 64]; _; f32[2, 3]", "",
       "projection.linear: Port 'scale' has type f32[2, 3]; with blocks of 32 it must be f32[2, "
       "2]."},
      {"projection.linear", "i8[2, 64]; q8_0[5, 64]; _; f32[3, 2]", "",
       "projection.linear: Port 'scale' has type f32[3, 2]; with blocks of 32 it must be f32[2, "
       "2]."},
      {"projection.linear", "i8[2, 64]; q8_0[5, 64]; _; f16[2, 2]", "",
       "projection.linear: Port 'scale' has type f16[2, 2]; its elements must be f32."},
      {"projection.linear", "i16[2, 512]; q4_K[5, 512]; _; f32[2, 16]", "",
       "projection.linear: Port 'scale' has type f32[2, 16]; with blocks of 256 it must be f32[2, "
       "2]."},
      {"projection.linear", "u8[2, 64]; q8_0[5, 64]; _; f32[2, 2]", "",
       "projection.linear: Port 'x' has type u8[2, 64]; it needs floating-point elements."},
  });
}

// Widths that add up, and that do not.
// The joint weight has d_q + d_k + d_v rows. The largest i64 as d_q shows that the sum is checked.
TEST(QkvRules, RowsOfTheThreeParts) {
  expect_types({
      {"projection.fused_qkv", "f32[T, 5]; f32[9, 5]; f32[9]",
       "{d_in = 5, d_q = 4, d_k = 3, d_v = 2}", "f32[T, 9]"},
      {"projection.fused_qkv", "f32[T, 5]; f32[8, 5]", "{d_in = 5, d_q = 4, d_k = 3, d_v = 2}",
       "projection.fused_qkv: Attribute 'out_features' is 9; it must be 8, the rows of 'weight'."},
      {"projection.fused_qkv", "f32[T, 5]; f32[9, 5]", "{d_in = 6, d_q = 4, d_k = 3, d_v = 2}",
       "projection.fused_qkv: Attribute 'in_features' is 6; it must be 5, the columns of "
       "'weight'."},
      {"projection.fused_qkv", "f32[T, 5]; f32[9, 5]", "{d_in = 5, d_q = 0, d_k = 3, d_v = 2}",
       "projection.fused_qkv: Attribute 'd_q' is 0; it must be 1 or more."},
      {"projection.fused_qkv", "f32[T, 5]; f32[9, 5]",
       "{d_in = 5, d_q = 9223372036854775807, d_k = 3, d_v = 2}",
       "projection.fused_qkv: With attribute 'd_k', 3, the rows are too many."},
      {"projection.fused_qkv", "f32[T, 5]; f32[9, 5]", "{d_in = 5, d_q = 4, d_k = 3}",
       "projection.fused_qkv needs the attribute 'd_v'."},
  });
}

// The bias is a row of the product.
// One node for product, bias and activation; the pattern names which fusion it is.
TEST(FusedRules, MatmulBiasActivation) {
  expect_types({
      {"Fused", "f32[T, 3]; f32[3, 4]; f32[4]", R"({activation = "relu"})", "f32[T, 4]"},
      {"Fused", "f32[T, 3]; f32[3, 4]", R"({activation = "silu"})", "f32[T, 4]"},
      {"Fused", "f32[T, 3]; f32[3, 4]", R"({activation = "mish"})",
       "Attribute 'activation' of Fused is 'mish'; the choices are relu, leaky_relu, gelu, tanh, "
       "sigmoid, swish, silu, selu."},
      {"Fused", "f32[T, 3]; f32[3, 4]", "", "Fused needs the attribute 'activation'."},
      {"Fused", "f32[T, 3]; f32[3, 4]; f32[5]", R"({activation = "relu"})",
       "Fused: Port 'bias' has type f32[5]; it must be f32[4], a row of the product."},
      {"Fused", "f32[T, 3]; f32[4, 4]", R"({activation = "relu"})",
       "Fused: Port 'b' has type f32[4, 4]; the extent of axis 0 must be 3, the columns of 'a'."},
      {"Fused", "f32[T, 3]; f32[3, 4]", R"({activation = "relu", pattern = "fused.conv"})",
       "Attribute 'pattern' of Fused is 'fused.conv'; the choices are fused.matmul.activation."},
  });
}

// Rows per token, or per token and choice.
// x [T, in] is shared by all choices of a token; x [T, choices, in] gives each its own row. weight
// is [experts, out, in], experts i32 [T, choices].
TEST(ExpertRules, OneProjectionForEachChoice) {
  expect_types({
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i32[T, 2]", "", "f32[T, 2, 6]"},
      {"experts.linear", "f32[T, 2, 7]; f32[3, 6, 7]; i32[T, 2]; f32[3, 6]", "", "f32[T, 2, 6]"},
      {"experts.linear", "i8[T, 64]; q8_0[3, 6, 64]; i32[T, 2]; _; f32[T, 2]", "", "f32[T, 2, 6]"},
      {"experts.linear", "f32[T, 7]; f32[6, 7]; i32[T, 2]", "",
       "experts.linear: Port 'weight' has type f32[6, 7]; it needs rank 3."},
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i64[T, 2]", "",
       "experts.linear: Port 'experts' has type i64[T, 2]; its elements must be i32."},
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i32[T]", "",
       "experts.linear: Port 'experts' has type i32[T]; it needs rank 2."},
      {"experts.linear", "f32[5, 7]; f32[3, 6, 7]; i32[4, 2]", "",
       "experts.linear: Port 'x' has type f32[5, 7]; the extent of axis 0 must be 4, the rows of "
       "'experts'."},
      {"experts.linear", "f32[T, 3, 7]; f32[3, 6, 7]; i32[T, 2]", "",
       "experts.linear: Port 'x' has type f32[T, 3, 7]; the extent of axis 1 must be 2, the "
       "columns of 'experts'."},
      {"experts.linear", "f32[T, 2, 1, 7]; f32[3, 6, 7]; i32[T, 2]", "",
       "experts.linear: Port 'x' has type f32[T, 2, 1, 7]; it needs rank 3."},
      {"experts.linear", "f32[7]; f32[3, 6, 7]; i32[1, 2]", "",
       "experts.linear: Port 'x' has type f32[7]; it needs rank 2 or more."},
      // The rule for one expert's matrix speaks here, hence a weight without its first axis.
      {"experts.linear", "f32[T, 8]; f32[3, 6, 7]; i32[T, 2]", "",
       "experts.linear: Port 'weight' has type f32[6, 7]; the extent of axis 1 must be 8, the last "
       "axis of 'x'."},
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i32[T, 2]; f32[2, 6]", "",
       "experts.linear: Port 'bias' has type f32[2, 6]; the extent of axis 0 must be 3, the "
       "experts of 'weight'."},
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i32[T, 2]; f32[3, 5]", "",
       "experts.linear: Port 'bias' has type f32[5]; the extent of axis 0 must be 6, the rows of "
       "'weight'."},
      {"experts.linear", "f32[T, 7]; f32[3, 6, 7]; i32[T, 2]; f32[6]", "",
       "experts.linear: Port 'bias' has type f32[6]; it needs rank 2."},
      {"experts.combine", "f32[T, 2, 7]; f32[T, 2]", "", "f32[T, 7]"},
      {"experts.combine", "f32[T, 2, 7]; f32[T, 3]", "",
       "experts.combine: Port 'weights' has type f32[T, 3]; the extent of axis 1 must be 2, the "
       "choices of 'y'."},
      {"experts.combine", "f32[T, 2, 7]; f16[T, 2]", "",
       "experts.combine: Port 'weights' has type f16[T, 2]; its elements must be f32."},
      {"experts.combine", "f32[T, 7]; f32[T]", "",
       "experts.combine: Port 'y' has type f32[T, 7]; it needs rank 3."},
  });
}

// Any dtype that has numbers.
// Ids of any rank put their axes in front. Tables give f32, but f64 stays f64; q8_K and complex
// numbers have no way to widen.
TEST(EmbeddingRules, TablesWiden) {
  expect_types({
      {"embedding.token", "i32[T]; f32[V, 8]", "", "f32[T, 8]"},
      {"embedding.token", "i64[2, T]; q4_0[9, 32]", "", "f32[2, T, 32]"},
      {"embedding.token", "i32[]; f64[9, 8]", "", "f64[8]"},
      {"embedding.token", "i32[T]; bf16[9, 8]", "{vocab_size = 9, d_model = 8}", "f32[T, 8]"},
      {"embedding.token", "i32[T]; f32[9, 8]", "{vocab_size = 10}",
       "embedding.token: Attribute 'vocab_size' is 10; it must be 9, the rows of 'weight'."},
      {"embedding.token", "i32[T]; f32[9, 8]", "{d_model = 7}",
       "embedding.token: Attribute 'd_model' is 7; it must be 8, the columns of 'weight'."},
      {"embedding.token", "f32[T]; f32[9, 8]", "",
       "embedding.token: Port 'ids' has type f32[T]; its elements must be i32 or i64."},
      {"embedding.token", "i32[T]; f32[9]", "",
       "embedding.token: Port 'weight' has type f32[9]; it needs rank 2."},
      {"embedding.token", "i32[T]; i8[9, 8]", "", "f32[T, 8]"},
      {"embedding.token", "i32[T]; q8_K[9, 256]", "",
       "embedding.token: Port 'weight' has type q8_K[9, 256]; its dtype cannot widen to f32."},
      {"embedding.token", "i32[T]", "", "embedding.token needs its input 'weight'."},
      // A bag joins the rows of one range of ids; there is an output row for each offset.
      {"embedding.bag", "i64[N]; i64[B]; f32[9, 8]", "", "f32[B, 8]"},
      {"embedding.bag", "i32[3]; i32[2]; q8_0[9, 32]", "", "f32[2, 32]"},
      {"embedding.bag", "i32[3]; i32[2]; f64[9, 8]", "", "f64[2, 8]"},
      {"embedding.bag", "i32[3, 1]; i32[2]; f32[9, 8]", "",
       "embedding.bag: Port 'ids' has type i32[3, 1]; it needs rank 1."},
      {"embedding.bag", "i32[3]; f32[2]; f32[9, 8]", "",
       "embedding.bag: Port 'offsets' has type f32[2]; its elements must be i64 or i32."},
      {"embedding.bag", "i32[3]; i32[2]; f32[9]", "",
       "embedding.bag: Port 'weight' has type f32[9]; it needs rank 2."},
      {"embedding.bag", "i32[3]; i32[2]; complex64[9, 2]", "",
       "embedding.bag: Port 'weight' has type complex64[9, 2]; its dtype cannot widen to f32."},
  });
}

// Absent, right, too long, too wide.
// A bias may stand without a weight: `_` is the absent port.
TEST(NormRules, VectorsOfTheLastAxis) {
  expect_types({
      {"math.rmsnorm", "f32[T, 8]", "", "f32[T, 8]"},
      {"math.rmsnorm", "f16[T, 8]; f32[8]", "", "f16[T, 8]"},
      {"math.rmsnorm", "f32[T, D]; f32[D]", "", "f32[T, D]"},
      {"math.rmsnorm", "f32[8]", "{eps = 0}", "f32[8]"},
      {"math.rmsnorm", "f32[]", "",
       "math.rmsnorm: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"math.rmsnorm", "f32[T, 8]; f64[8]", "",
       "math.rmsnorm: Port 'weight' has type f64[8], which is wider than the f32[T, 8] it works "
       "on."},
      {"math.rmsnorm", "f32[T, 8]; f32[7]", "",
       "math.rmsnorm: Port 'weight' has type f32[7]; the extent of axis 0 must be 8, the last axis "
       "of 'x'."},
      {"math.rmsnorm", "f32[T, 8]; f32[1, 8]", "",
       "math.rmsnorm: Port 'weight' has type f32[1, 8]; it needs rank 1."},
      {"math.rmsnorm", "f32[T, 8]; i8[8]", "",
       "math.rmsnorm: Port 'weight' has type i8[8]; it needs floating-point elements."},
      {"math.rmsnorm", "i32[8]", "",
       "math.rmsnorm: Port 'x' has type i32[8]; it needs floating-point elements."},
      {"math.layernorm", "f64[T, 8]; f32[8]; f64[8]", "", "f64[T, 8]"},
      {"math.layernorm", "f32[T, 8]; _; f32[8]", "", "f32[T, 8]"},
      {"math.layernorm", "f32[T, 8]; f32[8]; f32[9]", "",
       "math.layernorm: Port 'bias' has type f32[9]; the extent of axis 0 must be 8, the last axis "
       "of 'x'."},
      {"math.layernorm", "f32[T, 8]; f32[8]; f32[8]; f32[8]", "",
       "math.layernorm takes at most 3 inputs; 4 were given."},
  });
}

// The second axis, and groups that divide it.
// Group norm divides the number of channels and must know it; instance norm does not and takes a
// symbol. Weights belong to channels, not to groups.
TEST(NormRules, Channels) {
  expect_types({
      {"math.groupnorm", "f32[N, 6, T]", "{groups = 3}", "f32[N, 6, T]"},
      {"math.groupnorm", "f32[N, 6]; f32[6]; f32[6]", "{groups = 6}", "f32[N, 6]"},
      {"math.groupnorm", "f32[N, 6, 2]", "{groups = 4}",
       "math.groupnorm: Attribute 'groups' is 4; it must divide the 6 channels of 'x'."},
      {"math.groupnorm", "f32[N, 6, 2]", "{groups = 0}",
       "math.groupnorm: Attribute 'groups' is 0; it must divide the 6 channels of 'x'."},
      {"math.groupnorm", "f32[N, 6, 2]", "{groups = -3}",
       "math.groupnorm: Attribute 'groups' is -3; it must divide the 6 channels of 'x'."},
      {"math.groupnorm", "f32[N, C, 2]", "{groups = 1}",
       "math.groupnorm: Port 'x' has type f32[N, C, 2]; the extent of axis 1 must be a constant."},
      {"math.groupnorm", "f32[6]", "{groups = 1}",
       "math.groupnorm: Port 'x' has type f32[6]; it needs rank 2 or more."},
      {"math.groupnorm", "f32[N, 6, 2]; f32[2]", "{groups = 3}",
       "math.groupnorm: Port 'weight' has type f32[2]; the extent of axis 0 must be 6, the "
       "channels of 'x'."},
      {"math.groupnorm", "f32[N, 6, 2]", "", "math.groupnorm needs the attribute 'groups'."},
      {"normalization.instance_norm", "f32[N, C, 2]; f32[C]", "", "f32[N, C, 2]"},
      {"normalization.instance_norm", "f32[N, C]; f32[3]", "",
       "normalization.instance_norm: Port 'weight' has type f32[3]; the extent of axis 0 must be "
       "C, the channels of 'x'."},
      {"normalization.instance_norm", "f32[5]", "",
       "normalization.instance_norm: Port 'x' has type f32[5]; it needs rank 2 or more."},
      {"normalization.batch_norm_eval", "f32[N, 3, T]; f32[3]; f32[3]", "", "f32[N, 3, T]"},
      {"normalization.batch_norm_eval", "f32[N, 3, T]; f32[3]; f32[3]; f32[3]; f32[3]", "",
       "f32[N, 3, T]"},
      {"normalization.batch_norm_eval", "f32[N, 3, T]; f32[3]; f32[4]", "",
       "normalization.batch_norm_eval: Port 'var' has type f32[4]; the extent of axis 0 must be 3, "
       "the channels of 'x'."},
      {"normalization.batch_norm_eval", "f32[N, 3, T]; f32[3]", "",
       "normalization.batch_norm_eval needs its input 'var'."},
      {"normalization.batch_norm_eval", "f32[N, 3, T]; f64[3]; f32[3]", "",
       "normalization.batch_norm_eval: Port 'mean' has type f64[3], which is wider than the f32[N, "
       "3, T] it works on."},
      {"normalization.batch_norm_eval", "f32[3]; f32[3]; f32[3]", "",
       "normalization.batch_norm_eval: Port 'x' has type f32[3]; it needs rank 2 or more."},
  });
}

// Rows that are known to be empty.
// Softmax of no elements is nothing, but logsumexp needs a maximum: a row known to be empty is
// refused here, a symbolic one at run time.
TEST(SoftmaxRules, RowsAndTheirExtents) {
  expect_types({
      {"math.softmax", "f32[T, S]", "", "f32[T, S]"},
      {"math.softmax", "f32[2, 0]", "", "f32[2, 0]"},
      {"math.softmax", "f32[]", "",
       "math.softmax: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"math.softmax", "i32[3]", "",
       "math.softmax: Port 'x' has type i32[3]; it needs floating-point elements."},
      {"activation.log_softmax", "f16[T]", "", "f16[T]"},
      {"activation.log_softmax", "f32[]", "",
       "activation.log_softmax: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"math.logsumexp", "f32[T, 3]", "", "f32[T]"},
      {"math.logsumexp", "f32[S]", "", "f32[]"},
      {"math.logsumexp", "f32[2, 0]", "",
       "math.logsumexp: Port 'x' has type f32[2, 0]; rows without elements have no maximum."},
      {"math.logsumexp", "f32[]", "",
       "math.logsumexp: Port 'x' has type f32[]; it needs rank 1 or more."},
  });
}

// From both ends, once each.
// Floats keep their dtype; integers add in i64, have a mean in f64 and keep their dtype where an
// element is selected.
TEST(ReductionRules, AxesAndKeptExtents) {
  expect_types({
      {"reduction.sum", "f32[2, 3]", "", "f32[]"},
      {"reduction.sum", "f32[2, 3]", "{keep_dims = true}", "f32[1, 1]"},
      {"reduction.sum", "f32[2, 3, T]", "{axes = [1]}", "f32[2, T]"},
      {"reduction.mean", "f32[2, 3, T]", "{axes = [-1, 0], keep_dims = true}", "f32[1, 3, 1]"},
      {"reduction.sum", "i8[2, 3]", "{axes = [0]}", "i64[3]"},
      {"reduction.prod", "u8[3]", "", "i64[]"},
      {"reduction.mean", "i32[3]", "", "f64[]"},
      {"reduction.mean", "u8[2, 3]", "{axes = [1]}", "f64[2]"},
      {"reduction.reduce_max", "i8[2, 3]", "{axes = [0]}", "i8[3]"},
      {"reduction.reduce_min", "u64[3]", "", "u64[]"},
      {"reduction.l1_norm", "i16[3]", "", "i64[]"},
      {"reduction.sum", "f32[]", "", "f32[]"},
      // Past either end, one axis under two names, and any axis of a scalar.
      {"reduction.sum", "f32[2, 3]", "{axes = [2]}",
       "reduction.sum: Attribute 'axes' names axis 2; a tensor of rank 2 has axes -2 to 1."},
      {"reduction.sum", "f32[2, 3]", "{axes = [-3]}",
       "reduction.sum: Attribute 'axes' names axis -3; a tensor of rank 2 has axes -2 to 1."},
      {"reduction.sum", "f32[2, 3]", "{axes = [1, -1]}",
       "reduction.sum: Attribute 'axes' [1, -1] names axis 1 twice."},
      {"reduction.sum", "f32[]", "{axes = [0]}",
       "reduction.sum: Attribute 'axes' names axis 0; a tensor of rank 0 has no axes."},
      {"reduction.sum", "b1[8]", "",
       "reduction.sum: Port 'x' has type b1[8]; it needs floats, or integers of 8 bits or more."},
      {"reduction.sum", "q8_0[32]", "",
       "reduction.sum: Port 'x' has type q8_0[32]; it needs floats, or integers of 8 bits or "
       "more."},
      {"reduction.sum", "complex128[2]", "",
       "reduction.sum: Port 'x' has type complex128[2]; it needs floats, or integers of 8 bits or "
       "more."},
      {"reduction.sum", "f32[2]", "{keep_dims = 1}",
       "Attribute 'keep_dims' of reduction.sum is 1; it must be a flag."},
      // argmax reads floats only, argmin integers too.
      {"reduction.argmax", "f32[T, 5]", "", "i32[T]"},
      {"reduction.argmax", "f32[5]", "", "i32[]"},
      {"reduction.argmax", "i32[5]", "",
       "reduction.argmax: Port 'x' has type i32[5]; it needs floating-point elements."},
      {"reduction.argmax", "f32[]", "",
       "reduction.argmax: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"reduction.argmin", "i8[T, 5]", "", "i32[T]"},
      {"reduction.argmin", "f32[]", "",
       "reduction.argmin: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"reduction.argmin", "i4[2]", "",
       "reduction.argmin: Port 'x' has type i4[2]; it needs floats, or integers of 8 bits or "
       "more."},
      {"sort.top_k", "f32[T, 5]", "{k = 2}", "f32[T, 2]; i32[T, 2]"},
      {"sort.top_k", "f16[5]", "{k = 5}", "f16[5]; i32[5]"},
      {"sort.top_k", "f32[5]", "{k = 6}",
       "sort.top_k: Attribute 'k' is 6; it must be from 1 to the last extent of f32[5]."},
      {"sort.top_k", "f32[5]", "{k = 0}",
       "sort.top_k: Attribute 'k' is 0; it must be from 1 to the last extent of f32[5]."},
      // A k against a symbol is checked at run time.
      {"sort.top_k", "f32[T]", "{k = 3}", "f32[3]; i32[3]"},
      {"sort.top_k", "f32[]", "{k = 1}",
       "sort.top_k: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"sort.top_k", "i32[5]", "{k = 1}",
       "sort.top_k: Port 'x' has type i32[5]; it needs floating-point elements."},
      {"sort.top_k", "f32[5]", "", "sort.top_k needs the attribute 'k'."},
  });
}

// Heads, widths and batches of the three tensors.
// q [B, H, T, D], k [B, H, S, D] and v [B, H, S, Dv] give [B, H, T, Dv]. sdpa wants equal heads,
// mqa one head of keys, gqa a divisor of the heads of q, and 0 divides nothing.
TEST(AttentionRules, Heads) {
  expect_types({
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 6]", "",
       "f32[B, 4, T, 6]"},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]", "",
       "attention.sdpa: Port 'k' has type f32[B, 2, S, 8]; the extent of axis 1 must be 4, the "
       "heads of 'q'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 7]; f32[B, 4, S, 8]", "",
       "attention.sdpa: Port 'k' has type f32[B, 4, S, 7]; the extent of axis 3 must be 8, the "
       "last extent of 'q'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, T, 8]", "",
       "attention.sdpa: Port 'v' has type f32[B, 4, T, 8]; the extent of axis 2 must be S, that of "
       "'k'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[2, 4, S, 8]; f32[2, 4, S, 8]", "",
       "attention.sdpa: Port 'k' has type f32[2, 4, S, 8]; the extent of axis 0 must be B, the "
       "batch of 'q'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f16[B, 4, S, 8]; f32[B, 4, S, 8]", "",
       "attention.sdpa: Port 'k' has type f16[B, 4, S, 8]; its elements must be f32."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f16[B, 4, S, 8]", "",
       "attention.sdpa: Port 'v' has type f16[B, 4, S, 8]; its elements must be f32."},
      {"attention.sdpa", "f32[4, T, 8]; f32[4, S, 8]; f32[4, S, 8]", "",
       "attention.sdpa: Port 'q' has type f32[4, T, 8]; it needs rank 4."},
      {"attention.sdpa", "i8[B, 4, T, 8]; i8[B, 4, S, 8]; i8[B, 4, S, 8]", "",
       "attention.sdpa: Port 'q' has type i8[B, 4, T, 8]; it needs floating-point elements."},
      {"attention.sdpa", "f32[B, H, T, 8]; f32[B, H, S, 8]; f32[B, H, S, 8]", "",
       "attention.sdpa: Port 'q' has type f32[B, H, T, 8]; the extent of axis 1 must be a "
       "constant."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]", "",
       "attention.sdpa needs its input 'v'."},
      {"attention.mqa", "f32[B, 4, T, 8]; f32[B, 1, S, 8]; f32[B, 1, S, 8]", "", "f32[B, 4, T, 8]"},
      {"attention.mqa", "f32[B, 4, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]", "",
       "attention.mqa: Port 'k' has type f32[B, 2, S, 8]; the extent of axis 1 must be 1, one head "
       "for all queries."},
      {"attention.gqa", "f32[B, 6, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]", "", "f32[B, 6, T, 8]"},
      {"attention.gqa", "f32[B, 6, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]", "",
       "attention.gqa: Port 'q' has type f32[B, 6, T, 8], whose 6 heads are not a multiple of the "
       "4 of 'k', f32[B, 4, S, 8]."},
      {"attention.gqa", "f32[B, 6, T, 8]; f32[B, 0, S, 8]; f32[B, 0, S, 8]", "",
       "attention.gqa: Port 'q' has type f32[B, 6, T, 8], whose 6 heads are not a multiple of the "
       "0 of 'k', f32[B, 0, S, 8]."},
  });
}

// Ranks 2 to 4, extents of 1.
// A mask is [T, S] with up to two axes in front, each full or 1. It may be narrower than q.
TEST(AttentionRules, Masks) {
  expect_types({
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[T, S]", "",
       "f32[B, 4, T, 8]"},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[1, T, S]", "",
       "f32[B, 4, T, 8]"},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f16[B, 4, T, S]", "",
       "f32[B, 4, T, 8]"},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[B, 1, T, S]", "",
       "f32[B, 4, T, 8]"},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[3, T, S]", "",
       "attention.sdpa: Port 'mask' has type f32[3, T, S]; the extent of axis 0 must be 4 or 1."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[2, 4, T, S]", "",
       "attention.sdpa: Port 'mask' has type f32[2, 4, T, S]; the extent of axis 0 must be B or "
       "1."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[S]", "",
       "attention.sdpa: Port 'mask' has type f32[S]; it needs rank 2 to 4."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[S, T]", "",
       "attention.sdpa: Port 'mask' has type f32[S, T]; the extent of axis 0 must be T, the rows "
       "of 'q'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f32[T, T]", "",
       "attention.sdpa: Port 'mask' has type f32[T, T]; the extent of axis 1 must be S, the rows "
       "of 'k'."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; u8[T, S]", "",
       "attention.sdpa: Port 'mask' has type u8[T, S]; it needs floating-point elements."},
      {"attention.sdpa", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]; f64[T, S]", "",
       "attention.sdpa: Port 'mask' has type f64[T, S], which is wider than the f32[B, 4, T, 8] it "
       "works on."},
  });
}

// Windows, blocks, and rows of a cache.
// Cached keys stand before the new ones: 7 and 3 make 10 rows, or 5 and 3 make 8 from
// start_position = 5, and the mask must have that many columns.
TEST(AttentionRules, AttributesAndCaches) {
  expect_types({
      {"attention.flash_attention", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]",
       "{block_size = 1}", "f32[B, 4, T, 8]"},
      {"attention.flash_attention", "f32[B, 4, T, 8]; f32[B, 4, S, 8]; f32[B, 4, S, 8]",
       "{block_size = 0}",
       "attention.flash_attention: Attribute 'block_size' is 0; it must be 1 or more."},
      {"attention.sliding_window", "f32[B, 4, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]",
       "{window = 1}", "f32[B, 4, T, 8]"},
      {"attention.sliding_window", "f32[B, 4, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]",
       "{window = 0}", "attention.sliding_window: Attribute 'window' is 0; it must be 1 or more."},
      {"attention.sliding_window", "f32[B, 4, T, 8]; f32[B, 2, S, 8]; f32[B, 2, S, 8]",
       "{causal = true}", "attention.sliding_window has no attribute 'causal' (given: true)."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, 7, 8]; f32[1, 2, 7, 4]", "",
       "f32[1, 6, 2, 4]"},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; f32[2, 8]; f32[1, 2, 7, 8]; f32[1, 2, "
       "7, 4]",
       "{start_position = 5}", "f32[1, 6, 2, 4]"},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; f32[2, 10]; f32[1, 2, 7, 8]; f32[1, 2, "
       "7, 4]",
       "{start_position = 5}",
       "attention.gqa: Port 'mask' has type f32[2, 10]; the extent of axis 1 must be 8, the rows "
       "of 'k'."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, 7, 8]; f32[1, 2, 7, 4]",
       "{start_position = 8}",
       "attention.gqa: Attribute 'start_position' is 8; it must be from 0 to the 7 cached rows."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, 7, 8]; f32[1, 2, 7, 4]",
       "{start_position = -2}",
       "attention.gqa: Attribute 'start_position' is -2; it must be from 0 to the 7 cached rows."},
      {"attention.gqa", "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, 7, 8]", "",
       "attention.gqa: Port 'k_cache' is given without 'v_cache'; they must be given together."},
      {"attention.gqa", "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]", "{start_position = 0}",
       "attention.gqa: Attribute 'start_position' is 0; it needs the port 'k_cache'."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, 7, 6]; f32[1, 2, 7, 4]", "",
       "attention.gqa: Port 'k_cache' has type f32[1, 2, 7, 6]; it needs the type of 'k', f32[1, "
       "2, 7, 8]."},
      // The joined extent has to be a constant, so neither of its parts may be a symbol.
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, T, 8]; f32[1, 2, T, 4]; _; f32[1, 2, 7, 8]; f32[1, 2, 7, 4]", "",
       "attention.gqa: Port 'k' has type f32[1, 2, T, 8]; cached rows join a constant extent "
       "only."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[1, 2, P, 8]; f32[1, 2, P, 4]", "",
       "attention.gqa: Port 'k_cache' has type f32[1, 2, P, 8]; the extent of axis 2 must be a "
       "constant."},
      {"attention.gqa",
       "f32[1, 6, 2, 8]; f32[1, 2, 3, 8]; f32[1, 2, 3, 4]; _; f32[2, 7, 8]; f32[2, 7, 4]", "",
       "attention.gqa: Port 'k_cache' has type f32[2, 7, 8]; it needs rank 4."},
  });
}

// Widths as products.
// Heads lie side by side in the columns: 24 = 4 heads of 6; two heads of keys have 12. The limit of
// 65,536 keeps products of heads and widths small.
TEST(AttentionRules, HeadsSideBySide) {
  expect_types({
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 12]; f32[S, 12]",
       "{num_heads = 4, head_dim = 6, kv_head_count = 2}", "f32[T, 24]"},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[S, 24]",
       "{num_heads = 4, head_dim = 6}", "f32[T, 24]"},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 12]; f32[S, 12]",
       "{num_heads = 4, head_dim = 6}",
       "attention.multi_head_attention: Port 'k' has type f32[S, 12]; the extent of axis 1 must be "
       "24, heads times head_dim."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 18]; f32[S, 18]",
       "{num_heads = 4, head_dim = 6, kv_head_count = 3}",
       "attention.multi_head_attention: Attributes num_heads = 4, kv_head_count = 3, head_dim = 6 "
       "must be 1 to 65536, and the heads a multiple of the key heads."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[S, 24]",
       "{num_heads = 0, head_dim = 6}",
       "attention.multi_head_attention: Attributes num_heads = 0, kv_head_count = 0, head_dim = 6 "
       "must be 1 to 65536, and the heads a multiple of the key heads."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[S, 24]",
       "{num_heads = 4, head_dim = 65537}",
       "attention.multi_head_attention: Attributes num_heads = 4, kv_head_count = 4, head_dim = "
       "65537 must be 1 to 65536, and the heads a multiple of the key heads."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[S, 24]",
       "{num_heads = 4, head_dim = 6, window_size = -1}",
       "attention.multi_head_attention: Attribute 'window_size' is -1; it is negative."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[R, 24]",
       "{num_heads = 4, head_dim = 6}",
       "attention.multi_head_attention: Port 'v' has type f32[R, 24]; the extent of axis 0 must be "
       "S, that of 'k'."},
      {"attention.multi_head_attention", "f32[1, T, 24]; f32[S, 24]; f32[S, 24]",
       "{num_heads = 4, head_dim = 6}",
       "attention.multi_head_attention: Port 'q' has type f32[1, T, 24]; it needs rank 2."},
      {"attention.multi_head_attention", "f32[T, 24]; f64[S, 24]; f32[S, 24]",
       "{num_heads = 4, head_dim = 6}",
       "attention.multi_head_attention: Port 'k' has type f64[S, 24]; its elements must be f32."},
      {"attention.multi_head_attention", "f32[T, 24]; f32[S, 24]; f32[S, 24]", "{head_dim = 6}",
       "attention.multi_head_attention needs the attribute 'num_heads'."},
  });
}

// Even heads, sane numbers.
// rope takes whole sequences, rope_at a position for each token, rope_pairs ready cosines and
// sines. Rotation needs pairs.
TEST(PositionRules, Rope) {
  expect_types({
      {"positional.rope", "f32[B, H, T, 8]", "", "f32[B, H, T, 8]"},
      {"positional.rope", "f16[B, H, T, 8]",
       R"({head_dim = 8, style = "half", start_position = -5})", "f16[B, H, T, 8]"},
      {"positional.rope", "f32[B, H, T, 7]", "",
       "positional.rope: Port 'x' has type f32[B, H, T, 7]; its last extent must be even."},
      {"positional.rope", "f32[B, H, T, D]", "",
       "positional.rope: Port 'x' has type f32[B, H, T, D]; the extent of axis 3 must be a "
       "constant."},
      {"positional.rope", "f32[H, T, 8]", "",
       "positional.rope: Port 'x' has type f32[H, T, 8]; it needs rank 4."},
      {"positional.rope", "f32[B, H, T, 8]", "{head_dim = 6}",
       "positional.rope: Attribute 'head_dim' is 6; it must be 8, the last extent of 'x'."},
      {"positional.rope", "f32[B, H, T, 8]", "{base = 0}",
       "positional.rope: Attribute 'base' is 0; it must be above 0 and at most 1e300."},
      {"positional.rope", "f32[B, H, T, 8]", "{base = -10000}",
       "positional.rope: Attribute 'base' is -10000; it must be above 0 and at most 1e300."},
      {"positional.rope", "f32[B, H, T, 8]", "{base = inf}",
       "positional.rope: Attribute 'base' is inf; it must be above 0 and at most 1e300."},
      {"positional.rope", "f32[B, H, T, 8]", "{base = nan}",
       "positional.rope: Attribute 'base' is nan; it must be above 0 and at most 1e300."},
      {"positional.rope", "f32[B, H, T, 8]", R"({style = "neox"})",
       "Attribute 'style' of positional.rope is 'neox'; the choices are interleaved, half."},
      // 2^48 is the last position that is taken; this is one more.
      {"positional.rope", "f32[B, H, T, 8]", "{start_position = 281474976710657}",
       "positional.rope: Attribute 'start_position' is 281474976710657; the limit is "
       "281474976710656 either way."},
      {"positional.rope", "i8[B, H, T, 8]", "",
       "positional.rope: Port 'x' has type i8[B, H, T, 8]; it needs floating-point elements."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", "", "f32[T, H, 8]"},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]; f32[4]", "", "f32[T, H, 8]"},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]; f32[2]", "{n_rot = 4}", "f32[T, H, 8]"},
      // An odd head is fine where an even part of it rotates.
      {"positional.rope_at", "f32[T, H, 7]; i32[T]", "{n_rot = 4}", "f32[T, H, 7]"},
      {"positional.rope_at", "f32[T, H, 7]; i32[T]", "",
       "positional.rope_at: Attribute 'n_rot' is 0; it must be even and at most 7, or 0 for an "
       "even head."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", "{n_rot = 3}",
       "positional.rope_at: Attribute 'n_rot' is 3; it must be even and at most 8, or 0 for an "
       "even head."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", "{n_rot = 10}",
       "positional.rope_at: Attribute 'n_rot' is 10; it must be even and at most 8, or 0 for an "
       "even head."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", "{n_rot = -2}",
       "positional.rope_at: Attribute 'n_rot' is -2; it must be even and at most 8, or 0 for an "
       "even head."},
      {"positional.rope_at", "f32[T, H, 8]; i32[S]", "",
       "positional.rope_at: Port 'positions' has type i32[S]; the extent of axis 0 must be T, the "
       "tokens of 'x'."},
      {"positional.rope_at", "f32[T, H, 8]; i64[T]", "",
       "positional.rope_at: Port 'positions' has type i64[T]; its elements must be i32."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T, 1]", "",
       "positional.rope_at: Port 'positions' has type i32[T, 1]; it needs rank 1."},
      // One factor for each pair that rotates.
      {"positional.rope_at", "f32[T, H, 8]; i32[T]; f32[3]", "",
       "positional.rope_at: Port 'factors' has type f32[3]; the extent of axis 0 must be 4, half "
       "of 'n_rot'."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]; f64[4]", "",
       "positional.rope_at: Port 'factors' has type f64[4]; its elements must be f32."},
      // yarn measures rotations over the context of the training and cannot do without it.
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", R"({scaling = "yarn"})",
       "positional.rope_at: Attribute 'original_context' is 0; yarn needs 1 or more."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]",
       R"({scaling = "yarn", original_context = 256, factor = 4})", "f32[T, H, 8]"},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", R"({scaling = "linear", factor = 0})",
       "positional.rope_at: Attribute 'factor' is 0; it must be above 0 and at most 1e300."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", R"({scaling = "ntk"})",
       "Attribute 'scaling' of positional.rope_at is 'ntk'; the choices are none, linear, yarn."},
      {"positional.rope_at", "f32[T, H, 8]; i32[T]", "{beta_fast = -1}",
       "positional.rope_at: Attribute 'beta_fast' is -1; it must be above 0 and at most 1e300."},
      {"positional.rope_at", "f32[H, 8]; i32[T]", "",
       "positional.rope_at: Port 'x' has type f32[H, 8]; it needs rank 3."},
      {"rope.rope_pairs", "f32[T, 10]; f32[T, 5]; f32[T, 5]", "{half_dim = 5}", "f32[T, 10]"},
      {"rope.rope_pairs", "f32[T, 10]; f32[T, 5]; f32[T, 5]", "{half_dim = 4}",
       "rope.rope_pairs: Port 'x' has type f32[T, 10]; its last extent must be twice half_dim, 4."},
      {"rope.rope_pairs", "f32[T, 10]; f32[T, 4]; f32[T, 5]", "{half_dim = 5}",
       "rope.rope_pairs: Port 'cos' has type f32[T, 4]; it must be f32[T, 5], one for each pair of "
       "'x'."},
      {"rope.rope_pairs", "f32[T, 10]; f32[T, 5]; f64[T, 5]", "{half_dim = 5}",
       "rope.rope_pairs: Port 'sin' has type f64[T, 5]; it must be f32[T, 5], one for each pair of "
       "'x'."},
      {"rope.rope_pairs", "f32[10]; f32[5]; f32[5]", "{half_dim = 5}",
       "rope.rope_pairs: Port 'x' has type f32[10]; it needs rank 2."},
      {"rope.rope_pairs", "f32[T, 10]; f32[T, 5]; f32[T, 5]", "",
       "rope.rope_pairs needs the attribute 'half_dim'."},
  });
}

// Head counts that agree.
// alibi takes the heads as an attribute that must agree; a mask has the last extents of the logits;
// the causal mask is f64 unless told otherwise.
TEST(PositionRules, AlibiAndMasks) {
  expect_types({
      {"positional.alibi", "f32[B, 4, T, S]", "{num_heads = 4}", "f32[B, 4, T, S]"},
      {"positional.alibi", "f32[B, 4, T, S]", "{num_heads = 3}",
       "positional.alibi: Port 'scores' has type f32[B, 4, T, S]; the extent of axis 1 must be 3, "
       "num_heads."},
      {"positional.alibi", "f32[B, H, T, S]", "{num_heads = 4}",
       "positional.alibi: Port 'scores' has type f32[B, H, T, S]; the extent of axis 1 must be 4, "
       "num_heads."},
      {"positional.alibi", "f32[4, T, S]", "{num_heads = 4}",
       "positional.alibi: Port 'scores' has type f32[4, T, S]; it needs rank 4."},
      {"positional.alibi", "i32[1, 4, 2, 2]", "{num_heads = 4}",
       "positional.alibi: Port 'scores' has type i32[1, 4, 2, 2]; it needs floating-point "
       "elements."},
      {"positional.alibi", "f32[B, 4, T, S]", "",
       "positional.alibi needs the attribute 'num_heads'."},
      {"masking.apply", "f32[B, T, S]; f32[T, S]", "", "f32[B, T, S]"},
      {"masking.apply", "f32[T, S]; f32[T, S]", "", "f32[T, S]"},
      {"masking.apply", "f32[T, S]; f32[S]", "", "f32[T, S]"},
      {"masking.apply", "f32[T, S]; f32[]", "", "f32[T, S]"},
      {"masking.apply", "f32[T, S]; f32[T]", "",
       "masking.apply: Port 'mask' has type f32[T]; its extents must be the last ones of 'logits', "
       "f32[T, S]."},
      {"masking.apply", "f32[S]; f32[T, S]", "",
       "masking.apply: Port 'mask' has type f32[T, S]; its extents must be the last ones of "
       "'logits', f32[S]."},
      {"masking.apply", "f32[T, S]; f64[T, S]", "",
       "masking.apply: Port 'mask' has type f64[T, S]; its elements must be f32."},
      {"masking.apply", "u8[2]; u8[2]", "",
       "masking.apply: Port 'logits' has type u8[2]; it needs floating-point elements."},
      {"masking.causal", "", "{seq_len = 4}", "f64[4, 4]"},
      {"masking.causal", "i32[1]", R"({seq_len = 4, dtype = "f16"})", "f16[4, 4]"},
      {"masking.causal", "", "{seq_len = 0}", "f64[0, 0]"},
      {"masking.causal", "", "{seq_len = -1}",
       "masking.causal: The extent -1 of a shape is negative."},
      // Its square, 9223372037000250000, is just above 2^63: the product must be checked, not
      // wrapped.
      {"masking.causal", "", "{seq_len = 3037000500}",
       "masking.causal: A shape with the extent 3037000500 has 2^62 elements or more."},
      {"masking.causal", "", R"({seq_len = 4, dtype = "u8"})",
       "masking.causal: Attribute 'dtype' is 'u8'; it must name a float dtype."},
      {"masking.causal", "f32[1]", "{seq_len = 4}",
       "masking.causal: Port 'seq' has type f32[1]; its elements must be i64 or i32."},
      {"masking.causal", "i32[2]", "{seq_len = 4}",
       "masking.causal: Port 'seq' has type i32[2]; the extent of axis 0 must be 1, one length."},
      {"masking.causal", "", "", "masking.causal needs the attribute 'seq_len'."},
  });
}

// Each attribute at its limits.
// L' = (L + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down: 10 elements and 4
// taps make 7; with stride 2, padding 1, dilation 2 and 3 taps (10 + 2 - 5) / 2 + 1 = 4.
TEST(ConvolutionRules, OneAxis) {
  expect_types({
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]; f32[5]", "{kernel_size = 4}",
       "f32[N, 5, 7]"},
      {"convolution.conv1d", "f32[N, 4, 10]; f32[6, 2, 3]",
       "{kernel_size = 3, stride = 2, padding = 1, dilation = 2, groups = 2}", "f32[N, 6, 4]"},
      {"convolution.conv1d", "f32[N, 3, 4]; f32[5, 3, 4]", "{kernel_size = 4}", "f32[N, 5, 1]"},
      {"convolution.conv1d", "f32[N, 3, 3]; f32[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'x' has type f32[N, 3, 3]; a window of 4 does not fit in axis 2."},
      {"convolution.conv1d", "f32[N, 3, 3]; f32[5, 3, 4]", "{kernel_size = 4, padding = 1}",
       "f32[N, 5, 2]"},
      {"convolution.conv1d", "f32[N, 3, L]; f32[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'x' has type f32[N, 3, L]; the extent of axis 2 must be a "
       "constant."},
      // weight is [out, in / groups, kernel]; each way that it can fail to fit follows.
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 3}",
       "convolution.conv1d: Port 'weight' has type f32[5, 3, 4]; the extent of axis 2 must be 3, "
       "the kernel's extent."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 2, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Ports 'x' f32[N, 3, 10] and 'weight' f32[5, 2, 4] do not fit in 1 "
       "groups."},
      {"convolution.conv1d", "f32[N, 4, 10]; f32[5, 2, 4]", "{kernel_size = 4, groups = 2}",
       "convolution.conv1d: Ports 'x' f32[N, 4, 10] and 'weight' f32[5, 2, 4] do not fit in 2 "
       "groups."},
      {"convolution.conv1d", "f32[N, 4, 10]; f32[6, 2, 4]", "{kernel_size = 4, groups = 0}",
       "convolution.conv1d: Ports 'x' f32[N, 4, 10] and 'weight' f32[6, 2, 4] do not fit in 0 "
       "groups."},
      {"convolution.conv1d", "f32[N, 4, 10]; f32[6, 4, 4]", "{kernel_size = 4, groups = -1}",
       "convolution.conv1d: Ports 'x' f32[N, 4, 10] and 'weight' f32[6, 4, 4] do not fit in -1 "
       "groups."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]; f32[3]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'bias' has type f32[3]; the extent of axis 0 must be 5, the "
       "output channels."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, in = 3, out = 5}",
       "f32[N, 5, 7]"},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, in = 4}",
       "convolution.conv1d: Attribute 'in' is 4; the tensors have 3 channels."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, out = 4}",
       "convolution.conv1d: Attribute 'out' is 4; the tensors have 5 channels."},
      // Every number of a window has a range; below 2^31 products of two cannot overflow.
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 0]", "{kernel_size = 0}",
       "convolution.conv1d: The kernel of axis 'w' is 0; it must be from 1 to 2^31 - 1."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, stride = 0}",
       "convolution.conv1d: The stride of axis 'w' is 0; it must be from 1 to 2^31 - 1."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, padding = -1}",
       "convolution.conv1d: The padding of axis 'w' is -1; it must be from 0 to 2^31 - 1."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4, dilation = 0}",
       "convolution.conv1d: The dilation of axis 'w' is 0; it must be from 1 to 2^31 - 1."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]",
       "{kernel_size = 4, dilation = 2147483648}",
       "convolution.conv1d: The dilation of axis 'w' is 2147483648; it must be from 1 to 2^31 - "
       "1."},
      {"convolution.conv1d", "f32[N, 3, 10]; f64[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'weight' has type f64[5, 3, 4], which is wider than the f32[N, 3, "
       "10] it works on."},
      {"convolution.conv1d", "f16[N, 3, 10]; f32[5, 3, 4]", "{kernel_size = 4}", "f16[N, 5, 7]"},
      {"convolution.conv1d", "f32[3, 10]; f32[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'x' has type f32[3, 10]; it needs rank 3."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 12]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'weight' has type f32[5, 12]; it needs rank 3."},
      {"convolution.conv1d", "f32[N, 3, 10]; i8[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'weight' has type i8[5, 3, 4]; it needs floating-point elements."},
      {"convolution.conv1d", "f32[N, C, 10]; f32[5, 3, 4]", "{kernel_size = 4}",
       "convolution.conv1d: Port 'x' has type f32[N, C, 10]; the extent of axis 1 must be a "
       "constant."},
      {"convolution.conv1d", "f32[N, 3, 10]; f32[5, 3, 4]", "",
       "convolution.conv1d needs the attribute 'kernel_size'."},
  });
}

// Letters of the axes in the errors.
// Errors count the axes of the tensor (axis 2 is height) or name the letter of the attribute.
TEST(ConvolutionRules, TwoAndThreeAxes) {
  expect_types({
      {"convolution.conv2d", "f32[N, 3, 9, 8]; f32[5, 3, 3, 2]",
       "{kernel_h = 3, kernel_w = 2, stride_h = 2, pad_w = 1}", "f32[N, 5, 4, 9]"},
      {"convolution.conv2d", "f32[N, 3, 9, 8]; f32[5, 3, 2, 3]", "{kernel_h = 3, kernel_w = 2}",
       "convolution.conv2d: Port 'weight' has type f32[5, 3, 2, 3]; the extent of axis 2 must be "
       "3, the kernel's extent."},
      {"convolution.conv2d", "f32[N, 3, 2, 8]; f32[5, 3, 3, 2]", "{kernel_h = 3, kernel_w = 2}",
       "convolution.conv2d: Port 'x' has type f32[N, 3, 2, 8]; a window of 3 does not fit in axis "
       "2."},
      {"convolution.conv2d", "f32[N, 3, 9, 8]; f32[5, 3, 3, 2]", "{kernel_h = 3}",
       "convolution.conv2d needs the attribute 'kernel_w'."},
      {"convolution.conv2d", "f32[N, 3, 9, 8]; f32[5, 3, 3, 2]",
       "{kernel_h = 3, kernel_w = 2, dil_w = -1}",
       "convolution.conv2d: The dilation of axis 'w' is -1; it must be from 1 to 2^31 - 1."},
      {"convolution.conv2d", "f32[N, 3, 9]; f32[5, 3, 3, 2]", "{kernel_h = 3, kernel_w = 2}",
       "convolution.conv2d: Port 'x' has type f32[N, 3, 9]; it needs rank 4."},
      {"convolution.conv3d", "f32[N, 2, 4, 5, 6]; f32[3, 2, 2, 2, 2]",
       "{kernel_d = 2, kernel_h = 2, kernel_w = 2}", "f32[N, 3, 3, 4, 5]"},
      {"convolution.conv3d", "f32[N, 2, 4, 5, 6]; f32[4, 1, 3, 1, 2]",
       "{kernel_d = 3, kernel_h = 1, kernel_w = 2, pad_d = 1, stride_w = 3, groups = 2}",
       "f32[N, 4, 4, 5, 2]"},
      {"convolution.conv3d", "f32[N, 2, 1, 5, 6]; f32[3, 2, 2, 2, 2]",
       "{kernel_d = 2, kernel_h = 2, kernel_w = 2}",
       "convolution.conv3d: Port 'x' has type f32[N, 2, 1, 5, 6]; a window of 2 does not fit in "
       "axis 2."},
      // H' = (H - 1) stride - 2 padding + dilation (kernel - 1) + out_pad + 1: 3 rows with stride 2
      // and one extra row make 8, and 1 row with padding 1 under one tap would make -1.
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3}", "f32[N, 2, 5, 7]"},
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[4, 2, 3, 3]; f32[4]",
       "{kernel_h = 3, kernel_w = 3, groups = 2, stride_h = 2, out_pad_h = 1, pad_w = 1}",
       "f32[N, 4, 8, 5]"},
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[3, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3}",
       "convolution.conv_transpose2d: Ports 'x' f32[N, 4, 3, 5] and 'weight' f32[3, 2, 3, 3] do "
       "not fit in 1 groups."},
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3, out_pad_h = 1}",
       "convolution.conv_transpose2d: Attribute 'out_pad_h' is 1; it must be from 0 to below the "
       "stride 1 or the dilation 1, whichever is larger."},
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3, out_pad_w = -1}",
       "convolution.conv_transpose2d: Attribute 'out_pad_w' is -1; it must be from 0 to below the "
       "stride 1 or the dilation 1, whichever is larger."},
      {"convolution.conv_transpose2d", "f32[N, 4, 1, 5]; f32[4, 2, 1, 3]",
       "{kernel_h = 1, kernel_w = 3, pad_h = 1}",
       "convolution.conv_transpose2d: Port 'x' has type f32[N, 4, 1, 5]; with the stride 1, the "
       "padding 1 and a window of 1, axis 2 of the result would have the extent -1; it needs 1 or "
       "more."},
      // Past 64 bits there is no extent to name.
      {"convolution.conv_transpose2d", "f32[1, 4, 4611686018427387903, 5]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3, stride_h = 2}",
       "convolution.conv_transpose2d: Port 'x' has type f32[1, 4, 4611686018427387903, 5]; with "
       "the stride 2 axis 2 of the result would have more than 2^61 elements."},
      {"convolution.conv_transpose2d", "f32[1, 4, 3, 4611686018427387903]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3, stride_w = 2147483647}",
       "convolution.conv_transpose2d: Port 'x' has type f32[1, 4, 3, 4611686018427387903]; with "
       "the stride 2147483647 axis 3 of the result would have more than 2^61 elements."},
      {"convolution.conv_transpose2d", "f32[N, 4, 3, 5]; f32[4, 2, 3, 3]",
       "{kernel_h = 3, kernel_w = 3, groups = 3}",
       "convolution.conv_transpose2d: Ports 'x' f32[N, 4, 3, 5] and 'weight' f32[4, 2, 3, 3] do "
       "not fit in 3 groups."},
  });
}

// Padding, dilation and ceil.
// 7 rows in windows of 2 at stride 2 make 3, or 4 where ceil keeps the short last one. Padding is
// at most half the kernel, or a window could lie in it whole.
TEST(PoolingRules, WindowsFit) {
  expect_types({
      {"pooling.max_pool2d", "f32[N, C, 7, 5]", "{kernel_h = 3, kernel_w = 2, stride_h = 2}",
       "f32[N, C, 3, 4]"},
      {"pooling.max_pool2d", "f32[N, C, 7, 5]",
       "{kernel_h = 2, kernel_w = 2, stride_h = 2, stride_w = 2}", "f32[N, C, 3, 2]"},
      {"pooling.max_pool2d", "f32[N, C, 7, 5]",
       "{kernel_h = 2, kernel_w = 2, stride_h = 2, stride_w = 2, ceil = true}", "f32[N, C, 4, 3]"},
      {"pooling.avg_pool2d", "f32[N, C, 7, 5]",
       "{kernel_h = 3, kernel_w = 3, pad_h = 1, pad_w = 1}", "f32[N, C, 7, 5]"},
      {"pooling.avg_pool2d", "f32[N, C, 7, 5]", "{kernel_h = 3, kernel_w = 3, pad_h = 2}",
       "pooling.avg_pool2d: The padding 2 of axis 2 is above half the kernel, 3."},
      {"pooling.avg_pool2d", "f32[N, C, 2, 5]", "{kernel_h = 3, kernel_w = 3}",
       "pooling.avg_pool2d: Port 'x' has type f32[N, C, 2, 5]; a window of 3 does not fit in axis "
       "2."},
      {"pooling.avg_pool2d", "f32[N, C, 7, 5]", "{kernel_h = 3, kernel_w = 3, dil_w = 3}",
       "pooling.avg_pool2d: Port 'x' has type f32[N, C, 7, 5]; a window of 7 does not fit in axis "
       "3."},
      {"pooling.max_pool2d", "f32[N, C, H, 5]", "{kernel_h = 3, kernel_w = 3}",
       "pooling.max_pool2d: Port 'x' has type f32[N, C, H, 5]; the extent of axis 2 must be a "
       "constant."},
      {"pooling.max_pool2d", "f32[C, 7, 5]", "{kernel_h = 3, kernel_w = 3}",
       "pooling.max_pool2d: Port 'x' has type f32[C, 7, 5]; it needs rank 4."},
      {"pooling.max_pool2d", "i8[N, C, 7, 5]", "{kernel_h = 3, kernel_w = 3}",
       "pooling.max_pool2d: Port 'x' has type i8[N, C, 7, 5]; it needs floating-point elements."},
      {"pooling.max_pool2d", "f32[N, C, 7, 5]", "{kernel_h = 3}",
       "pooling.max_pool2d needs the attribute 'kernel_w'."},
      {"pooling.max_pool2d", "f32[N, C, 7, 5]", "{kernel_h = 0, kernel_w = 1}",
       "pooling.max_pool2d: The kernel of axis 'h' is 0; it must be from 1 to 2^31 - 1."},
      // Adaptive windows may overlap or repeat (9 outputs of 5 columns), but there must be an input
      // and an output.
      {"pooling.adaptive_avg_pool2d", "f32[N, C, 7, 5]", "{out_h = 3, out_w = 9}",
       "f32[N, C, 3, 9]"},
      {"pooling.adaptive_max_pool2d", "f32[N, C, 7, 5]", "{out_h = 0, out_w = 2}",
       "pooling.adaptive_max_pool2d: Axis 2 of f32[N, C, 7, 5] cannot be pooled to an extent of "
       "0."},
      {"pooling.adaptive_max_pool2d", "f32[N, C, 0, 5]", "{out_h = 1, out_w = 2}",
       "pooling.adaptive_max_pool2d: Axis 2 of f32[N, C, 0, 5] cannot be pooled to an extent of "
       "1."},
      {"pooling.adaptive_max_pool2d", "f32[N, C, 7, 5]", "{out_h = 1, out_w = 2147483648}",
       "pooling.adaptive_max_pool2d: Axis 3 of f32[N, C, 7, 5] cannot be pooled to an extent of "
       "2147483648."},
      {"pooling.adaptive_max_pool2d", "f32[N, C, H, 5]", "{out_h = 1, out_w = 2}",
       "pooling.adaptive_max_pool2d: Port 'x' has type f32[N, C, H, 5]; the extent of axis 2 must "
       "be a constant."},
      {"pooling.adaptive_avg_pool2d", "f32[7, 5]", "{out_h = 1, out_w = 1}",
       "pooling.adaptive_avg_pool2d: Port 'x' has type f32[7, 5]; it needs rank 4."},
  });
}

}  // namespace
}  // namespace quern::test
