// Keys before their rotation: kept beside the cache so that rows can move to other positions.
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/kv_rules.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// The state that the attribute names, which must keep unrotated keys. All three operations need
// them: writing rotated keys back makes sense only after reading unrotated ones.
Result<KvDims> find_keeping_kv(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const KvDims dims, find_kv(context));
  if (dims.keeps_unrotated) return dims;
  return fail::invalid(
      "State '{}' does not keep unrotated keys; declare it with "
      "keeps_unrotated = true.",
      context.attributes.text("state"));
}

// k [T, heads, key_dim] and a place for each token; no output. The rule of keep_unrotated and
// write_keys.
Result<std::vector<TensorType>> infer_write(const InferContext& context) {
  const TensorType& k = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const KvDims dims, find_keeping_kv(context));
  QUERN_TRY(check_kv_rows("k", k));
  QUERN_TRY(expect_dim("k", k, 1, Dim::constant(dims.heads), "the heads of the cache"));
  QUERN_TRY(expect_dim("k", k, 2, Dim::constant(dims.key_dim), "the key_dim of the cache"));
  QUERN_TRY(check_kv_places(context, 1, k.dims[0]));
  return std::vector<TensorType>{};
}

// f32 whatever the cache stores, because unrotated keys are never rounded or quantised.
Result<std::vector<TensorType>> infer_read(const InferContext& context) {
  const TensorType& positions = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const KvDims dims, find_keeping_kv(context));
  QUERN_TRY(expect_rank("positions", positions, 1));
  QUERN_TRY(check_kv_places(context, 0, positions.dims[0]));
  return std::vector<TensorType>{
      {DType::kF32, {positions.dims[0], Dim::constant(dims.heads), Dim::constant(dims.key_dim)}}};
}

// Calls f(place, head, row of the tensor) for every token and head.
template <class F>
Result<void> for_each_row(const KernelContext& context, const TensorView& rows, size_t first,
                          F&& f) {
  // A missing state is find_kv_rows's error; until then the width does not matter.
  const int64_t value_dim = context.kv == nullptr ? 0 : context.kv->value_dim();
  QUERN_ASSIGN_OR_RETURN(
      const KvRows places,
      find_kv_rows(context, first, KvHeadCount::kSame, rows.shape[1], rows.shape[2], value_dim));
  // The declaration has promised it, but the store that was bound may be another.
  if (!places.kv->keeps_unrotated()) {
    return fail::precondition("State '{}' is bound to a store that keeps no unrotated keys.",
                              context.attributes.text("state"));
  }
  // Scratch of one key, which f fills or reads.
  std::vector<float> row(static_cast<size_t>(rows.shape[2]));
  for (int64_t t = 0; t < rows.shape[0]; ++t) {
    for (int64_t head = 0; head < rows.shape[1]; ++head) {
      // Row (t, head) of [T, H, D] starts at this element.
      f(places, t, head, (t * rows.shape[1] + head) * rows.shape[2], row);
    }
  }
  return {};
}

// Stores keys beside the cache, at full f32.
Result<void> run_keep(const KernelContext& context) {
  const TensorView& k = context.inputs[0];
  return for_each_row(
      context, k, 1,
      [&](const KvRows& p, int64_t t, int64_t head, int64_t at, std::vector<float>& row) {
        load_row(k, at, k.shape[2], row.data());
        p.kv->write_unrotated(p.layer, p.sequences[t], head, p.positions[t], row);
      });
}

// Reads them back into the output, token by token and head by head.
Result<void> run_read(const KernelContext& context) {
  const TensorView& k = context.outputs[0];
  return for_each_row(
      context, k, 0,
      [&](const KvRows& p, int64_t t, int64_t head, int64_t at, std::vector<float>& row) {
        p.kv->read_unrotated(p.layer, p.sequences[t], head, p.positions[t], row);
        store_row(k, at, k.shape[2], row.data());
      });
}

// Replaces the rotated keys of the cache; the store rounds or quantises them, values stay.
Result<void> run_write(const KernelContext& context) {
  const TensorView& k = context.inputs[0];
  return for_each_row(
      context, k, 1,
      [&](const KvRows& p, int64_t t, int64_t head, int64_t at, std::vector<float>& row) {
        load_row(k, at, k.shape[2], row.data());
        p.kv->write_key(p.layer, p.sequences[t], head, p.positions[t], row);
      });
}

}  // namespace

void register_unrotated_keys_ops(OpRegistry& registry) {
  using namespace op_parts;
  const AttributeDef state = text("state", "kv", "Name of the state, of kind kv.");
  const AttributeDef layer = integer("layer", kRequired, "Layer of the state.");
  registry.add({.id = "kv.keep_unrotated",
                .doc = "Keeps row t of k [T, H, D], a key before its rotation, at positions[t] of "
                       "sequences[t], in f32. The state is declared with keeps_unrotated = true.",
                .shape_rule = "k [T, H, D] floats, positions, sequences i32 [T]; no output.",
                .edge_rule = "No tokens do nothing. An unknown sequence or a position out "
                             "of room is an error.",
                .f32_bound = 0,
                .inputs = {port("k"), port("positions"), port("sequences")},
                .outputs = {},
                .attributes = {state, layer},
                .effect = Effect::kStateWrite,
                .infer = infer_write,
                .reference = run_keep});
  registry.add({.id = "kv.read_unrotated",
                .doc = "The kept keys f32 [T, H, D] at positions[t] of sequences[t].",
                .shape_rule = "positions, sequences i32 [T]; k f32 [T, H, D] of the state's "
                              "extents.",
                .edge_rule = "No tokens do nothing. An unknown sequence or a position out "
                             "of room is an error.",
                .f32_bound = 0,
                .inputs = {port("positions"), port("sequences")},
                .outputs = {port("k")},
                .attributes = {state, layer},
                .effect = Effect::kStateRead,
                .infer = infer_read,
                .reference = run_read});
  registry.add({.id = "kv.write_keys",
                .doc = "Replaces the cached keys at positions[t] of sequences[t] by k [T, H, D], "
                       "rounded or quantised to the type of the cache; values stay.",
                .shape_rule = "k [T, H, D] floats, positions, sequences i32 [T]; no output.",
                .edge_rule = "No tokens do nothing. An unknown sequence or a position out "
                             "of room is an error.",
                .f32_bound = 0,
                .inputs = {port("k"), port("positions"), port("sequences")},
                .outputs = {},
                .attributes = {state, layer},
                .effect = Effect::kStateWrite,
                .infer = infer_write,
                .reference = run_write});
}

}  // namespace quern
