// Sums of embedding rows over bags of ids.
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/index_access.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using namespace type_rules;

// The first two ports are lists of integers, the weight is a table of any dtype that widens.
// ids [n], offsets [B], weight [V, D] to [B, D]. Narrow weights give f32: the sum is one, and
// rounding it back is the next operation's decision.
Result<std::vector<TensorType>> infer_bag(const InferContext& context) {
  const TensorType& weight = *context.inputs[2];
  for (const size_t port : {size_t{0}, size_t{1}}) {
    QUERN_TRY(
        expect_dtype(port_name(context, port), *context.inputs[port], {DType::kI64, DType::kI32}));
    QUERN_TRY(expect_rank(port_name(context, port), *context.inputs[port], 1));
  }
  QUERN_TRY(expect_rank("weight", weight, 2));
  if (!can_dequantize(weight.dtype)) {
    return fail::invalid("Port 'weight' has type {}; its dtype cannot widen to f32.",
                         weight.to_string());
  }
  const DType dtype = weight.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return std::vector<TensorType>{{dtype, {context.inputs[1]->dims[0], weight.dims[1]}}};
}

// One row of the table in the type of the sum: f64 tables as they are ...
void load_weight_row(const TensorView& weight, int64_t id, std::vector<double>& row) {
  load_row(weight, id * weight.shape[1], weight.shape[1], row.data());
}
// ... and all others dequantised to f32, whole blocks at a time.
// weight.shape[1] is a whole number of blocks, which Tensor guarantees for block dtypes.
void load_weight_row(const TensorView& weight, int64_t id, std::vector<float>& row) {
  const DTypeInfo& info = dtype_info(weight.dtype);
  const int64_t row_bytes = weight.shape[1] / info.block_size * info.block_bytes;
  dequantize_row(weight.dtype, weight.data + id * row_bytes, row.data(), weight.shape[1]);
}

// Bags [offsets[b], offsets[b + 1]) of ids; the last ends with the ids.
// The first offset must be 0: ids before it would belong to no bag. Each later one lies between its
// predecessor and the end, so that bags are in order and may be empty.
Result<void> check_offsets(const std::vector<int64_t>& offsets, int64_t num_ids) {
  for (size_t b = 0; b < offsets.size(); ++b) {
    const int64_t lowest = b == 0 ? 0 : offsets[b - 1];
    const int64_t highest = b == 0 ? 0 : num_ids;
    if (offsets[b] >= lowest && offsets[b] <= highest) continue;
    return fail::invalid("Element {} of 'offsets' is {}; it must be from {} to {}.", b, offsets[b],
                         lowest, highest);
  }
  return {};
}

// Sums from +0 in the order of the ids: each element's sum is a plain chain of additions, the
// same for every backend.
template <class T>
Result<void> sum_bags(const KernelContext& context) {
  const TensorView& weight = context.inputs[2];
  const std::vector<int64_t> ids = load_indices(context.inputs[0]);
  std::vector<int64_t> offsets = load_indices(context.inputs[1]);
  QUERN_TRY(check_offsets(offsets, static_cast<int64_t>(ids.size())));
  // An end for the last bag.
  offsets.push_back(static_cast<int64_t>(ids.size()));
  std::vector<T> row(static_cast<size_t>(weight.shape[1]));
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    T* sum = context.outputs[0].as<T>() + b * row.size();
    std::fill_n(sum, row.size(), T(0));
    for (int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      const int64_t id = ids[static_cast<size_t>(i)];
      // Checked where it is used: an id in no bag does not exist, since the bags cover all ids.
      if (id < 0 || id >= weight.shape[0]) {
        return fail::out_of_range("The id {} at position {} is outside the table of {} rows.", id,
                                  i, weight.shape[0]);
      }
      load_weight_row(weight, id, row);
      for (size_t d = 0; d < row.size(); ++d) sum[d] = sum[d] + row[d];
    }
  }
  return {};
}

// f64 tables are summed in f64, all others in f32.
Result<void> run_bag(const KernelContext& context) {
  return with_compute_type(context.outputs[0].dtype,
                           [&]<class T>(T) { return sum_bags<T>(context); });
}

}  // namespace

void register_embedding_bag_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add({.id = "embedding.bag",
                .doc = "Row b of y is the sum, from +0 in order, of the weight's rows of ids "
                       "[offsets[b], offsets[b + 1]); an empty bag gives zeros. Offsets start at 0 "
                       "and do not fall; bad offsets and ids are errors.",
                .shape_rule = "ids, offsets i32 or i64 [n], [B]; weight [V, D] of any dtype "
                              "that widens; y [B, D], f64 for f64 weights, else f32.",
                .edge_rule = "NaN and infinities add as IEEE says. No bags give none. Ids "
                             "outside the table and offsets that fall or pass the ids are "
                             "errors.",
                .f32_bound = 8,
                .inputs = {port("ids"), port("offsets"), port("weight")},
                .outputs = {port("y")},
                .infer = infer_bag,
                .reference = run_bag});
}

}  // namespace quern
