// Attention over keys and values given as tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ir/tensor_type.h"
#include "ops/attention_core.h"
#include "ops/blocked.h"
#include "ops/dim_math.h"
#include "ops/float_rows.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "quern/graph_builder.h"

namespace quern {

// The factor of the scores; 0 stands for 1 / sqrt(head_dim), computed in f64 and rounded once.
// std::sqrt of f64 is correctly rounded by IEEE 754, so it gives equal bits everywhere, unlike the
// other functions of <cmath>.
template <class T>
T attention_scale(double scale, int64_t head_dim) {
  return static_cast<T>(scale == 0.0 ? 1.0 / std::sqrt(static_cast<double>(head_dim)) : scale);
}
template float attention_scale(double, int64_t);
template double attention_scale(double, int64_t);

namespace {

using namespace type_rules;

// Where the rows of a head lie: element (b, h, t, d) is at b * batch + h * head + t * row + d.
// In elements. One struct serves both layouts:
//   [B, H, T, D]   batch H * T * D, head T * D, row D          (sdpa, mqa, gqa, flash, window)
//   [T, H * D]     batch 0,         head D,     row H * D      (multi_head_attention)
struct HeadStrides {
  int64_t batch;
  int64_t head;
  int64_t row;

  int64_t at(int64_t b, int64_t h, int64_t t) const { return b * batch + h * head + t * row; }
};

// [B, H, T, D] in row-major order.
HeadStrides strides_of(const Shape& s) {
  return {s[1] * s[2] * s[3], s[2] * s[3], s[3]};
}

// Extents and layouts of one call; keys and values may have fewer heads than the queries.
// H = heads is a multiple of kv_heads; query head h reads key head h / (heads / kv_heads).
struct AttentionShape {
  int64_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
  HeadStrides q, k, v, out;
};

// What decides which keys a query sees and how scores are formed.
struct AttentionRule {
  bool is_causal = false;
  int64_t window = 0;  // 0: none
  double scale = 0.0;  // 0: 1 / sqrt(head_dim)
  double slope = 0.0;  // times (key - query), added to the score

  // Query row i of n stands at key keys - n + i.
  // The keys end where the queries end: with more keys than queries the first ones are a past that
  // all rows see; with fewer, the first rows stand before key 0 and see nothing.
  KeyRange visible(int64_t query, int64_t keys) const {
    if (!is_causal) return {0, keys};
    // query may be negative; both ends clamp at 0 so that the range is empty and not reversed.
    const int64_t last = std::max<int64_t>(0, query + 1);
    return {window == 0 ? 0 : std::max<int64_t>(0, last - window), last};
  }
};

// An additive mask [..., Tq, Tk] whose leading axes broadcast over batch and heads.
// Strides of 0 repeat a plane. `batch_` and `head_` count elements:
//   rank 2 [Tq, Tk]           head_ 0,      batch_ 0
//   rank 3 [H or 1, Tq, Tk]   head_ Tq*Tk,  batch_ 0           (0 for an extent of 1)
//   rank 4 [B or 1, H or 1, Tq, Tk]         batch_ (H or 1) * Tq * Tk
template <class T>
class Mask {
 public:
  explicit Mask(const TensorView& view) : values_(load_all<T>(view)) {
    // Absent, or present without elements: then no row is ever read.
    if (values_.empty()) return;
    const int rank = view.shape.rank();
    keys_ = view.shape[rank - 1];
    const int64_t plane = keys_ * view.shape[rank - 2];
    const int64_t heads = rank > 2 ? view.shape[rank - 3] : 1;
    if (heads > 1) head_ = plane;
    if (rank > 3 && view.shape[0] > 1) batch_ = plane * heads;
  }
  // The row of one query, or null without a mask.
  const T* row(int64_t b, int64_t h, int64_t query) const {
    return values_.empty() ? nullptr : values_.data() + b * batch_ + h * head_ + query * keys_;
  }

 private:
  std::vector<T> values_;
  int64_t keys_ = 0, head_ = 0, batch_ = 0;
};

// Every query row on its own: scores, then the online softmax of `attend`, whose chunks fix the
// order of the sums for all backends.
template <class T>
void attention(const KernelContext& context, const AttentionShape& shape, const AttentionRule& rule,
               const TensorView& mask_view) {
  // Everything is widened at once: a reference may use memory, and reads every row many times.
  const std::vector<T> q = load_all<T>(context.inputs[0]);
  const std::vector<T> k = load_all<T>(context.inputs[1]);
  const std::vector<T> v = load_all<T>(context.inputs[2]);
  const Mask<T> mask(mask_view);
  const T scale = attention_scale<T>(rule.scale, shape.head_dim);
  const T slope = static_cast<T>(rule.slope);
  std::vector<T> out(static_cast<size_t>(shape.value_dim));
  // The group size; kv_heads divides heads by the type rule.
  const int64_t group = shape.heads / shape.kv_heads;
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      for (int64_t i = 0; i < shape.queries; ++i) {
        const int64_t query = shape.keys - shape.queries + i;
        const T* q_row = q.data() + shape.q.at(b, h, i);
        const T* mask_row = mask.row(b, h, i);
        // The steps of numerics, each rounded: dot, * scale, + slope * distance, + mask. There is
        // no soft cap here (0). A slope of 0 leaves its step out, since s + 0 would turn -0 into
        // +0.
        const auto score = [&](int64_t key) {
          const T* k_row = k.data() + shape.k.at(b, h / group, key);
          T s = blocked_sum<T>(shape.head_dim, [&](int64_t d) { return q_row[d] * k_row[d]; });
          s = finish_score(s, scale, T(0));
          // key - query is negative for the past: a positive slope lowers old keys.
          if (slope != T(0)) s = s + slope * static_cast<T>(key - query);
          return mask_row == nullptr ? s : s + mask_row[key];
        };
        const auto value = [&](int64_t key) { return v.data() + shape.v.at(b, h / group, key); };
        attend<T>(rule.visible(query, shape.keys), nullptr, score, value, out);
        // One rounding to a narrow dtype, after the division by l.
        store_row(context.outputs[0], shape.out.at(b, h, i), shape.value_dim, out.data());
      }
    }
  }
}

// Narrow floats compute in f32. Without output elements there is nothing to do, and extents of 0
// would divide.
Result<void> run_attention(const KernelContext& context, const AttentionShape& shape,
                           const AttentionRule& rule, const TensorView& mask) {
  if (context.outputs[0].shape.num_elements() == 0) return {};
  with_compute_type(context.inputs[0].dtype,
                    [&]<class T>(T) { attention<T>(context, shape, rule, mask); });
  return {};
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

// Extents that the attributes of multi_head_attention give to rows of heads side by side.
struct RowHeads {
  // H, KV and D of rows [T, H * D].
  int64_t heads, kv_heads, head_dim;
};

// The checked head attributes; kv_head_count 0 stands for num_heads.
Result<RowHeads> row_heads(const Attributes& attributes) {
  const RowHeads rows{attributes.integer("num_heads"),
                      attributes.integer("kv_head_count") == 0
                          ? attributes.integer("num_heads")
                          : attributes.integer("kv_head_count"),
                      attributes.integer("head_dim")};
  // The limit of 65,536 keeps heads * head_dim far from overflow; kv_heads needs none, since it
  // divides heads.
  const bool is_sane = rows.heads >= 1 && rows.kv_heads >= 1 && rows.head_dim >= 1 &&
                       rows.heads <= 65536 && rows.head_dim <= 65536;
  if (is_sane && rows.heads % rows.kv_heads == 0) return rows;
  return fail::invalid(
      "Attributes num_heads = {}, kv_head_count = {}, head_dim = {} must be "
      "1 to 65536, and the heads a multiple of the key heads.",
      rows.heads, rows.kv_heads, rows.head_dim);
}

// Rows of heads side by side; the result is laid out as q.
// Queries and keys may differ in number (T and Tk); only k and v must agree.
Result<std::vector<TensorType>> infer_multi_head(const InferContext& context) {
  QUERN_ASSIGN_OR_RETURN(const RowHeads rows, row_heads(context.attributes));
  const int64_t window = context.attributes.integer("window_size");
  if (window < 0) return fail::invalid("Attribute 'window_size' is {}; it is negative.", window);
  constexpr std::string_view kPorts[] = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    const TensorType& type = *context.inputs[i];
    const int64_t heads = i == 0 ? rows.heads : rows.kv_heads;
    QUERN_TRY(expect_float(kPorts[i], type));
    QUERN_TRY(expect_dtype(kPorts[i], type, {context.inputs[0]->dtype}));
    QUERN_TRY(expect_rank(kPorts[i], type, 2));
    QUERN_TRY(expect_dim(kPorts[i], type, 1, Dim::constant(heads * rows.head_dim),
                         "heads times head_dim"));
  }
  QUERN_TRY(expect_dim("v", *context.inputs[2], 0, context.inputs[1]->dims[0], "that of 'k'"));
  return std::vector<TensorType>{*context.inputs[0]};
}

// The heads lie apart by head_dim and the rows by all heads; no copy is needed to find them.
// There is no batch axis, hence batch 1 with stride 0.
Result<void> run_multi_head(const KernelContext& context) {
  QUERN_ASSIGN_OR_RETURN(const RowHeads rows, row_heads(context.attributes));
  const int64_t d = rows.head_dim;
  const HeadStrides q{0, d, rows.heads * d};
  const HeadStrides kv{0, d, rows.kv_heads * d};
  const AttentionShape shape{1,
                             rows.heads,
                             rows.kv_heads,
                             context.inputs[0].shape[0],
                             context.inputs[1].shape[0],
                             d,
                             d,
                             q,
                             kv,
                             kv,
                             q};
  const int64_t window = context.attributes.integer("window_size");
  // A window counts back from the query's own key, so it has no meaning without the causal rule.
  const AttentionRule rule{.is_causal = context.attributes.flag("causal") || window > 0,
                           .window = window,
                           .slope = context.attributes.number("alibi_slope")};
  // TensorView{} is the absent mask.
  return run_attention(context, shape, rule, TensorView{});
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
  registry.add({.id = "attention.multi_head_attention",
                .doc = "attention.gqa of rows that hold their heads side by side: q [T, H * D], "
                       "k and v [T, KV * D]. window_size > 0 implies causal. alibi_slope times "
                       "(key - query) is added to every score.",
                .shape_rule = "q [T, H * D], k, v [Tk, KV * D] of one float dtype; out has "
                              "q's type.",
                .edge_rule = "Rows without a visible key, and no keys at all, give zeros; a "
                             "NaN among the scores of a row gives NaN in it; +infinity "
                             "scores give NaN. No queries give none.",
                .f32_bound = 256,
                .inputs = {port("q"), port("k"), port("v")},
                .outputs = {port("out")},
                .attributes = {integer("num_heads", kRequired, "H, the query heads."),
                               integer("head_dim", kRequired, "D, their width."), causal,
                               integer("window_size", 0, "Visible keys; 0: all."),
                               number("alibi_slope", 0.0, "One slope for all heads; 0: none."),
                               integer("kv_head_count", 0, "KV; 0: H.")},
                .infer = infer_multi_head,
                .reference = run_multi_head});
}

}  // namespace quern
