// Type rules of the operations on a key-value state: declarations, places, layers.
#include <gtest/gtest.h>

#include "support/op_typing.h"

namespace quern::test {
namespace {

// Extents are those of the declaration.
// Two layers of three heads, keys of 8 and values of 6: all extents differ, so that a swap shows.
// Rows may be of any narrow float, whatever the cache keeps.
TEST(KvRules, AppendTakesRowsOfTheState) {
  expect_types_with_state(
      "layers = 2, heads = 3, key_dim = 8, value_dim = 6, key_type = \"f16\", value_type = \"f32\"",
      {
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = 0}", ""},
          {"kv.append", "bf16[T, 3, 8]; f16[T, 3, 6]; i32[T]; i32[T]", "{layer = 1}", ""},
          // Layers count from 0; the attribute is required.
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = 2}",
           "kv.append: Attribute 'layer' is 2; state 'kv' has 2 layers."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = -1}",
           "kv.append: Attribute 'layer' is -1; state 'kv' has 2 layers."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "",
           "kv.append needs the attribute 'layer'."},
          // One wrong extent a row: heads of k, heads of v, widths of both, tokens of v.
          {"kv.append", "f32[T, 2, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'k' has type f32[T, 2, 8]; the extent of axis 1 must be 3, the heads "
           "of the cache."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 2, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'v' has type f32[T, 2, 6]; the extent of axis 1 must be 3, the heads "
           "of the cache."},
          {"kv.append", "f32[T, 3, 7]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'k' has type f32[T, 3, 7]; the extent of axis 2 must be 8, the key_dim "
           "of the cache."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'v' has type f32[T, 3, 8]; the extent of axis 2 must be 6, the "
           "value_dim of the cache."},
          {"kv.append", "f32[T, 3, 8]; f32[S, 3, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'v' has type f32[S, 3, 6]; the extent of axis 0 must be T, the tokens "
           "of 'k'."},
          // One place for each token, i32, as vectors.
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[S]; i32[T]", "{layer = 0}",
           "kv.append: Port 'positions' has type i32[S]; the extent of axis 0 must be T, the "
           "number of tokens."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[S]", "{layer = 0}",
           "kv.append: Port 'sequences' has type i32[S]; the extent of axis 0 must be T, the "
           "number of tokens."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i64[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'positions' has type i64[T]; its elements must be i32."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; f32[T]", "{layer = 0}",
           "kv.append: Port 'sequences' has type f32[T]; its elements must be i32."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T, 1]; i32[T]", "{layer = 0}",
           "kv.append: Port 'positions' has type i32[T, 1]; it needs rank 1."},
          // Dtypes and ranks of the rows; a missing port; a state that is not declared.
          {"kv.append", "f64[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'k' has type f64[T, 3, 8]; its elements must be f32 or f16 or bf16."},
          {"kv.append", "f32[T, 3, 8]; i8[T, 3, 6]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'v' has type i8[T, 3, 6]; its elements must be f32 or f16 or bf16."},
          {"kv.append", "f32[T, 24]; f32[T, 18]; i32[T]; i32[T]", "{layer = 0}",
           "kv.append: Port 'k' has type f32[T, 24]; it needs rank 3."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]", "{layer = 0}",
           "kv.append needs its input 'sequences'."},
          {"kv.append", "f32[T, 3, 8]; f32[T, 3, 6]; i32[T]; i32[T]",
           R"({layer = 0, state = "cache"})",
           "kv.append: Attribute 'state' is 'cache'; the graph declares no state of kind 'kv' with "
           "that name."},
      });
}

// Queries may have more heads.
// The result has q's dtype and heads, and the value width of the cache.
TEST(KvRules, AttentionReadsTheState) {
  expect_types_with_state(
      "layers = 2, heads = 3, key_dim = 8, value_dim = 6, key_type = \"f16\", value_type = \"f32\"",
      {
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 0}", "f32[T, 6, 6]"},
          {"attention.cached", "f16[T, 3, 8]; i32[T]; i32[T]; f16[3]",
           "{layer = 1, window = 5, soft_cap = 30.0, query_bits = 16}", "f16[T, 3, 6]"},
          // A group must be whole, and known.
          {"attention.cached", "f32[T, 4, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'q' has 4 heads, which is not a multiple of the 3 of the "
           "cache."},
          {"attention.cached", "f32[T, H, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'q' has type f32[T, H, 8]; the extent of axis 1 must be a "
           "constant."},
          {"attention.cached", "f32[T, 6, 6]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'q' has type f32[T, 6, 6]; the extent of axis 2 must be 8, the "
           "key_dim of the cache."},
          {"attention.cached", "f32[T, 48]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'q' has type f32[T, 48]; it needs rank 3."},
          {"attention.cached", "f32[T, 6, 8]; i32[S]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'positions' has type i32[S]; the extent of axis 0 must be T, "
           "the number of tokens."},
          // Sinks belong to the heads of q, not of the cache, and are no wider than q.
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]; f32[3]", "{layer = 0}",
           "attention.cached: Port 'sinks' has type f32[3]; the extent of axis 0 must be 6, the "
           "heads of 'q'."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]; f64[6]", "{layer = 0}",
           "attention.cached: Port 'sinks' has type f64[6], which is wider than the f32[T, 6, 8] "
           "it works on."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]; f32[6, 1]", "{layer = 0}",
           "attention.cached: Port 'sinks' has type f32[6, 1]; it needs rank 1."},
          // Numbers at or past their limits, NaN among them.
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 0, window = -1}",
           "attention.cached: Attribute 'window' is -1; it is negative."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 0, soft_cap = -1}",
           "attention.cached: Attribute 'soft_cap' is -1; it must be 0 or more."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 0, soft_cap = nan}",
           "attention.cached: Attribute 'soft_cap' is nan; it must be 0 or more."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 0, query_bits = 4}",
           "attention.cached: Attribute 'query_bits' is 4; it must be 8 or 16."},
          {"attention.cached", "f32[T, 6, 8]; i32[T]; i32[T]", "{layer = 5}",
           "attention.cached: Attribute 'layer' is 5; state 'kv' has 2 layers."},
          {"attention.cached", "f64[T, 6, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: Port 'q' has type f64[T, 6, 8]; its elements must be f32 or f16 or "
           "bf16."},
      });
}

// The declaration must ask for them.
TEST(KvRules, UnrotatedKeysNeedAPromise) {
  expect_types_with_state(
      "layers = 2, heads = 3, key_dim = 8, value_dim = 6, key_type = \"f16\", value_type = \"f32\"",
      {
          {"kv.keep_unrotated", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "kv.keep_unrotated: State 'kv' does not keep unrotated keys; declare it with "
           "keeps_unrotated = true."},
          {"kv.read_unrotated", "i32[T]; i32[T]", "{layer = 0}",
           "kv.read_unrotated: State 'kv' does not keep unrotated keys; declare it with "
           "keeps_unrotated = true."},
          {"kv.write_keys", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "kv.write_keys: State 'kv' does not keep unrotated keys; declare it with "
           "keeps_unrotated = true."},
          // The missing promise is reported first, whatever else is wrong.
          {"kv.write_keys", "f32[T, 2, 8]; i32[T]; i32[T]", "{layer = 0}",
           "kv.write_keys: State 'kv' does not keep unrotated keys; declare it with "
           "keeps_unrotated = true."},
          {"kv.write_keys", "f32[T, 3, 8]; i32[T]; i32[S]", "{layer = 0}",
           "kv.write_keys: State 'kv' does not keep unrotated keys; declare it with "
           "keeps_unrotated = true."},
      });
}

// All three operations.
TEST(KvRules, UnrotatedKeysOfAStateThatKeepsThem) {
  expect_types_with_state(
      "layers = 1, heads = 3, key_dim = 8, value_dim = 6, key_type = \"f16\", value_type = "
      "\"f32\", keeps_unrotated = true",
      {
          {"kv.keep_unrotated", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}", ""},
          {"kv.keep_unrotated", "f32[T, 3, 7]; i32[T]; i32[T]", "{layer = 0}",
           "kv.keep_unrotated: Port 'k' has type f32[T, 3, 7]; the extent of axis 2 must be 8, the "
           "key_dim of the cache."},
          {"kv.keep_unrotated", "f32[T, 2, 8]; i32[T]; i32[T]", "{layer = 0}",
           "kv.keep_unrotated: Port 'k' has type f32[T, 2, 8]; the extent of axis 1 must be 3, the "
           "heads of the cache."},
          {"kv.keep_unrotated", "f32[T, 3, 8]; i32[S]; i32[T]", "{layer = 0}",
           "kv.keep_unrotated: Port 'positions' has type i32[S]; the extent of axis 0 must be T, "
           "the number of tokens."},
          {"kv.keep_unrotated", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 1}",
           "kv.keep_unrotated: Attribute 'layer' is 1; state 'kv' has 1 layers."},
          {"kv.read_unrotated", "i32[T]; i32[T]", "{layer = 0}", "f32[T, 3, 8]"},
          {"kv.read_unrotated", "i32[T]; i32[S]", "{layer = 0}",
           "kv.read_unrotated: Port 'sequences' has type i32[S]; the extent of axis 0 must be T, "
           "the number of tokens."},
          {"kv.read_unrotated", "i64[T]; i32[T]", "{layer = 0}",
           "kv.read_unrotated: Port 'positions' has type i64[T]; its elements must be i32."},
      });
}

// A type that is not there, or none.
TEST(KvRules, DeclarationsNameTheKeyType) {
  // Without key_type and value_type.
  expect_types_with_state("layers = 1, heads = 3, key_dim = 8, value_dim = 6",
                          {
                              {"attention.cached", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
                               "attention.cached: State 'kv' has the key_type (none); it must be a "
                               "float up to f32 or a format of 32-element blocks."},
                          });
}

// No cache has that width.
TEST(KvRules, KeysAreNotF64) {
  expect_types_with_state(
      "layers = 1, heads = 3, key_dim = 8, value_dim = 6, key_type = \"f64\", value_type = \"f32\"",
      {
          {"attention.cached", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: State 'kv' has the key_type f64; it must be a float up to f32 or a "
           "format of 32-element blocks."},
      });
}

// Larger blocks would cross heads.
// 256 would be whole blocks: the width of the block is refused, not the fit.
TEST(KvRules, KeysHaveBlocksOf32) {
  expect_types_with_state(
      "layers = 1, heads = 3, key_dim = 256, value_dim = 6, key_type = \"q4_K\", value_type = "
      "\"f32\"",
      {
          {"attention.cached", "f32[T, 3, 256]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: State 'kv' has the key_type q4_K; it must be a float up to f32 or a "
           "format of 32-element blocks."},
      });
}

// Nothing to store otherwise.
// 0 heads would divide the queries' heads.
TEST(KvRules, ExtentsAreAboveZero) {
  expect_types_with_state(
      "layers = 1, heads = 0, key_dim = 8, value_dim = 6, key_type = \"f16\", value_type = \"f32\"",
      {
          {"attention.cached", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: State 'kv' needs the integer attribute 'heads' of 1 or more."},
      });
}

// A number with a point is a mistake.
TEST(KvRules, ExtentsAreIntegers) {
  expect_types_with_state(
      "layers = 1, heads = 3, key_dim = 8.0, value_dim = 6, key_type = \"f16\", value_type = "
      "\"f32\"",
      {
          {"attention.cached", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: State 'kv' needs the integer attribute 'key_dim' of 1 or more."},
      });
}

// The error names the missing one.
TEST(KvRules, ExtentsAreAllGiven) {
  expect_types_with_state(
      "layers = 1, heads = 3, key_dim = 8, key_type = \"f16\", value_type = \"f32\"",
      {
          {"attention.cached", "f32[T, 3, 8]; i32[T]; i32[T]", "{layer = 0}",
           "attention.cached: State 'kv' needs the integer attribute 'value_dim' of 1 or more."},
      });
}

// Padding is the cache's affair.
// 20 is no multiple of 32: the store pads, the types do not show it.
TEST(KvRules, QuantizedKeysOfAnyWidth) {
  expect_types_with_state(
      "layers = 1, heads = 1, key_dim = 20, value_dim = 12, key_type = \"q8_0\", value_type = "
      "\"q4_0\"",
      {
          {"attention.cached", "f32[T, 4, 20]; i32[T]; i32[T]", "{layer = 0}", "f32[T, 4, 12]"},
      });
}

}  // namespace
}  // namespace quern::test
