// Choice between two tensors, row by row.
#include <cstring>

#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Two tensors of one type and one i32 for each of their rows.
Result<std::vector<TensorType>> infer_select_rows(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_rank_at_least("x", x, 1));
  QUERN_TRY(expect_whole_elements("x", x));
  QUERN_TRY(expect_same_type(context, 1, x, "x"));
  QUERN_TRY(expect_dtype("chooses_y", *context.inputs[2], {DType::kI32}));
  QUERN_TRY(expect_rank("chooses_y", *context.inputs[2], 1));
  QUERN_TRY(expect_dim("chooses_y", *context.inputs[2], 0, x.dims[0], "the rows of 'x'"));
  return std::vector<TensorType>{x};
}

// Copies whole rows; no element is looked at.
Result<void> run_select_rows(const KernelContext& context) {
  const TensorView& z = context.outputs[0];
  const int64_t rows = z.shape[0];
  // Rows are divided by below, and tensors without elements may have null pointers.
  if (z.shape.num_elements() == 0) return {};
  // All that follows the first axis is one run of bytes.
  const int64_t row_bytes = z.shape.num_elements() / rows * dtype_info(z.dtype).block_bytes;
  for (int64_t row = 0; row < rows; ++row) {
    // Any number but 0 takes y; the choice is read row by row, elements never.
    const bool takes_y = context.inputs[2].as<const int32_t>()[row] != 0;
    std::memcpy(z.data + row * row_bytes, context.inputs[takes_y ? 1 : 0].data + row * row_bytes,
                static_cast<size_t>(row_bytes));
  }
  return {};
}

}  // namespace

void register_select_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "shape.select_rows",
                .doc = "Row i along the first axis is y's where chooses_y[i] is not 0, else x's.",
                .shape_rule = "x, y, z of one type of whole bytes, rank 1 or more; chooses_y "
                              "i32 [rows].",
                .edge_rule = "Every value is copied, NaN too. No rows give none.",
                .f32_bound = 0,
                .inputs = {port("x"), port("y"), port("chooses_y")},
                .outputs = {port("z")},
                .infer = infer_select_rows,
                .reference = run_select_rows});
}

}  // namespace quern
