// The key-value cache: appending rows, and attention over what a sequence holds.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ops/attention_core.h"
#include "ops/cached_rows.h"
#include "ops/float_rows.h"
#include "ops/kv_rules.h"
#include "ops/kv_state.h"
#include "ops/op_parts.h"
#include "ops/quant_dynamic.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using namespace type_rules;

// Rows of keys and values with the extents of the declared cache. Nothing comes out.
// k [T, H, D] and v [T, H, Dv] may be any float up to f32; the cache decides what it keeps.
Result<std::vector<TensorType>> infer_append(const InferContext& context) {
  const TensorType& k = *context.inputs[0];
  const TensorType& v = *context.inputs[1];
  QUERN_ASSIGN_OR_RETURN(const KvDims dims, find_kv(context));
  QUERN_TRY(check_kv_rows("k", k));
  QUERN_TRY(check_kv_rows("v", v));
  QUERN_TRY(expect_dim("v", v, 0, k.dims[0], "the tokens of 'k'"));
  QUERN_TRY(expect_dim("k", k, 1, Dim::constant(dims.heads), "the heads of the cache"));
  QUERN_TRY(expect_dim("v", v, 1, Dim::constant(dims.heads), "the heads of the cache"));
  QUERN_TRY(expect_dim("k", k, 2, Dim::constant(dims.key_dim), "the key_dim of the cache"));
  QUERN_TRY(expect_dim("v", v, 2, Dim::constant(dims.value_dim), "the value_dim of the cache"));
  QUERN_TRY(check_kv_places(context, 2, k.dims[0]));
  return std::vector<TensorType>{};
}

// Queries may have more heads than the cache: grouped-query attention shares each of its heads.
// q [T, Hq, D] of a float up to f32; the result has its dtype and [T, Hq, Dv].
Result<std::vector<TensorType>> infer_cached(const InferContext& context) {
  const TensorType& q = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const KvDims dims, find_kv(context));
  QUERN_TRY(check_kv_rows("q", q));
  QUERN_TRY(expect_dim("q", q, 2, Dim::constant(dims.key_dim), "the key_dim of the cache"));
  QUERN_ASSIGN_OR_RETURN(const int64_t heads, constant_dim("q", q, 1));
  // dims.heads is at least 1 by find_kv.
  if (heads % dims.heads != 0) {
    return fail::invalid("Port 'q' has {} heads, which is not a multiple of the {} of the cache.",
                         heads, dims.heads);
  }
  QUERN_TRY(check_kv_places(context, 1, q.dims[0]));
  QUERN_TRY(expect_vector("sinks", context.inputs[3], q.dims[1], "the heads of 'q'"));
  QUERN_TRY(expect_no_wider("sinks", context.inputs[3], q));
  // Checked also for float keys, which do not use them: a graph must not become wrong when the type
  // of the cache changes.
  const int64_t bits = context.attributes.integer("query_bits");
  if (bits != 8 && bits != 16) {
    return fail::invalid("Attribute 'query_bits' is {}; it must be 8 or 16.", bits);
  }
  const int64_t window = context.attributes.integer("window");
  if (window < 0) return fail::invalid("Attribute 'window' is {}; it is negative.", window);
  const double soft_cap = context.attributes.number("soft_cap");
  // Written so that NaN is refused.
  if (!(soft_cap >= 0.0)) {
    return fail::invalid("Attribute 'soft_cap' is {}; it must be 0 or more.", soft_cap);
  }
  return std::vector<TensorType>{
      {.dtype = q.dtype, .dims = {q.dims[0], q.dims[1], Dim::constant(dims.value_dim)}}};
}

// Writes head by head. All places were checked before the first write.
// Row `row` of the flattened [T * H, D] is head row % H of token row / H. key and value are f32 in
// between: the store rounds or quantises each row once.
Result<void> run_append(const KernelContext& context) {
  const TensorView& k = context.inputs[0];
  const TensorView& v = context.inputs[1];
  // All tokens are checked here, before the first write, so that an error leaves the cache as it
  // was.
  QUERN_ASSIGN_OR_RETURN(const KvRows places, find_kv_rows(context, 2, KvHeadCount::kSame,
                                                           k.shape[1], k.shape[2], v.shape[2]));
  const int64_t heads = k.shape[1];
  std::vector<float> key(static_cast<size_t>(k.shape[2]));
  std::vector<float> value(static_cast<size_t>(v.shape[2]));
  for (int64_t row = 0; row < k.shape.num_rows(); ++row) {
    const int64_t t = row / heads;
    load_row(k, row * k.shape[2], k.shape[2], key.data());
    load_row(v, row * v.shape[2], v.shape[2], value.data());
    places.kv->write(places.layer, places.sequences[t], row % heads, places.positions[t], key,
                     value);
  }
  return {};
}

// Attributes of attention.cached as the type computed in.
// They are rounded once for all tokens; a `scale` of 0 has become 1 / sqrt(D).
struct CachedRule {
  float scale;
  float soft_cap;
  int64_t window;
  int32_t query_limit;  // of the integers, where keys are quantised

  CachedRule(const Attributes& attributes, int64_t head_dim)
      : scale(attention_scale<float>(attributes.number("scale"), head_dim)),
        soft_cap(static_cast<float>(attributes.number("soft_cap"))),
        window(attributes.integer("window")),
        query_limit(dynamic_limit(attributes.integer("query_bits"))) {}

  // The keys that a token at `position` sees: itself and those before, at most `window` of them.
  // int64 arithmetic: position + 1 of the largest i32 does not overflow. first <= last holds.
  KeyRange visible(int64_t position) const {
    const int64_t last = position + 1;
    return {window == 0 ? 0 : std::max<int64_t>(0, last - window), last};
  }
};

// The heads of queries that share one head of keys, over all tokens.
// CachedRows keeps the decoded rows of this head over the tokens; queries h of the group read them
// through the same two functions.
void attend_group(const KernelContext& context, const KvRows& places, const CachedRule& rule,
                  std::span<const float> sinks, int64_t kv_head) {
  const TensorView& q = context.inputs[0];
  const TensorView& out = context.outputs[0];
  const int64_t tokens = q.shape[0], heads = q.shape[1];
  const int64_t head_dim = q.shape[2], value_dim = out.shape[2];
  const int64_t group = heads / places.kv->num_heads();
  std::vector<float> query(static_cast<size_t>(head_dim));
  std::vector<float> result(static_cast<size_t>(value_dim));
  CachedRows rows(*places.kv, places.layer, kv_head);
  // The lambdas read the query and rows that are loaded at the time of the call.
  const auto score = [&](int64_t key) {
    return finish_score(rows.dot(key), rule.scale, rule.soft_cap);
  };
  const auto value = [&](int64_t key) { return rows.value(key); };
  // Tokens in the order of the call. Those of one prompt follow each other and extend the loaded
  // range by one row each; another sequence reloads.
  for (int64_t t = 0; t < tokens; ++t) {
    // The type rule and find_kv_rows have checked the position against the room, not whether the
    // rows before it were written: that is the runtime's to promise.
    const KeyRange keys = rule.visible(places.positions[t]);
    rows.load(places.sequences[t], keys.first, keys.last);
    for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      load_row(q, (t * heads + h) * head_dim, head_dim, query.data());
      rows.set_query(query, rule.query_limit);
      // One sink for each query head, not for each head of the cache.
      const float* sink = sinks.empty() ? nullptr : &sinks[static_cast<size_t>(h)];
      attend<float>(keys, sink, score, value, result);
      store_row(out, (t * heads + h) * value_dim, value_dim, result.data());
    }
  }
}

// Heads of the cache one after the other, so that its rows are decoded once per head.
// Memory holds one head of one sequence at a time, not all of them. The heads and widths were
// checked with the declaration; find_kv_rows checks them again with the bound store.
Result<void> run_cached(const KernelContext& context) {
  const int64_t head_dim = context.inputs[0].shape[2];
  QUERN_ASSIGN_OR_RETURN(const KvRows places, find_kv_rows(context, 1, KvHeadCount::kMultiple,
                                                           context.inputs[0].shape[1], head_dim,
                                                           context.outputs[0].shape[2]));
  const CachedRule rule(context.attributes, head_dim);
  const std::vector<float> sinks = load_all<float>(context.inputs[3]);
  for (int64_t head = 0; head < places.kv->num_heads(); ++head) {
    attend_group(context, places, rule, sinks, head);
  }
  return {};
}

}  // namespace

void register_cached_attention_ops(OpRegistry& registry) {
  using namespace op_parts;
  const AttributeDef state = text("state", "kv", "Name of the state, of kind kv.");
  const AttributeDef layer = integer("layer", kRequired, "Layer of the state.");
  registry.add({.id = "kv.append",
                .doc = "Writes row t of k [T, H, D] and v [T, H, Dv] at positions[t] of "
                       "sequences[t], rounded or quantised to the types of the cache. An unknown "
                       "sequence and a position outside its room are errors, and then nothing is "
                       "written.",
                .shape_rule = "k [T, H, D], v [T, H, Dv], each f32, f16 or bf16; positions, "
                              "sequences i32 [T]; no output. H, D, Dv are the state's.",
                .edge_rule = "NaN and infinities are stored as the cache's dtype holds "
                             "them. No tokens write nothing. An unknown sequence or a "
                             "position out of room is an error before anything is written.",
                .f32_bound = 0,
                .inputs = {port("k"), port("v"), port("positions"), port("sequences")},
                .outputs = {},
                .attributes = {state, layer},
                .effect = Effect::kStateWrite,
                .infer = infer_append,
                .reference = run_append});
  registry.add(
      {.id = "attention.cached",
       .doc = "Row t of q [T, Hq, D] attends to the keys 0 .. positions[t] of sequences[t] (those "
              "with position - key < window, if there is a window). Query head h uses key head "
              "h / (Hq / H). score = dot * scale, then soft_cap * tanh(score / soft_cap). Keys "
              "fold in chunks of 64 in 512; a sink joins last as the state (sink, 1, 0). With "
              "float keys the dot is blocked(256); with quantised keys q is quantised as by "
              "quant.dynamic in blocks of 32 and the integer terms of the key's format fold.",
       .shape_rule = "q [T, Hq, D] f32, f16 or bf16; positions, sequences i32 [T]; sinks [Hq] "
                     "floats up to f32; out [T, Hq, Dv] of q's dtype. D and Dv are the state's; "
                     "Hq is a multiple of its heads.",
       .edge_rule = "Rows without a visible key, and no keys at all, give zeros; a "
                    "NaN among the scores of a row gives NaN in it; +infinity "
                    "scores give NaN. No queries give none. Unknown sequences and "
                    "positions outside their room are errors; a row inside it that was never "
                    "written is read as the cache holds it.",
       .f32_bound = 256,
       .inputs = {port("q"), port("positions"), port("sequences"), optional_port("sinks")},
       .outputs = {port("out")},
       .attributes = {state, layer, number("scale", 0.0, "Times the dot; 0: 1 / sqrt(D)."),
                      integer("window", 0, "Visible keys; 0: all."),
                      number("soft_cap", 0.0, "0: none."),
                      integer("query_bits", 8, "Integers of q for quantised keys: 8 or 16.")},
       .effect = Effect::kStateRead,
       .infer = infer_cached,
       .reference = run_cached});
}

}  // namespace quern
