// Rows of an embedding table by id.
#include <algorithm>
#include <vector>

#include "base/fail.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using namespace type_rules;

// Ids of any shape and a table [V, D]; the embeddings have the ids' shape and one axis more.
// vocab_size and d_model repeat extents of the weight, 0 says nothing; init_std is for training and
// not read.
Result<std::vector<TensorType>> infer_token(const InferContext& context) {
  const TensorType& ids = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  QUERN_TRY(expect_dtype("ids", ids, {DType::kI32, DType::kI64}));
  QUERN_TRY(expect_rank("weight", weight, 2));
  if (!can_dequantize(weight.dtype)) {
    return fail::invalid("Port 'weight' has type {}; its dtype cannot widen to f32.",
                         weight.to_string());
  }
  const Attributes& attributes = context.attributes;
  QUERN_TRY(expect_declared("vocab_size", attributes.integer("vocab_size"), weight.dims[0],
                            "the rows of 'weight'"));
  QUERN_TRY(expect_declared("d_model", attributes.integer("d_model"), weight.dims[1],
                            "the columns of 'weight'"));
  TensorType embeds{.dtype = weight.dtype == DType::kF64 ? DType::kF64 : DType::kF32,
                    .dims = ids.dims};
  embeds.dims.push_back(weight.dims[1]);
  return std::vector<TensorType>{std::move(embeds)};
}

// Ids may be i32 (as token ids are) or i64 (as ONNX and PyTorch write them).
// `position` is row-major over all axes of the ids.
int64_t id_at(const TensorView& ids, int64_t position) {
  return ids.dtype == DType::kI64 ? ids.as<const int64_t>()[position]
                                  : int64_t{ids.as<const int32_t>()[position]};
}

// Copies or dequantises one row for each id. A bad id ends the run: reading past the table would
// be a memory error, and clamping would hide a wrong tokenizer.
Result<void> run_token(const KernelContext& context) {
  const TensorView& ids = context.inputs[0];
  const TensorView& weight = context.inputs[1];
  const TensorView& embeds = context.outputs[0];
  const int64_t rows = weight.shape[0], d = weight.shape[1];
  const DTypeInfo& info = dtype_info(weight.dtype);
  // Rows of a table are whole blocks, so a row has an address.
  const int64_t row_bytes = d / info.block_size * info.block_bytes;
  for (int64_t t = 0; t < ids.shape.num_elements(); ++t) {
    // An i64 holds either kind of id, so one comparison serves both.
    const int64_t id = id_at(ids, t);
    if (id < 0 || id >= rows) {
      return fail::out_of_range("The id {} at position {} is outside the table of {} rows.", id, t,
                                rows);
    }
    const std::byte* row = weight.data + id * row_bytes;
    // f64 rows are copied byte by byte: dequantising would go through f32.
    if (weight.dtype == DType::kF64) {
      std::copy_n(row, row_bytes, embeds.data + t * row_bytes);
    } else {
      dequantize_row(weight.dtype, row, embeds.as<float>() + t * d, d);
    }
  }
  return {};
}

}  // namespace

void register_embedding_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add(
      {.id = "embedding.token",
       .doc = "embeds[..., :] = weight[id, :] widened or dequantised to f32 (f64 stays f64). An id "
              "below 0 or past the last row is an error that names id, position and limit.",
       .shape_rule = "ids i32 or i64 of any shape; weight [V, D] of any dtype that "
                     "widens; embeds [..., D], f64 for f64 weights, else f32.",
       .edge_rule = "NaN and infinities are copied. No ids give none.",
       .f32_bound = 0,
       .inputs = {port("ids"), port("weight")},
       .outputs = {port("embeds")},
       .attributes = {integer("vocab_size", 0, "Rows of the weight; 0: as it has."),
                      integer("d_model", 0, "Columns of the weight; 0: as it has."),
                      number("init_std", 0.02, "Spread of a fresh weight; training only.")},
       .infer = infer_token,
       .reference = run_token});
}

}  // namespace quern
