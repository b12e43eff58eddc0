// The linear projection: floats or quantised activations times a weight of any format.
#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "base/fail.h"
#include "ops/blocked_columns.h"
#include "ops/float_rows.h"
#include "ops/integer_dot.h"
#include "ops/linear_kernel.h"
#include "ops/op_parts.h"
#include "ops/quant_dynamic.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"
#include "tensor/block_format.h"

namespace quern {
namespace {

using namespace type_rules;

// Weight rows that are decoded and multiplied together.
// A tile [K, 16] of decoded weights is 16 KiB for K = 256 in f32; 16 columns side by side
// vectorise.
constexpr int kRowsAtOnce = 16;

// Integers that quant.dynamic made; every other x is a float.
bool is_quantized_activation(const TensorType& x) {
  return x.dtype == DType::kI8 || x.dtype == DType::kI16;
}

// The weight [N, K] must fit x and the attributes; rows of a block format are whole blocks,
// since no block may reach into the next row.
Result<void> check_weight(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  QUERN_TRY(expect_rank_at_least("x", x, 1));
  QUERN_TRY(expect_rank("weight", weight, 2));
  QUERN_TRY(expect_dim("weight", weight, 1, x.dims.back(), "the last axis of 'x'"));
  // The attributes may repeat the extents; 0 says nothing.
  QUERN_TRY(expect_declared("in_features", context.attributes.integer("in_features"),
                            weight.dims[1], "the columns of 'weight'"));
  QUERN_TRY(expect_declared("out_features", context.attributes.integer("out_features"),
                            weight.dims[0], "the rows of 'weight'"));
  const BlockFormat* format = find_block_format(weight.dtype);
  if (format == nullptr) return expect_float("weight", weight);
  // Symbols may be in x's leading axes only: K decides on blocks.
  QUERN_ASSIGN_OR_RETURN(const int64_t k, constant_dim("weight", weight, 1));
  if (k % format->block_size == 0) return {};
  return fail::invalid("Port 'weight' has type {}; its rows must be whole blocks of {}.",
                       weight.to_string(), format->block_size);
}

// x of i8 or i16 needs a block-quantised weight and the scales of its activation blocks.
// The scales have x's shape with the last extent in activation blocks: ceil(K / 32) or ceil(K /
// 256).
Result<void> check_scale(const TensorType& x, const TensorType& weight, const TensorType* scale) {
  const BlockFormat* format = find_block_format(weight.dtype);
  if (format == nullptr) {
    return fail::invalid(
        "Port 'weight' has type {}; activations of type {} need a "
        "block-quantised weight.",
        weight.to_string(), x.to_string());
  }
  if (scale == nullptr) {
    return fail::invalid("Port 'x' has type {}, so port 'scale' must be given.", x.to_string());
  }
  QUERN_TRY(expect_dtype("scale", *scale, {DType::kF32}));
  QUERN_ASSIGN_OR_RETURN(const int64_t k, constant_dim("x", x, x.rank() - 1));
  const TensorType wanted =
      with_last_dim(x, DType::kF32, Dim::constant(ceil_divide(k, format->activation_block)));
  if (*scale == wanted) return {};
  return fail::invalid("Port 'scale' has type {}; with blocks of {} it must be {}.",
                       scale->to_string(), format->activation_block, wanted.to_string());
}

// Float activations take weights of any format that widens to their compute type. Block formats
// decode to f32, which would waste an f64 activation without notice.
Result<void> check_float_activation(const TensorType& x, const TensorType& weight,
                                    const TensorType* scale) {
  QUERN_TRY(expect_float("x", x));
  if (scale != nullptr) {
    return fail::invalid("Port 'scale' belongs to i8 or i16 activations; 'x' has type {}.",
                         x.to_string());
  }
  if (x.dtype == DType::kF64 && is_quantized(weight.dtype)) {
    return fail::invalid("Port 'x' has type {}; a weight of type {} takes f32 and narrower.",
                         x.to_string(), weight.to_string());
  }
  return expect_no_wider("weight", &weight, x);
}

// Results are f32, whatever narrow float x has: the sum is one, and rounding it is the next
// operation's decision.
Result<std::vector<TensorType>> infer_projection(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const TensorType& weight = *context.inputs[1];
  QUERN_TRY(check_weight(context));
  if (is_quantized_activation(x)) {
    QUERN_TRY(check_scale(x, weight, context.inputs[3]));
  } else {
    QUERN_TRY(check_float_activation(x, weight, context.inputs[3]));
  }
  // i8 and i16 activations give f32 too.
  const DType result = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  TensorType y = with_last_dim(x, result, weight.dims[0]);
  QUERN_TRY(expect_vector("bias", context.inputs[2], weight.dims[0], "the rows of 'weight'"));
  QUERN_TRY(expect_no_wider("bias", context.inputs[2], y));
  return std::vector<TensorType>{std::move(y)};
}

// The extents of a call, and its finish: product, * weight_scale, + bias, each rounded.
// y is written directly: it is T by the type rule.
template <class T>
struct Projection {
  const TensorView& weight;
  int64_t rows;  // of x
  int64_t k;
  int64_t n;  // rows of the weight
  std::vector<T> bias;
  double weight_scale;
  T* y;

  explicit Projection(const KernelContext& context)
      : weight(context.inputs[1]),
        rows(context.inputs[0].shape.num_rows()),
        k(context.inputs[0].shape.last()),
        n(weight.shape[0]),
        bias(load_all<T>(context.inputs[2])),
        weight_scale(context.attributes.number("weight_scale")),
        y(context.outputs[0].as<T>()) {}

  // The first byte of row j; k is a whole number of blocks.
  const std::byte* weight_row(int64_t j) const {
    const DTypeInfo& info = dtype_info(weight.dtype);
    return weight.data + j * (k / info.block_size) * info.block_bytes;
  }

  // Writes one element: the steps in the order that docs/numerics fixes, each left out when it
  // would change nothing.
  void finish(int64_t row, int64_t j, T product) const {
    if (weight_scale != 1.0) product = product * static_cast<T>(weight_scale);
    if (!bias.empty()) product = product + bias[static_cast<size_t>(j)];
    y[row * n + j] = product;
  }
};

// Weight row j widened to T.
// Plain narrow types widen exactly; block formats decode by their definition.
void load_weight_row(const Projection<float>& p, int64_t j, float* out) {
  dequantize_row(p.weight.dtype, p.weight_row(j), out, p.k);
}
void load_weight_row(const Projection<double>& p, int64_t j, double* out) {
  load_row(p.weight, j * p.k, p.k, out);
}

// Rows j .. j + count of the weight as columns of `tile` [K, kRowsAtOnce]; the rest are zeros.
// Transposed, so that blocked_dot_columns reads 16 consecutive elements for each k. The rest are
// zeros where the weight has no more rows; their products are not stored.
template <class T>
void load_weight_tile(const Projection<T>& p, int64_t j, int64_t count, std::vector<T>& row,
                      std::vector<T>& tile) {
  std::ranges::fill(tile, T(0));
  for (int64_t r = 0; r < count; ++r) {
    load_weight_row(p, j + r, row.data());
    T* column = tile.data() + r;
    for (int64_t i = 0; i < p.k; ++i) column[i * kRowsAtOnce] = row[static_cast<size_t>(i)];
  }
}

// Decodes kRowsAtOnce rows of the weight, then multiplies every row of x with them, so that each
// weight row is decoded once per call.
template <class T>
void linear_floats(const KernelContext& context) {
  const Projection<T> p(context);
  const std::vector<T> x = load_all<T>(context.inputs[0]);
  std::vector<T> row(static_cast<size_t>(p.k));
  std::vector<T> tile(static_cast<size_t>(p.k * kRowsAtOnce));
  for (int64_t j = 0; j < p.n; j += kRowsAtOnce) {
    const int64_t count = std::min<int64_t>(kRowsAtOnce, p.n - j);
    load_weight_tile(p, j, count, row, tile);
    for (int64_t t = 0; t < p.rows; ++t) {
      T products[kRowsAtOnce];
      blocked_dot_columns<kRowsAtOnce>(p.k, x.data() + t * p.k, tile.data(), kRowsAtOnce, products);
      for (int64_t r = 0; r < count; ++r) p.finish(t, j + r, products[r]);
    }
  }
}

// Every row of x as byte planes with its scales.
// Borrows the scales of each row; planes are copies.
template <class Int>
std::vector<ActivationRow> split_rows(const TensorView& x, const TensorView& scale) {
  const auto k = static_cast<size_t>(x.shape.last());
  const auto blocks = static_cast<size_t>(scale.shape.last());
  std::vector<ActivationRow> rows(static_cast<size_t>(x.shape.num_rows()));
  for (size_t t = 0; t < rows.size(); ++t) {
    // 8 * sizeof(Int) is the width that quant.dynamic was asked for.
    rows[t].assign(std::span<const Int>(x.as<const Int>() + t * k, k),
                   dynamic_limit(8 * static_cast<int64_t>(sizeof(Int))),
                   {scale.as<const float>() + t * blocks, blocks});
  }
  return rows;
}

// Exact integer products of blocks, folded in f32. A weight row is decoded once and used for all
// rows of x.
void linear_integers(const KernelContext& context) {
  const Projection<float> p(context);
  const TensorView& x = context.inputs[0];
  const TensorView& scale = context.inputs[3];
  const auto rows =
      x.dtype == DType::kI8 ? split_rows<int8_t>(x, scale) : split_rows<int16_t>(x, scale);
  DecodedRow weight(*find_block_format(p.weight.dtype));
  for (int64_t j = 0; j < p.n; ++j) {
    weight.decode(p.weight_row(j), p.k);
    for (size_t t = 0; t < rows.size(); ++t) {
      p.finish(static_cast<int64_t>(t), j, integer_dot(weight, rows[t]));
    }
  }
}

}  // namespace

// Shared with the operations that project in pieces: experts.linear, fused queries, keys and
// values.
Result<std::vector<TensorType>> infer_linear(const InferContext& context) {
  return infer_projection(context);
}

// The dtype of x decides between integer and float products.
Result<void> run_linear(const KernelContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (!is_float(dtype)) {
    linear_integers(context);
  } else if (dtype == DType::kF64) {
    linear_floats<double>(context);
  } else {
    linear_floats<float>(context);
  }
  return {};
}

void register_linear_ops(OpRegistry& registry) {
  using namespace op_parts;
  registry.add(
      {.id = "projection.linear",
       .doc = "y = x weight^T, then * weight_scale unless that is 1, then + bias, each rounded. "
              "Float x [..., K]: weight [N, K] of any format widens to f32 (f64 for f64 x) and "
              "products fold blocked(256). Integer x is the output of quant.dynamic with the "
              "weight's activation block (256 for blocks of 256, else 32) and needs `scale`; "
              "integer products are exact and the terms of the weight's format fold "
              "blocked(256). y is f64 for f64 x, else f32.",
       .shape_rule = "x [..., K] floats, or i8, i16 with scale f32 [..., blocks]; "
                     "weight [N, K] of any dtype that widens (floats no wider than "
                     "x for f64); bias [N]; y [..., N], f64 for f64 x, else f32.",
       .edge_rule = "NaN and infinities spread to their row; a block of integers "
                    "with scale NaN gives NaN. K = 0 gives the bias. No rows give "
                    "none.",
       .f32_bound = 32,
       .inputs = {port("x"), port("weight"), optional_port("bias"), optional_port("scale")},
       .outputs = {port("y")},
       .attributes = {integer("in_features", 0, "K; 0: that of the weight."),
                      integer("out_features", 0, "N; 0: that of the weight."),
                      number("weight_scale", 1.0, "Scale of the whole weight (nvfp4).")},
       .infer = infer_linear,
       .reference = run_linear});
}

}  // namespace quern
