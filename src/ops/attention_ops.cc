// Attention over keys and values given as tensors [B, H, T, D]: types, caches, expansions.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/dim_math.h"
#include "ops/head_attention.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/row_attention.h"
#include "ops/type_rules.h"
#include "quern/graph_builder.h"

namespace quern {
namespace {

using namespace type_rules;

// [B, H, T, D] in row-major order.
HeadStrides strides_of(const Shape& s) {
  return {s[1] * s[2] * s[3], s[2] * s[3], s[3]};
}

// How many heads of keys and values an operation takes for its heads of queries.
enum class KvHeads { kSame, kOne, kDivisor };

// The heads of the keys must be the queries', one, or a divisor.
// sdpa and flash demand equal heads, mqa one, gqa and sliding windows a divisor. Heads are
// constants: a symbol would leave the group size unknown.
Result<void> check_kv_heads(KvHeads wanted, const TensorType& q, const TensorType& k) {
  QUERN_ASSIGN_OR_RETURN(const int64_t heads, constant_dim("q", q, 1));
  QUERN_ASSIGN_OR_RETURN(const int64_t kv_heads, constant_dim("k", k, 1));
  switch (wanted) {
    case KvHeads::kSame:
      return expect_dim("k", k, 1, q.dims[1], "the heads of 'q'");
    case KvHeads::kOne:
      return expect_dim("k", k, 1, Dim::constant(1), "one head for all queries");
    case KvHeads::kDivisor:
      break;
  }
  if (kv_heads > 0 && heads % kv_heads == 0) return {};
  return fail::invalid(
      "Port 'q' has type {}, whose {} heads are not a multiple of the {} of 'k', {}.",
      q.to_string(), heads, kv_heads, k.to_string());
}

// A mask for each query and key; leading axes are those of q or 1. It is no wider than q, so
// that adding it loses nothing.
// `axis + 4 - rank` is the axis of q [B, H, Tq, D] that a leading axis of the mask stands for:
// aligned at the end, the mask's last two axes being Tq and Tk.
Result<void> check_mask(const TensorType& mask, const TensorType& q, const TensorType& k) {
  QUERN_TRY(expect_float("mask", mask));
  QUERN_TRY(expect_no_wider("mask", &mask, q));
  // Rank 1 would be ambiguous (queries or keys?), and more than 4 has no axes of q to meet.
  const int rank = mask.rank();
  if (rank < 2 || rank > 4) {
    return fail::invalid("Port 'mask' has type {}; it needs rank 2 to 4.", mask.to_string());
  }
  QUERN_TRY(expect_dim("mask", mask, rank - 2, q.dims[2], "the rows of 'q'"));
  QUERN_TRY(expect_dim("mask", mask, rank - 1, k.dims[2], "the rows of 'k'"));
  for (int axis = 0; axis + 2 < rank; ++axis) {
    const Dim& found = mask.dims[static_cast<size_t>(axis)];
    const Dim& wanted = q.dims[static_cast<size_t>(axis + 4 - rank)];
    if (found == wanted || found == Dim::constant(1)) continue;
    return fail::invalid("Port 'mask' has type {}; the extent of axis {} must be {} or 1.",
                         mask.to_string(), axis, dim_to_string(wanted));
  }
  return {};
}

// The checks that all operations on [B, H, T, D] share; the result's type.
// q decides: k and v have its dtype, batch and head width; v may have another width, Dv, which is
// the result's. The order of the checks is that of the ports, so that an error names the first bad
// one.
Result<TensorType> infer_heads(const InferContext& context, KvHeads kv_heads) {
  const TensorType& q = *context.inputs[0];
  const TensorType& k = *context.inputs[1];
  const TensorType& v = *context.inputs[2];
  QUERN_TRY(expect_float("q", q));
  QUERN_TRY(expect_dtype("k", k, {q.dtype}));
  QUERN_TRY(expect_dtype("v", v, {q.dtype}));
  QUERN_TRY(expect_rank("q", q, 4));
  QUERN_TRY(expect_rank("k", k, 4));
  QUERN_TRY(expect_rank("v", v, 4));
  QUERN_TRY(expect_dim("k", k, 0, q.dims[0], "the batch of 'q'"));
  QUERN_TRY(check_kv_heads(kv_heads, q, k));
  QUERN_TRY(expect_dim("k", k, 3, q.dims[3], "the last extent of 'q'"));
  for (int axis = 0; axis < 3; ++axis) {
    QUERN_TRY(expect_dim("v", v, axis, k.dims[static_cast<size_t>(axis)], "that of 'k'"));
  }
  // The mask is compared with k as it is given here: in gqa with a cache k has the joined type.
  if (context.inputs[3] != nullptr) QUERN_TRY(check_mask(*context.inputs[3], q, k));
  return TensorType{.dtype = q.dtype, .dims = {q.dims[0], q.dims[1], q.dims[2], v.dims[3]}};
}

// The rule of operations whose attributes need no check.
template <KvHeads kKvHeads>
Result<std::vector<TensorType>> infer_attention(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(TensorType out, infer_heads(context, kKvHeads));
  return std::vector<TensorType>{std::move(out)};
}

// The block size is a hint: the result does not depend on it.
Result<std::vector<TensorType>> infer_flash(const InferContext& context) {
  const int64_t block = context.attributes.integer("block_size");
  if (block < 1) return fail::invalid("Attribute 'block_size' is {}; it must be 1 or more.", block);
  return infer_attention<KvHeads::kSame>(context);
}

// A window of 0 would hide every key.
// Negative ones would too; there is no value for "unlimited" here, unlike in multi_head_attention.
Result<std::vector<TensorType>> infer_sliding_window(const InferContext& context) {
  const int64_t window = context.attributes.integer("window");
  if (window < 1) return fail::invalid("Attribute 'window' is {}; it must be 1 or more.", window);
  return infer_attention<KvHeads::kDivisor>(context);
}

// The layouts of dense [B, H, T, D] tensors.
// head_shape reads extents that the type rule has checked; the order is that of AttentionShape.
AttentionShape head_shape(const KernelContext& context) {
  const Shape& q = context.inputs[0].shape;
  const Shape& k = context.inputs[1].shape;
  const Shape& v = context.inputs[2].shape;
  return {q[0],
          q[1],
          k[1],
          q[2],
          k[2],
          q[3],
          v[3],
          strides_of(q),
          strides_of(k),
          strides_of(v),
          strides_of(context.outputs[0].shape)};
}

// The kernel of sdpa, mqa, gqa without a cache, and flash attention.
Result<void> run_heads(const KernelContext& context) {
  const AttentionRule rule{.is_causal = context.attributes.flag("causal"),
                           .scale = context.attributes.number("scale")};
  return run_attention(context, head_shape(context), rule, context.inputs[3]);
}

// Grouped queries with a cache: rows [0, start) of it stand before those of k and v.
// start_position -1 takes the whole cache. Returned is the number of cached rows that count, 0 to
// capacity.
Result<int64_t> cached_rows(const Attributes& attributes, int64_t capacity) {
  const int64_t start = attributes.integer("start_position");
  if (start == -1) return capacity;
  if (start >= 0 && start <= capacity) return start;
  return fail::invalid("Attribute 'start_position' is {}; it must be from 0 to the {} cached rows.",
                       start, capacity);
}

// Ports of attention.gqa after q, k, v, mask.
constexpr size_t kKeyCache = 4, kValueCache = 5;

// The type of keys or values with the cached rows before them.
Result<TensorType> joined_type(const InferContext& context, size_t port, size_t cache_port) {
  const TensorType& rows = *context.inputs[port];
  const TensorType& cache = *context.inputs[cache_port];
  const std::string name = port_name(context, cache_port);
  QUERN_TRY(expect_rank(name, cache, 4));
  QUERN_ASSIGN_OR_RETURN(const int64_t capacity, constant_dim(name, cache, 2));
  TensorType wanted = rows;
  // The wanted type takes all extents of the rows but the third, so that one comparison checks
  // batch, heads, width and dtype of the cache.
  if (rows.rank() == 4) wanted.dims[2] = Dim::constant(capacity);
  QUERN_TRY(expect_same_type(context, cache_port, wanted, port_name(context, port)));
  QUERN_ASSIGN_OR_RETURN(const int64_t start, cached_rows(context.attributes, capacity));
  // The joined number of keys is a sum of extents: a symbol plus a constant is none, unless the
  // constant is 0.
  const auto sum = add_dims(rows.dims[2], Dim::constant(start));
  if (!sum) {
    return fail::invalid("Port '{}' has type {}; cached rows join a constant extent only.",
                         port_name(context, port), rows.to_string());
  }
  TensorType joined = rows;
  joined.dims[2] = *sum;
  return joined;
}

// Both caches or neither; with them the keys are as many as cached and own rows together.
Result<std::vector<TensorType>> infer_gqa(const InferContext& context) {
  const bool has_cache = context.inputs[kKeyCache] != nullptr;
  if (has_cache != (context.inputs[kValueCache] != nullptr)) {
    return fail::invalid("Port '{}' is given without '{}'; they must be given together.",
                         port_name(context, has_cache ? kKeyCache : kValueCache),
                         port_name(context, has_cache ? kValueCache : kKeyCache));
  }
  if (!has_cache) {
    const int64_t start = context.attributes.integer("start_position");
    if (start != -1) {
      return fail::invalid("Attribute 'start_position' is {}; it needs the port 'k_cache'.", start);
    }
    return infer_attention<KvHeads::kDivisor>(context);
  }
  QUERN_ASSIGN_OR_RETURN(const TensorType k, joined_type(context, 1, kKeyCache));
  QUERN_ASSIGN_OR_RETURN(const TensorType v, joined_type(context, 2, kValueCache));
  // The rule of attention without a cache runs on the joined types: nothing about masks, heads or
  // widths is said twice.
  std::vector<const TensorType*> inputs(context.inputs.begin(), context.inputs.end());
  inputs[1] = &k;
  inputs[2] = &v;
  return infer_attention<KvHeads::kDivisor>(
      {inputs, context.attributes, context.states, context.op});
}

// Rows of [B, H, T, D]: the first `start` of `cache`, then those of `rows`, as dense memory.
// All extents fit: the tensors exist, and `start` is at most the cache's rows. Rows of one head lie
// together, so each head takes two copies:
//   joined:  | cache rows 0 .. start-1 | rows 0 .. T-1 |  next head ...
std::vector<std::byte> join_rows(const TensorView& cache, int64_t start, const TensorView& rows) {
  const int64_t row_bytes = rows.shape[3] * dtype_info(rows.dtype).block_bytes;
  const int64_t own = rows.shape[2] * row_bytes, cached = start * row_bytes;
  // A head of the cache is as long as its capacity, of which only `start` rows are taken.
  const int64_t stride = cache.shape[2] * row_bytes;
  std::vector<std::byte> joined(
      static_cast<size_t>(rows.shape[0] * rows.shape[1] * (own + cached)));
  auto* to = joined.data();
  for (int64_t head = 0; head < rows.shape[0] * rows.shape[1]; ++head) {
    to = std::copy_n(cache.data + head * stride, cached, to);
    to = std::copy_n(rows.data + head * own, own, to);
  }
  return joined;
}

// Joins cached and own rows in memory, then computes as without a cache.
Result<void> run_gqa(const KernelContext& context) {
  if (!context.inputs[kKeyCache].is_present()) return run_heads(context);
  std::vector<TensorView> inputs(context.inputs.begin(), context.inputs.end());
  // Keeps both joined copies alive until run_heads has returned.
  std::array<std::vector<std::byte>, 2> memory;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const TensorView& cache = context.inputs[kKeyCache + i];
    QUERN_ASSIGN_OR_RETURN(const int64_t start, cached_rows(context.attributes, cache.shape[2]));
    memory[i] = join_rows(cache, start, context.inputs[1 + i]);
    const Shape& s = context.inputs[1 + i].shape;
    inputs[1 + i].shape = Shape{s[0], s[1], s[2] + start, s[3]};
    inputs[1 + i].data = memory[i].data();
  }
  // The attributes go on unchanged; run_heads does not read start_position.
  return run_heads(
      {.inputs = inputs, .outputs = context.outputs, .attributes = context.attributes});
}

// Heads of keys or values repeated for the queries that share them.
// [B, KV, T, D] to [B, KV * group, T, D]: head 0 `group` times, then head 1, which is h / group.
ValueId repeat_heads(GraphBuilder& builder, ValueId rows, int64_t kv_heads, int64_t group) {
  if (group == 1) return rows;
  if (group == 0) {
    // No queries have no keys. An end of 0 would mean all heads.
    return builder.add("shape.slice", {rows},
                       {{"dim", int64_t{1}}, {"start", kv_heads}, {"end", kv_heads}});
  }
  std::vector<ValueId> heads;
  for (int64_t h = 0; h < kv_heads; ++h) {
    const ValueId head =
        builder.add("shape.slice", {rows}, {{"dim", int64_t{1}}, {"start", h}, {"end", h + 1}});
    heads.insert(heads.end(), static_cast<size_t>(group), head);
  }
  return builder.add("shape.concat", heads, {{"dim", int64_t{1}}});
}

// The cached rows in front of the node's own, as nodes.
// start_position -1 takes the whole cache without a slice, 0 none of it. The type rule has made
// sure that both caches come together.
ValueId join_cache(GraphBuilder& builder, const Node& node, size_t port, size_t cache_port) {
  const ValueId rows = node.inputs[port];
  if (node.inputs.size() <= cache_port || node.inputs[cache_port] == kNoValue) return rows;
  ValueId cache = node.inputs[cache_port];
  const int64_t start = node.attributes.integer("start_position");
  if (start == 0) return rows;
  if (start > 0) {
    cache = builder.add("shape.slice", {cache}, {{"dim", int64_t{2}}, {"end", start}});
  }
  return builder.add("shape.concat", {cache, rows}, {{"dim", int64_t{2}}});
}

// The keys join their cache and repeat; then attention.sdpa.
Result<std::vector<ValueId>> expand_grouped(GraphBuilder& builder, const Node& node) {
  // The type rule has made the heads constants, so that the factor of the Dim is the extent.
  const int64_t heads = builder.type(node.inputs[0])->dims[1].factor;
  const int64_t kv_heads = builder.type(node.inputs[1])->dims[1].factor;
  const ValueId k = join_cache(builder, node, 1, kKeyCache);
  const ValueId v = join_cache(builder, node, 2, kValueCache);
  // Trailing absent inputs may be left out of a node.
  const ValueId mask = node.inputs.size() > 3 ? node.inputs[3] : kNoValue;
  return std::vector<ValueId>{builder.add(
      "attention.sdpa",
      {node.inputs[0], repeat_heads(builder, k, kv_heads, heads / kv_heads),
       repeat_heads(builder, v, kv_heads, heads / kv_heads), mask},
      {{"causal", node.attributes.flag("causal")}, {"scale", node.attributes.number("scale")}})};
}

// Causal, with the window of the attribute.
Result<void> run_sliding_window(const KernelContext& context) {
  const AttentionRule rule{.is_causal = true,
                           .window = context.attributes.integer("window"),
                           .scale = context.attributes.number("scale")};
  return run_attention(context, head_shape(context), rule, context.inputs[3]);
}

}  // namespace

void register_attention_ops(OpRegistry& registry) {
  using namespace op_parts;
  // The shared paragraph of the documents; each operation adds what is its own.
  const std::string meaning =
      "out = softmax(q k^T * scale + mask) v of each head of q [B, H, Tq, D], k [B, KV, Tk, D], "
      "v [B, KV, Tk, Dv]; the mask [.., Tq, Tk] is added and broadcasts over batch and heads. A "
      "causal row i stands at key Tk - Tq + i. Masked keys are skipped, -infinity counts as "
      "masked, and a row without a visible key gives zeros. Keys fold in chunks of 64 in 512. ";
  const std::vector<PortDef> inputs = {port("q"), port("k"), port("v"), optional_port("mask")};
  const AttributeDef causal = flag("causal", false, "Hides the keys after a query.");
  const AttributeDef scale = number("scale", 0.0, "Times the dot product; 0: 1 / sqrt(D).");
  const auto make = [&](std::string id, std::string doc, std::vector<AttributeDef> attributes,
                        OpDef::Infer infer, OpDef::Kernel kernel) {
    return OpDef{.id = std::move(id),
                 .doc = meaning + doc,
                 .shape_rule =
                     "q [B, H, Tq, D], k [B, KV, Tk, D], v [B, KV, Tk, Dv] of one "
                     "float dtype, mask [Tq, Tk] with up to two leading axes of "
                     "extent 1 or those of q; out [B, H, Tq, Dv].",
                 .edge_rule =
                     "Rows without a visible key, and no keys at all, give zeros; a "
                     "NaN among the scores of a row gives NaN in it; +infinity "
                     "scores give NaN. No queries give none.",
                 // 256 ulp: a result is a quotient of sums over all keys, and each weight carries
                 // the error of a score and of exp.
                 .f32_bound = 256,
                 .inputs = inputs,
                 .outputs = {port("out")},
                 .attributes = std::move(attributes),
                 .infer = infer,
                 .reference = kernel};
  };
  registry.add(make("attention.sdpa", "KV equals H.", {causal, scale},
                    infer_attention<KvHeads::kSame>, run_heads));
  OpDef mqa =
      make("attention.mqa", "KV is 1.", {causal, scale}, infer_attention<KvHeads::kOne>, run_heads);
  // mqa and gqa expand into sdpa with repeated heads, which gives equal bits.
  mqa.expand = expand_grouped;
  registry.add(std::move(mqa));
  OpDef gqa =
      make("attention.gqa",
           "Query head h uses key head h / (H / KV). With k_cache [B, KV, P, D] and v_cache "
           "[B, KV, P, Dv] the first start_position rows of these stand before k and v, and "
           "Tk counts both.",
           {causal, scale, integer("start_position", -1, "Rows of the cache; -1: all.")}, infer_gqa,
           run_gqa);
  gqa.inputs.push_back(optional_port("k_cache"));
  gqa.inputs.push_back(optional_port("v_cache"));
  gqa.expand = expand_grouped;
  registry.add(std::move(gqa));
  registry.add(make(
      "attention.flash_attention", "KV equals H; block_size does not change the order.",
      {integer("block_size", 64, "A hint to kernels."), causal, scale}, infer_flash, run_heads));
  registry.add(
      make("attention.sliding_window",
           "Always causal; a key is visible if query - key < window. H is a multiple of KV.",
           {integer("window", 512, "Keys that a query sees, itself included."), scale},
           infer_sliding_window, run_sliding_window));
  registry.add(multi_head_attention_op());
}

}  // namespace quern
