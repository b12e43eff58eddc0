// Type rules of the operations that move elements: what they infer, with symbols, and each refusal.
#include <gtest/gtest.h>

#include "support/op_typing.h"

namespace quern::test {
namespace {

// One extent may be left to infer.
// [] has one element, as [1, 1] has. Any dtype of whole bytes passes, complex numbers too.
TEST(ReshapeRules, ConstantExtents) {
  expect_types({
      {"shape.reshape", "f32[2, 6]", "{shape = [3, 4]}", "f32[3, 4]"},
      {"shape.reshape", "f32[2, 6]", "{shape = [12]}", "f32[12]"},
      {"shape.reshape", "f32[2, 6]", "{shape = [1, 12, 1]}", "f32[1, 12, 1]"},
      {"shape.reshape", "f32[]", "{shape = []}", "f32[]"},
      {"shape.reshape", "f32[]", "{shape = [1, 1]}", "f32[1, 1]"},
      {"shape.reshape", "f32[1]", "{shape = []}", "f32[]"},
      {"shape.reshape", "f32[0, 4]", "{shape = [2, 0]}", "f32[2, 0]"},
      {"shape.reshape", "complex64[4]", "{shape = [2, 2]}", "complex64[2, 2]"},
      {"shape.reshape", "u8[4]", "{shape = [-1, 2]}", "u8[2, 2]"},
      {"shape.reshape", "u8[0, 3]", "{shape = [-1, 3]}", "u8[0, 3]"},
  });
}

// Multiples of a symbol stay what they are.
// The count is a factor times one symbol; it divides if the known extents divide the factor.
TEST(ReshapeRules, SymbolicExtents) {
  expect_types({
      {"shape.reshape", "f32[T, 6]", "{shape = [-1, 2, 3]}", "f32[T, 2, 3]"},
      {"shape.reshape", "f32[T, 6]", "{shape = [3, -1]}", "f32[3, 2*T]"},
      {"shape.reshape", "f32[2*T, 6]", "{shape = [4, -1]}", "f32[4, 3*T]"},
      // 6 T by 4 leaves a rest for odd T, so it is refused for all T.
      {"shape.reshape", "f32[2*T, 3]", "{shape = [-1, 4]}",
       "shape.reshape: Port 'x' has type f32[2*T, 3] with 6*T elements; it cannot take the shape "
       "[-1, 4]."},
      {"shape.reshape", "f32[T, 6]", "{shape = [-1, 4]}",
       "shape.reshape: Port 'x' has type f32[T, 6] with 6*T elements; it cannot take the shape "
       "[-1, 4]."},
      // 6 T is 12 for a single T only.
      {"shape.reshape", "f32[T, 6]", "{shape = [12]}",
       "shape.reshape: Port 'x' has type f32[T, 6] with 6*T elements; it cannot take the shape "
       "[12]."},
      // T times S is no extent that can be written.
      {"shape.reshape", "f32[T, S]", "{shape = [-1]}",
       "shape.reshape: Port 'x' has type f32[T, S]; reshape needs at most one symbolic extent."},
      {"shape.reshape", "f32[T, 0]", "{shape = [0, -1]}",
       "shape.reshape: Port 'x' has type f32[T, 0] with 0*T elements; it cannot take the shape [0, "
       "-1]."},
  });
}

// Counts that do not fit, or cannot be known.
// Each row has one fault; the message repeats type, count and wanted shape.
TEST(ReshapeRules, Refusals) {
  expect_types({
      {"shape.reshape", "f32[2, 6]", "{shape = [5, 2]}",
       "shape.reshape: Port 'x' has type f32[2, 6] with 12 elements; it cannot take the shape [5, "
       "2]."},
      {"shape.reshape", "f32[2, 6]", "{shape = [-1, 5]}",
       "shape.reshape: Port 'x' has type f32[2, 6] with 12 elements; it cannot take the shape [-1, "
       "5]."},
      // Two extents to infer have no single answer.
      {"shape.reshape", "f32[2, 6]", "{shape = [-1, -1]}",
       "shape.reshape: Port 'x' has type f32[2, 6] with 12 elements; it cannot take the shape [-1, "
       "-1]."},
      {"shape.reshape", "f32[2, 6]", "{shape = [-2, 6]}",
       "shape.reshape: Attribute 'shape' has the extent -2."},
      // With no elements any number would fit the -1.
      {"shape.reshape", "f32[0]", "{shape = [0, -1]}",
       "shape.reshape: Port 'x' has type f32[0] with 0 elements; it cannot take the shape [0, "
       "-1]."},
      {"shape.reshape", "f32[2, 6]", "{shape = []}",
       "shape.reshape: Port 'x' has type f32[2, 6] with 12 elements; it cannot take the shape []."},
      // 2^62 * 4 overflows 64 bits and must not wrap around to a count that fits.
      {"shape.reshape", "f32[2]", "{shape = [4611686018427387904, 4]}",
       "shape.reshape: Attribute 'shape' [4611686018427387904, 4] is too large."},
      {"shape.reshape", "f32[1]", "{shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]}",
       "shape.reshape: 'shape' asks for rank 9; the limit is 8."},
      // Elements of 4 bits, or of blocks, have no bytes of their own.
      {"shape.reshape", "i4[8]", "{shape = [2, 4]}",
       "shape.reshape: Port 'x' has type i4[8]; it needs elements of whole bytes."},
      {"shape.reshape", "q4_0[2, 32]", "{shape = [64]}",
       "shape.reshape: Port 'x' has type q4_0[2, 32]; it needs elements of whole bytes."},
      // No attribute, an attribute of another kind, a list of another kind.
      {"shape.reshape", "f32[2, 6]", "", "shape.reshape needs the attribute 'shape'."},
      {"shape.reshape", "f32[2, 6]", "{shape = 12}",
       "Attribute 'shape' of shape.reshape is 12; it must be a list of integers."},
      {"shape.reshape", "f32[2, 6]", "{shape = f[12.0]}",
       "Attribute 'shape' of shape.reshape is f[12.0]; it must be a list of integers."},
  });
}

// And stop at both.
// -1 is the last axis; naming one axis twice changes nothing.
TEST(TransposeRules, AxesCountFromBothEnds) {
  expect_types({
      {"shape.transpose", "f32[2, 3]", "{dim0 = 0, dim1 = 1}", "f32[3, 2]"},
      {"shape.transpose", "f32[2, 3, T]", "{dim0 = -1, dim1 = 0}", "f32[T, 3, 2]"},
      {"shape.transpose", "f32[2, 3, 4, 5]", "{dim0 = 1, dim1 = -2}", "f32[2, 4, 3, 5]"},
      {"shape.transpose", "f32[2, 3]", "{dim0 = 1, dim1 = 1}", "f32[2, 3]"},
      {"shape.transpose", "i8[7]", "{dim0 = 0, dim1 = -1}", "i8[7]"},
      {"shape.transpose", "f32[2, 3]", "{dim0 = 0, dim1 = 2}",
       "shape.transpose: Attribute 'dim1' names axis 2; a tensor of rank 2 has axes -2 to 1."},
      {"shape.transpose", "f32[2, 3]", "{dim0 = -3, dim1 = 1}",
       "shape.transpose: Attribute 'dim0' names axis -3; a tensor of rank 2 has axes -2 to 1."},
      {"shape.transpose", "f32[]", "{dim0 = 0, dim1 = 0}",
       "shape.transpose: Attribute 'dim0' names axis 0; a tensor of rank 0 has no axes."},
      {"shape.transpose", "b1[8, 8]", "{dim0 = 0, dim1 = 1}",
       "shape.transpose: Port 'x' has type b1[8, 8]; it needs elements of whole bytes."},
      {"shape.transpose", "f32[2, 3]", "{dim0 = 0}", "shape.transpose needs the attribute 'dim1'."},
      {"shape.transpose", "f32[2, 3]", "{dim0 = 0.5, dim1 = 1}",
       "Attribute 'dim0' of shape.transpose is 0.5; it must be an integer."},
  });
}

// Each axis once.
// One axis under two names counts as twice.
TEST(PermuteRules, NeedAPermutation) {
  expect_types({
      {"shape.permute", "f32[2, 3, T]", "{order = [2, 0, 1]}", "f32[T, 2, 3]"},
      {"shape.permute", "f32[2, 3, T]", "{order = [-1, -2, -3]}", "f32[T, 3, 2]"},
      {"shape.permute", "f32[]", "{order = []}", "f32[]"},
      {"shape.permute", "u64[5]", "{order = [0]}", "u64[5]"},
      {"shape.permute", "f32[2, 3]", "{order = [0, 0]}",
       "shape.permute: Attribute 'order' [0, 0] names axis 0 twice."},
      {"shape.permute", "f32[2, 3]", "{order = [1, -1]}",
       "shape.permute: Attribute 'order' [1, -1] names axis 1 twice."},
      // Too few axes, one that is not there, none.
      {"shape.permute", "f32[2, 3]", "{order = [0]}",
       "shape.permute: Attribute 'order' [0] has 1 axes; the tensor has rank 2."},
      {"shape.permute", "f32[2, 3]", "{order = [0, 1, 2]}",
       "shape.permute: Attribute 'order' names axis 2; a tensor of rank 2 has axes -2 to 1."},
      {"shape.permute", "f32[2, 3]", "{order = []}",
       "shape.permute: Attribute 'order' [] has 0 axes; the tensor has rank 2."},
      {"shape.permute", "q8_0[2, 32]", "{order = [0, 1]}",
       "shape.permute: Port 'x' has type q8_0[2, 32]; it needs elements of whole bytes."},
  });
}

// Inverse rules, with symbols.
// [B, T, H d] to [B, H, T, d] and back. The width, or the number of heads, may be a multiple of a
// symbol.
TEST(HeadRules, SplitAndMergeTheLastAxis) {
  expect_types({
      {"shape.view_as_heads", "f32[B, T, 12]", "{num_heads = 4}", "f32[B, 4, T, 3]"},
      {"shape.view_as_heads", "f32[2, T, 12]", "{num_heads = 1}", "f32[2, 1, T, 12]"},
      {"shape.view_as_heads", "f16[2, 3, 12]", "{num_heads = 12}", "f16[2, 12, 3, 1]"},
      {"shape.view_as_heads", "f32[2, 3, 8*D]", "{num_heads = 4}", "f32[2, 4, 3, 2*D]"},
      {"shape.view_as_heads", "f32[2, 3, 0]", "{num_heads = 4}", "f32[2, 4, 3, 0]"},
      // 5 does not divide 12; 0 and negative numbers divide nothing.
      {"shape.view_as_heads", "f32[2, 3, 12]", "{num_heads = 5}",
       "shape.view_as_heads: Port 'x' has type f32[2, 3, 12]; its last extent must be a multiple "
       "of num_heads 5."},
      {"shape.view_as_heads", "f32[2, 3, 12]", "{num_heads = 0}",
       "shape.view_as_heads: Port 'x' has type f32[2, 3, 12]; its last extent must be a multiple "
       "of num_heads 0."},
      {"shape.view_as_heads", "f32[2, 3, 12]", "{num_heads = -4}",
       "shape.view_as_heads: Port 'x' has type f32[2, 3, 12]; its last extent must be a multiple "
       "of num_heads -4."},
      {"shape.view_as_heads", "f32[3, 12]", "{num_heads = 4}",
       "shape.view_as_heads: Port 'x' has type f32[3, 12]; it needs rank 3."},
      {"shape.view_as_heads", "f32[2, 3, D]", "{num_heads = 4}",
       "shape.view_as_heads: Port 'x' has type f32[2, 3, D]; its last extent must be a multiple of "
       "num_heads 4."},
      {"shape.view_as_heads", "f32[2, 3, 12]", "",
       "shape.view_as_heads needs the attribute 'num_heads'."},
      {"shape.merge_heads", "f32[B, 4, T, 3]", "", "f32[B, T, 12]"},
      {"shape.merge_heads", "f32[B, H, T, 3]", "", "f32[B, T, 3*H]"},
      {"shape.merge_heads", "f32[B, 4, T, 2*D]", "", "f32[B, T, 8*D]"},
      {"shape.merge_heads", "f32[2, 0, 3, 5]", "", "f32[2, 3, 0]"},
      // H D has two symbols; at the end 2^62 * 2^62 overflows.
      {"shape.merge_heads", "f32[B, H, T, D]", "",
       "shape.merge_heads: Port 'x' has type f32[B, H, T, D]; heads times head width has two "
       "symbols or is too large."},
      {"shape.merge_heads", "f32[2, 3, 4]", "",
       "shape.merge_heads: Port 'x' has type f32[2, 3, 4]; it needs rank 4."},
      {"shape.merge_heads", "u4[2, 2, 2, 2]", "",
       "shape.merge_heads: Port 'x' has type u4[2, 2, 2, 2]; it needs elements of whole bytes."},
      {"shape.merge_heads", "f32[1, 4611686018427387904, 1, 4611686018427387904]", "",
       "shape.merge_heads: Port 'x' has type f32[1, 4611686018427387904, 1, 4611686018427387904]; "
       "heads times head width has two symbols or is too large."},
  });
}

// NumPy's rule from the last axis.
// The attribute or the port `like`, not both. -1 keeps the extent of x at its place from the end.
TEST(BroadcastRules, AttributeOrPort) {
  expect_types({
      {"shape.broadcast", "f32[3, 1]", "{shape = [2, 3, 4]}", "f32[2, 3, 4]"},
      {"shape.broadcast", "f32[3, 1]", "{shape = [-1, 5]}", "f32[3, 5]"},
      {"shape.broadcast", "f32[T, 1]", "{shape = [2, -1, 5]}", "f32[2, T, 5]"},
      {"shape.broadcast", "f32[]", "{shape = [2, 2]}", "f32[2, 2]"},
      {"shape.broadcast", "f32[1]", "{shape = [0]}", "f32[0]"},
      // Of `like` the extents count, not the dtype.
      {"shape.broadcast", "f32[3, 1]; i32[3, 7]", "", "f32[3, 7]"},
      {"shape.broadcast", "f32[T]; f32[S, T]", "", "f32[S, T]"},
      {"shape.broadcast", "f32[3]; f32[3]", "", "f32[3]"},
      {"shape.broadcast", "f32[]", "", "f32[]"},
      // Only an extent of 1 repeats, and axes are added in front only.
      {"shape.broadcast", "f32[3]", "{shape = [4]}",
       "shape.broadcast: Port 'x' has type f32[3]; it does not broadcast to f32[4]."},
      {"shape.broadcast", "f32[2, 3]", "{shape = [3]}",
       "shape.broadcast: Port 'x' has type f32[2, 3]; it does not broadcast to f32[3]."},
      // In front of the axes of x there is nothing that -1 could keep.
      {"shape.broadcast", "f32[3]", "{shape = [-1, 3]}",
       "shape.broadcast: Attribute 'shape' has the extent -1 at axis 0."},
      {"shape.broadcast", "f32[3]", "{shape = [-2]}",
       "shape.broadcast: Attribute 'shape' has the extent -2 at axis 0."},
      // T might be 5, but nothing says so.
      {"shape.broadcast", "f32[T]", "{shape = [5]}",
       "shape.broadcast: Port 'x' has type f32[T]; it does not broadcast to f32[5]."},
      {"shape.broadcast", "f32[3]; f32[3]", "{shape = [3]}",
       "shape.broadcast: Attribute 'shape' is [3] and port 'like' has type f32[3]; only one of "
       "them may be given."},
      {"shape.broadcast", "f32[2, 1]; f32[1, 2]", "",
       "shape.broadcast: Port 'x' has type f32[2, 1]; it does not broadcast to f32[1, 2]."},
      {"shape.broadcast", "f32[1]", "{shape = [1, 1, 1, 1, 1, 1, 1, 1, 1]}",
       "shape.broadcast: 'shape' asks for rank 9; the limit is 8."},
      {"shape.broadcast", "i4[2]; i4[2]", "",
       "shape.broadcast: Port 'x' has type i4[2]; it needs elements of whole bytes."},
  });
}

// Rank 3 only.
// No tokens pass the rule even as a constant: the kernel refuses them.
TEST(LastTokenRules, DropTheMiddleAxis) {
  expect_types({
      {"shape.last_token", "f32[B, T, 5]", "", "f32[B, 5]"},
      {"shape.last_token", "i8[2, 0, 5]", "", "i8[2, 5]"},
      {"shape.last_token", "f32[2, 5]", "",
       "shape.last_token: Port 'x' has type f32[2, 5]; it needs rank 3."},
      {"shape.last_token", "f32[1, 2, 3, 4]", "",
       "shape.last_token: Port 'x' has type f32[1, 2, 3, 4]; it needs rank 3."},
      {"shape.last_token", "b1[1, 2, 8]", "",
       "shape.last_token: Port 'x' has type b1[1, 2, 8]; it needs elements of whole bytes."},
  });
}

// Every element is repeated equally often.
// Batch and channels may be symbols; rows and columns are constants that divide what is asked.
TEST(UpsampleRules, WholeMultiples) {
  expect_types({
      {"shape.upsample_nearest2d", "f32[N, C, 2, 3]", "{out_h = 4, out_w = 9}", "f32[N, C, 4, 9]"},
      {"shape.upsample_nearest2d", "u8[1, 1, 2, 3]", "{out_h = 2, out_w = 3}", "u8[1, 1, 2, 3]"},
      {"shape.upsample_nearest2d", "f32[1, 1, 2, 3]", "{out_h = 5, out_w = 9}",
       "shape.upsample_nearest2d: Attribute 'out_h' is 5; it must be a multiple of the extent 2 of "
       "'x'."},
      {"shape.upsample_nearest2d", "f32[1, 1, 2, 3]", "{out_h = 4, out_w = 10}",
       "shape.upsample_nearest2d: Attribute 'out_w' is 10; it must be a multiple of the extent 3 "
       "of 'x'."},
      {"shape.upsample_nearest2d", "f32[1, 1, 2, 3]", "{out_h = 0, out_w = 3}",
       "shape.upsample_nearest2d: Attribute 'out_h' is 0; it must be a multiple of the extent 2 of "
       "'x'."},
      {"shape.upsample_nearest2d", "f32[1, 1, 2, 3]", "{out_h = -2, out_w = 3}",
       "shape.upsample_nearest2d: Attribute 'out_h' is -2; it must be a multiple of the extent 2 "
       "of 'x'."},
      {"shape.upsample_nearest2d", "f32[1, 1, 0, 3]", "{out_h = 2, out_w = 3}",
       "shape.upsample_nearest2d: Attribute 'out_h' is 2; it must be a multiple of the extent 0 of "
       "'x'."},
      {"shape.upsample_nearest2d", "f32[1, 1, H, 3]", "{out_h = 2, out_w = 3}",
       "shape.upsample_nearest2d: Port 'x' has type f32[1, 1, H, 3]; the extent of axis 2 must be "
       "a constant."},
      {"shape.upsample_nearest2d", "f32[1, 2, 3]", "{out_h = 2, out_w = 3}",
       "shape.upsample_nearest2d: Port 'x' has type f32[1, 2, 3]; it needs rank 4."},
      {"shape.upsample_nearest2d", "f32[1, 1, 2, 3]", "{out_h = 4}",
       "shape.upsample_nearest2d needs the attribute 'out_w'."},
  });
}

// Along the axis alone.
// A single part, a part without elements, and multiples of one symbol.
TEST(ConcatRules, ExtentsAdd) {
  expect_types({
      {"shape.concat", "f32[2, 3]", "", "f32[2, 3]"},
      {"shape.concat", "f32[2, 3]; f32[4, 3]", "", "f32[6, 3]"},
      {"shape.concat", "f32[2, 3]; f32[2, 0]; f32[2, 5]", "{dim = 1}", "f32[2, 8]"},
      {"shape.concat", "f32[2, 3]; f32[2, 5]", "{dim = -1}", "f32[2, 8]"},
      {"shape.concat", "f32[T, 3]; f32[2*T, 3]", "", "f32[3*T, 3]"},
      {"shape.concat", "f32[2, T]; f32[3, T]", "", "f32[5, T]"},
      {"shape.concat", "i64[1]; i64[1]; i64[1]; i64[1]", "", "i64[4]"},
  });
}

// Another dtype, rank or extent.
// The message names the first part and the one that does not join it.
TEST(ConcatRules, Refusals) {
  expect_types({
      {"shape.concat", "f32[2, 3]; f32[2, 4]", "",
       "shape.concat: Port 'b' has type f32[2, 4]; it does not join 'a', f32[2, 3], along axis 0."},
      {"shape.concat", "f32[2, 3]; f16[2, 3]", "",
       "shape.concat: Port 'b' has type f16[2, 3]; it does not join 'a', f32[2, 3], along axis 0."},
      {"shape.concat", "f32[2, 3]; f32[3]", "",
       "shape.concat: Port 'b' has type f32[3]; it does not join 'a', f32[2, 3], along axis 0."},
      {"shape.concat", "f32[T, 3]; f32[2, 3]", "",
       "shape.concat: Port 'b' has type f32[2, 3]; it does not join 'a', f32[T, 3], along axis 0."},
      {"shape.concat", "f32[T, 3]; f32[S, 3]", "",
       "shape.concat: Port 'b' has type f32[S, 3]; it does not join 'a', f32[T, 3], along axis 0."},
      {"shape.concat", "f32[2, 3]; f32[2, 3]", "{dim = 2}",
       "shape.concat: Attribute 'dim' names axis 2; a tensor of rank 2 has axes -2 to 1."},
      {"shape.concat", "f32[]", "",
       "shape.concat: Attribute 'dim' names axis 0; a tensor of rank 0 has no axes."},
      // Two extents of 2^62 - 1 fit into 64 bits, the third overflows.
      {"shape.concat",
       "f32[4611686018427387903]; f32[4611686018427387903]; f32[4611686018427387903]", "",
       "shape.concat: Port 'c' has type f32[4611686018427387903]; it does not join 'a', "
       "f32[4611686018427387903], along axis 0."},
      {"shape.concat", "q4_0[1, 32]; q4_0[1, 32]", "",
       "shape.concat: Port 'a' has type q4_0[1, 32]; it needs elements of whole bytes."},
      {"shape.concat", "", "", "shape.concat needs its input 'a'."},
      // `_` is an absent port: a variadic one has no holes.
      {"shape.concat", "f32[2]; _; f32[2]", "",
       "shape.concat takes any number of inputs 'a', but none that is absent: 'b'."},
      {"shape.concat", "_; f32[2]", "", "shape.concat needs its input 'a'."},
  });
}

// Sizes that divide.
// The count of chunks is a new first axis; 4 T in chunks of 2 are 2 T of them.
TEST(SplitRules, ChunksStandInFront) {
  expect_types({
      {"shape.split", "f32[6, T]", "{split_size = 2}", "f32[3, 2, T]"},
      {"shape.split", "f32[2, 6]", "{split_size = 3, dim = 1}", "f32[2, 2, 3]"},
      {"shape.split", "f32[2, 6]", "{split_size = 6, dim = -1}", "f32[1, 2, 6]"},
      {"shape.split", "f32[4*T, 2]", "{split_size = 2}", "f32[2*T, 2, 2]"},
      {"shape.split", "f32[0, 2]", "{split_size = 2}", "f32[0, 2, 2]"},
      {"shape.split", "f32[5]", "{split_size = 2}",
       "shape.split: Port 'x' has type f32[5]; axis 0 does not split into chunks of 2."},
      {"shape.split", "f32[T]", "{split_size = 2}",
       "shape.split: Port 'x' has type f32[T]; axis 0 does not split into chunks of 2."},
      {"shape.split", "f32[6]", "{split_size = 0}",
       "shape.split: Port 'x' has type f32[6]; axis 0 does not split into chunks of 0."},
      {"shape.split", "f32[6]", "{split_size = -2}",
       "shape.split: Port 'x' has type f32[6]; axis 0 does not split into chunks of -2."},
      {"shape.split", "f32[6]", "{split_size = 2, dim = 1}",
       "shape.split: Attribute 'dim' names axis 1; a tensor of rank 1 has axes -1 to 0."},
      // A tensor of rank 8 has no room for that axis.
      {"shape.split", "f32[1, 1, 1, 1, 1, 1, 1, 2]", "{split_size = 1, dim = 7}",
       "shape.split: 'chunks' asks for rank 9; the limit is 8."},
      {"shape.split", "f32[6]", "", "shape.split needs the attribute 'split_size'."},
      {"shape.split", "u4[6]", "{split_size = 2}",
       "shape.split: Port 'x' has type u4[6]; it needs elements of whole bytes."},
  });
}

// Constant and symbolic axes.
// end = 0 means the extent. A start at the end leaves nothing and is no error.
TEST(SliceRules, BoundsAreHalfOpen) {
  expect_types({
      {"shape.slice", "f32[6, T]", "{start = 2, end = 5}", "f32[3, T]"},
      {"shape.slice", "f32[6, T]", "", "f32[6, T]"},
      {"shape.slice", "f32[6, T]", "{dim = 1, start = 1, end = 4}", "f32[6, 3]"},
      {"shape.slice", "f32[6, T]", "{dim = 1}", "f32[6, T]"},
      {"shape.slice", "f32[6]", "{start = 2}", "f32[4]"},
      {"shape.slice", "f32[6]", "{start = 6}", "f32[0]"},
      {"shape.slice", "f32[6]", "{start = 3, end = 3}", "f32[0]"},
      // Past either end, the wrong way round, and a start beyond the extent.
      {"shape.slice", "f32[6]", "{start = 5, end = 2}",
       "shape.slice: The slice [5, 2) is out of range for an axis of extent 6."},
      {"shape.slice", "f32[6]", "{end = 7}",
       "shape.slice: The slice [0, 7) is out of range for an axis of extent 6."},
      {"shape.slice", "f32[6]", "{start = -1, end = 3}",
       "shape.slice: The slice [-1, 3) is out of range for an axis of extent 6."},
      {"shape.slice", "f32[6]", "{start = 7}",
       "shape.slice: The slice [7, 6) is out of range for an axis of extent 6."},
      // A symbolic axis needs both ends, in order.
      {"shape.slice", "f32[T]", "{start = 2}",
       "shape.slice: Port 'x' has type f32[T]; a slice of a symbolic axis needs 0 <= start < end, "
       "not [2, 0)."},
      {"shape.slice", "f32[T]", "{start = -2, end = 1}",
       "shape.slice: Port 'x' has type f32[T]; a slice of a symbolic axis needs 0 <= start < end, "
       "not [-2, 1)."},
      {"shape.slice", "f32[6]", "{dim = 1}",
       "shape.slice: Attribute 'dim' names axis 1; a tensor of rank 1 has axes -1 to 0."},
      {"shape.slice", "f32[]", "",
       "shape.slice: Attribute 'dim' names axis 0; a tensor of rank 0 has no axes."},
      {"shape.slice", "iq4_nl[2, 32]", "{end = 1}",
       "shape.slice: Port 'x' has type iq4_nl[2, 32]; it needs elements of whole bytes."},
  });
}

// Whatever the other axes are.
// rows i32 or i64 [R] replace the first extent, symbol or constant.
TEST(GatherRules, RowsReplaceTheFirstAxis) {
  expect_types({
      {"shape.gather_rows", "f32[V, 3, 5]; i32[R]", "", "f32[R, 3, 5]"},
      {"shape.gather_rows", "u8[4]; i64[2]", "", "u8[2]"},
      {"shape.gather_rows", "f32[4, 3]; i32[0]", "", "f32[0, 3]"},
      {"shape.gather_rows", "f32[]; i32[2]", "",
       "shape.gather_rows: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"shape.gather_rows", "f32[4, 3]; i32[2, 2]", "",
       "shape.gather_rows: Port 'rows' has type i32[2, 2]; it needs rank 1."},
      {"shape.gather_rows", "f32[4, 3]; f32[2]", "",
       "shape.gather_rows: Port 'rows' has type f32[2]; its elements must be i32 or i64."},
      {"shape.gather_rows", "f32[4, 3]; i16[2]", "",
       "shape.gather_rows: Port 'rows' has type i16[2]; its elements must be i32 or i64."},
      {"shape.gather_rows", "q8_0[4, 32]; i32[2]", "",
       "shape.gather_rows: Port 'x' has type q8_0[4, 32]; it needs elements of whole bytes."},
      {"shape.gather_rows", "f32[4, 3]", "", "shape.gather_rows needs its input 'rows'."},
  });
}

// Of the first axis.
// x and y of one type, one i32 for each row: a mask of bytes or of two axes is refused.
TEST(SelectRules, MaskHasOneEntryForEachRow) {
  expect_types({
      {"shape.select_rows", "f32[T, 3]; f32[T, 3]; i32[T]", "", "f32[T, 3]"},
      {"shape.select_rows", "u8[2]; u8[2]; i32[2]", "", "u8[2]"},
      {"shape.select_rows", "f32[2, 3]; f32[2, 4]; i32[2]", "",
       "shape.select_rows: Port 'y' has type f32[2, 4]; it needs the type of 'x', f32[2, 3]."},
      {"shape.select_rows", "f32[2, 3]; f32[2, 3]; i32[3]", "",
       "shape.select_rows: Port 'chooses_y' has type i32[3]; the extent of axis 0 must be 2, the "
       "rows of 'x'."},
      {"shape.select_rows", "f32[2, 3]; f32[2, 3]; u8[2]", "",
       "shape.select_rows: Port 'chooses_y' has type u8[2]; its elements must be i32."},
      {"shape.select_rows", "f32[2, 3]; f32[2, 3]; i32[2, 1]", "",
       "shape.select_rows: Port 'chooses_y' has type i32[2, 1]; it needs rank 1."},
      {"shape.select_rows", "f32[]; f32[]; i32[1]", "",
       "shape.select_rows: Port 'x' has type f32[]; it needs rank 1 or more."},
      {"shape.select_rows", "b1[2, 8]; b1[2, 8]; i32[2]", "",
       "shape.select_rows: Port 'x' has type b1[2, 8]; it needs elements of whole bytes."},
  });
}

// Packed targets need whole rows.
// Targets of less than a byte fill whole bytes of the last axis, packed ones whole blocks; a symbol
// is never known to do so.
TEST(CastRules, EveryPairOfPlainTypesAndWholeBlocks) {
  expect_types({
      {"math.cast", "f32[T, 3]", R"({to = "i8"})", "i8[T, 3]"},
      {"math.cast", "b1[8]", R"({to = "f64"})", "f64[8]"},
      {"math.cast", "f32[2, 8]", R"({to = "b1"})", "b1[2, 8]"},
      {"math.cast", "f32[2, 6]", R"({to = "i4"})", "i4[2, 6]"},
      {"math.cast", "i64[T, 32]", R"({to = "q8_0"})", "q8_0[T, 32]"},
      {"math.cast", "q4_K[2, 256]", R"({to = "bf16"})", "bf16[2, 256]"},
      {"math.cast", "q4_0[2, 32]", R"({to = "q5_1"})", "q5_1[2, 32]"},
      {"math.cast", "f32[2, 7]", R"({to = "b1"})",
       "math.cast: Port 'x' has type f32[2, 7]; its last extent must be a multiple of 8 for b1."},
      {"math.cast", "f32[2, 3]", R"({to = "u4"})",
       "math.cast: Port 'x' has type f32[2, 3]; its last extent must be a multiple of 2 for u4."},
      {"math.cast", "f32[2, T]", R"({to = "q8_0"})",
       "math.cast: Port 'x' has type f32[2, T]; its last extent must be a multiple of 32 for "
       "q8_0."},
      {"math.cast", "f32[]", R"({to = "u4"})",
       "math.cast: Port 'x' has type f32[]; its last extent must be a multiple of 2 for u4."},
      {"math.cast", "f32[2, 128]", R"({to = "q4_K"})",
       "math.cast: Port 'x' has type f32[2, 128]; its last extent must be a multiple of 256 for "
       "q4_K."},
      {"math.cast", "f32[3]", R"({to = "f33"})",
       "math.cast: Attribute 'to' is 'f33'; it must name a dtype."},
      {"math.cast", "f32[3]", R"({to = ""})",
       "math.cast: Attribute 'to' is ''; it must name a dtype."},
      {"math.cast", "f32[3]", "", "math.cast needs the attribute 'to'."},
      // Complex numbers and q8_K have no cast either way.
      {"math.cast", "f32[3]", R"({to = "complex64"})",
       "math.cast: There is no cast from f32[3] to complex64."},
      {"math.cast", "complex64[3]", R"({to = "f32"})",
       "math.cast: There is no cast from complex64[3] to f32."},
      {"math.cast", "f32[1, 256]", R"({to = "q8_K"})",
       "math.cast: There is no cast from f32[1, 256] to q8_K."},
      {"math.cast", "q8_K[1, 256]", R"({to = "f32"})",
       "math.cast: There is no cast from q8_K[1, 256] to f32."},
      // saturate is text, since it has a third value beside true and false.
      {"math.cast", "f32[3]", R"({to = "f8e4m3", saturate = "yes"})",
       "Attribute 'saturate' of math.cast is 'yes'; the choices are auto, true, false."},
      {"math.cast", "f32[3]", R"({to = "f8e4m3", saturate = true})",
       "Attribute 'saturate' of math.cast is true; it must be text."},
  });
}

}  // namespace
}  // namespace quern::test
