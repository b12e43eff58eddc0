// attention.multi_head_attention: attention over rows that hold their heads side by side.
#include "ops/row_attention.h"

#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ops/head_attention.h"
#include "ops/op_parts.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

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

OpDef multi_head_attention_op() {
  using namespace op_parts;
  return {.id = "attention.multi_head_attention",
          .doc =
              "attention.gqa of rows that hold their heads side by side: q [T, H * D], "
              "k and v [T, KV * D]. window_size > 0 implies causal. alibi_slope times "
              "(key - query) is added to every score.",
          .shape_rule =
              "q [T, H * D], k, v [Tk, KV * D] of one float dtype; out has "
              "q's type.",
          .edge_rule =
              "Rows without a visible key, and no keys at all, give zeros; a "
              "NaN among the scores of a row gives NaN in it; +infinity "
              "scores give NaN. No queries give none.",
          .f32_bound = 256,
          .inputs = {port("q"), port("k"), port("v")},
          .outputs = {port("out")},
          .attributes = {integer("num_heads", kRequired, "H, the query heads."),
                         integer("head_dim", kRequired, "D, their width."),
                         flag("causal", false, "Hides the keys after a query."),
                         integer("window_size", 0, "Visible keys; 0: all."),
                         number("alibi_slope", 0.0, "One slope for all heads; 0: none."),
                         integer("kv_head_count", 0, "KV; 0: H.")},
          .infer = infer_multi_head,
          .reference = run_multi_head};
}

}  // namespace quern
