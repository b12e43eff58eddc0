// Normalisations: RMS, layer, group, instance and batch (with stored statistics).
#include <cmath>
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/lanes.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Optional vectors over the last axis or the channels; an empty one leaves its step out.
template <class T>
struct Affine {
  std::vector<T> weight;
  std::vector<T> bias;

  // x * weight + bias, two roundings, for the element or channel i.
  T apply(T x, int64_t i) const {
    const auto k = static_cast<size_t>(i);
    if (!weight.empty()) x = x * weight[k];
    return bias.empty() ? x : x + bias[k];
  }
};

// What a normalised row needs to know of itself.
template <class T>
struct Moments {
  T mean;
  T inv;  // 1 / sqrt(variance + eps)
};

// Two passes: the variance from the differences to the mean, never from E[x^2] - mean^2, which
// cancels.
template <class T>
Moments<T> moments_of(const T* x, int64_t n, T eps) {
  // Both means are lanes(32) sums divided by n as a T; n = 0 gives NaN, which nobody reads.
  const T mean = lanes_mean<T>(n, [&](int64_t i) { return x[i]; });
  const T variance = lanes_mean<T>(n, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  return {mean, T(1) / std::sqrt(variance + eps)};
}

// x [..., K], weight and bias [K].
// inv = 1 / sqrt(mean(x^2) + eps), the squares rounded before a lanes(32) sum; y = (x * inv) * w.
template <class T>
void rms_norm(const TensorView& x, const TensorView& y, const Affine<T>& affine, T eps) {
  const int64_t n = x.shape.last();
  std::vector<T> row(static_cast<size_t>(n));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    load_row(x, r * n, n, row.data());
    const T mean = lanes_mean<T>(n, [&](int64_t i) {
      const T v = row[static_cast<size_t>(i)];
      return v * v;
    });
    const T inv = T(1) / std::sqrt(mean + eps);
    for (int64_t i = 0; i < n; ++i) {
      T& v = row[static_cast<size_t>(i)];
      // Not x * (inv * w): another order has other bits.
      v = affine.apply(v * inv, i);
    }
    store_row(y, r * n, n, row.data());
  }
}

// Rows of n elements that share mean and variance. Element i of row r belongs to channel
// (r * n + i) / channel_size mod channels, which picks its weight and bias.
struct NormRows {
  int64_t rows;
  int64_t n;
  int64_t channels;
  int64_t channel_size;
};

// Normalises every row by its own moments; `rows` says what a row and a channel is.
// y = ((x - mean) * inv) * w + b.
template <class T>
void moment_norm(const TensorView& x, const TensorView& y, const NormRows& rows,
                 const Affine<T>& affine, T eps) {
  std::vector<T> row(static_cast<size_t>(rows.n));
  for (int64_t r = 0; r < rows.rows; ++r) {
    load_row(x, r * rows.n, rows.n, row.data());
    const Moments<T> moments = moments_of(row.data(), rows.n, eps);
    for (int64_t i = 0; i < rows.n; ++i) {
      const int64_t channel = (r * rows.n + i) / rows.channel_size % rows.channels;
      T& v = row[static_cast<size_t>(i)];
      v = affine.apply((v - moments.mean) * moments.inv, channel);
    }
    store_row(y, r * rows.n, rows.n, row.data());
  }
}

// The vectors have the extent of the last axis and are no wider than x.
Result<std::vector<TensorType>> infer_last_axis_norm(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank_at_least("x", x, 1));
  // Names of the ports for errors, in their order.
  constexpr std::string_view kPorts[] = {"x", "weight", "bias"};
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    QUERN_TRY(expect_vector(kPorts[i], context.inputs[i], x.dims.back(), "the last axis of 'x'"));
    QUERN_TRY(expect_no_wider(kPorts[i], context.inputs[i], x));
  }
  return std::vector<TensorType>{x};
}

// Root mean square norm (Zhang and Sennrich 2019, arXiv 1910.07467); no mean is subtracted.
Result<void> run_rmsnorm(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  return with_compute_type(x.dtype, [&]<class T>(T) -> Result<void> {
    const Affine<T> affine{load_all<T>(context.inputs[1]), {}};
    rms_norm(x, context.outputs[0], affine, static_cast<T>(context.attributes.number("eps")));
    return {};
  });
}

// Weight and bias from two neighbouring ports; an absent one is empty.
template <class T>
Affine<T> load_affine(const KernelContext& context, size_t first_port) {
  return {load_all<T>(context.inputs[first_port]), load_all<T>(context.inputs[first_port + 1])};
}

// The norms with mean and variance in the type that x computes in.
Result<void> run_moment_norm(const KernelContext& context, const NormRows& rows) {
  const TensorView& x = context.inputs[0];
  return with_compute_type(x.dtype, [&]<class T>(T) -> Result<void> {
    moment_norm(x, context.outputs[0], rows, load_affine<T>(context, 1),
                static_cast<T>(context.attributes.number("eps")));
    return {};
  });
}

// Layer norm (Ba, Kiros and Hinton 2016, arXiv 1607.06450): each row its own channel set.
Result<void> run_layernorm(const KernelContext& context) {
  const Shape& shape = context.inputs[0].shape;
  const int64_t n = shape.last();
  // A channel for each place in the row: (r n + i) / 1 mod n = i.
  return run_moment_norm(context, {shape.num_rows(), n, n, 1});
}

// x [N, C, ...], with vectors over C from port 1 on, named in the order of their ports.
Result<void> check_channels(const InferContext& context,
                            std::initializer_list<std::string_view> vectors) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank_at_least("x", x, 2));
  size_t input = 1;
  for (const std::string_view port : vectors) {
    QUERN_TRY(expect_vector(port, context.inputs[input], x.dims[1], "the channels of 'x'"));
    QUERN_TRY(expect_no_wider(port, context.inputs[input], x));
    ++input;
  }
  return {};
}

// The groups must divide the channels, which are known for that.
Result<std::vector<TensorType>> infer_groupnorm(const InferContext& context) {
  QUERN_TRY(check_channels(context, {"weight", "bias"}));
  const TensorType& x = *context.inputs[0];
  QUERN_ASSIGN_OR_RETURN(const int64_t channels, constant_dim("x", x, 1));
  const int64_t groups = context.attributes.integer("groups");
  // The first test also keeps the remainder from dividing by 0.
  if (groups < 1 || channels % groups != 0) {
    return fail::invalid("Attribute 'groups' is {}; it must divide the {} channels of 'x'.", groups,
                         channels);
  }
  return std::vector<TensorType>{x};
}

// Elements of one channel of one sample.
int64_t channel_size(const Shape& shape) {
  int64_t size = 1;
  for (int axis = 2; axis < shape.rank(); ++axis) size *= shape[axis];
  return size;
}

// Group norm (Wu and He 2018, arXiv 1803.08494) as rows: a group's channels lie together in
// memory.
// The rows of x [N, C, H, W] with two channels in a group:
//   | c0 h0.. c1 h0.. | c2 h0.. c3 h0.. | next sample ...
//   |<-   row 0     ->|<-   row 1     ->|
Result<void> run_groupnorm_of(const KernelContext& context, int64_t groups) {
  const Shape& shape = context.inputs[0].shape;
  const int64_t size = channel_size(shape);
  // Without elements the extents could be 0 and the division by them meaningless.
  if (shape.num_elements() == 0) return {};
  return run_moment_norm(context, {shape[0] * groups, shape[1] / groups * size, shape[1], size});
}

// The attribute says how many groups.
Result<void> run_groupnorm(const KernelContext& context) {
  return run_groupnorm_of(context, context.attributes.integer("groups"));
}

// As many groups as channels, so nothing needs dividing.
Result<std::vector<TensorType>> infer_instance_norm(const InferContext& context) {
  QUERN_TRY(check_channels(context, {"weight", "bias"}));
  return std::vector<TensorType>{*context.inputs[0]};
}

// Instance norm (Ulyanov et al. 2016, arXiv 1607.08022): one channel in each group.
Result<void> run_instance_norm(const KernelContext& context) {
  return run_groupnorm_of(context, context.inputs[0].shape[1]);
}

// Statistics of each channel come as inputs; training computes them elsewhere.
Result<std::vector<TensorType>> infer_batch_norm(const InferContext& context) {
  QUERN_TRY(check_channels(context, {"mean", "var", "weight", "bias"}));
  return std::vector<TensorType>{*context.inputs[0]};
}

// Normalises by the stored statistics, one channel of one sample at a time.
// The mean and the variance are data here, so a variance below -eps gives NaN and is not checked.
template <class T>
void batch_norm(const KernelContext& context, T eps) {
  const TensorView& x = context.inputs[0];
  const std::vector<T> means = load_all<T>(context.inputs[1]);
  const std::vector<T> variances = load_all<T>(context.inputs[2]);
  const Affine<T> affine = load_affine<T>(context, 3);
  const int64_t n = channel_size(x.shape);
  std::vector<T> row(static_cast<size_t>(n));
  for (int64_t r = 0; r < x.shape[0] * x.shape[1]; ++r) {
    // Samples repeat the channels in order.
    const int64_t channel = r % x.shape[1];
    const T mean = means[static_cast<size_t>(channel)];
    const T inv = T(1) / std::sqrt(variances[static_cast<size_t>(channel)] + eps);
    load_row(x, r * n, n, row.data());
    for (T& v : row) v = affine.apply((v - mean) * inv, channel);
    store_row(context.outputs[0], r * n, n, row.data());
  }
}

// Narrow floats compute in f32.
Result<void> run_batch_norm(const KernelContext& context) {
  return with_compute_type(context.inputs[0].dtype, [&]<class T>(T) -> Result<void> {
    batch_norm(context, static_cast<T>(context.attributes.number("eps")));
    return {};
  });
}

}  // namespace

void register_norm_ops(OpRegistry& registry) {
  using namespace op_parts;
  const std::string eps_doc = "Added to the mean of squares or the variance.";
  registry.add({.id = "math.rmsnorm",
                .doc = "inv = 1 / sqrt(mean(x * x) + eps); y = (x * inv) * weight, over the last "
                       "axis. The mean is a lanes(32) sum divided by the extent.",
                .shape_rule = "x [..., K] floats, weight [K] of floats no wider; y has x's "
                              "type.",
                .edge_rule = "NaN gives NaN in its row; a row with infinity gives NaN there "
                             "and 0 elsewhere. A row of zeros with eps = 0 gives NaN. Rows "
                             "of no elements give none.",
                .f32_bound = 8,
                .inputs = {port("x"), optional_port("weight")},
                .outputs = {port("y")},
                .attributes = {number("eps", 1e-6, eps_doc)},
                .infer = infer_last_axis_norm,
                .reference = run_rmsnorm,
                .in_place_input = 0});
  registry.add({.id = "math.layernorm",
                .doc = "d = x - mean(x); inv = 1 / sqrt(mean(d * d) + eps); "
                       "y = (d * inv) * weight + bias, over the last axis. Means are lanes(32) "
                       "sums divided by the extent.",
                .shape_rule = "x [..., K] floats, weight, bias [K] of floats no wider; y has "
                              "x's type.",
                .edge_rule = "NaN or infinity gives NaN in its row. A row of equal elements "
                             "gives the bias, with eps = 0 NaN. Rows of no elements give "
                             "none.",
                .f32_bound = 32,
                .inputs = {port("x"), optional_port("weight"), optional_port("bias")},
                .outputs = {port("y")},
                .attributes = {number("eps", 1e-5, eps_doc)},
                .infer = infer_last_axis_norm,
                .reference = run_layernorm,
                .in_place_input = 0});
  registry.add({.id = "math.groupnorm",
                .doc = "x [N, C, ...]: math.layernorm of each group of C / groups channels with "
                       "all their elements, in row-major order; weight and bias [C].",
                .shape_rule = "x [N, C, ...] floats, weight, bias [C] of floats no wider; y "
                              "has x's type.",
                .edge_rule = "NaN or infinity gives NaN in its group. A group of equal "
                             "elements gives the bias, with eps = 0 NaN. No elements give "
                             "none.",
                .f32_bound = 32,
                .inputs = {port("x"), optional_port("weight"), optional_port("bias")},
                .outputs = {port("y")},
                .attributes = {integer("groups", kRequired, "Must divide the channels."),
                               number("eps", 1e-5, eps_doc)},
                .infer = infer_groupnorm,
                .reference = run_groupnorm,
                .in_place_input = 0});
  registry.add({.id = "normalization.instance_norm",
                .doc = "x [N, C, ...]: math.groupnorm with one channel in each group. A channel "
                       "of one element gives the bias.",
                .shape_rule = "x [N, C, ...] floats, weight, bias [C] of floats no wider; y "
                              "has x's type.",
                .edge_rule = "NaN or infinity gives NaN in its group. A group of equal "
                             "elements gives the bias, with eps = 0 NaN. No elements give "
                             "none.",
                .f32_bound = 32,
                .inputs = {port("x"), optional_port("weight"), optional_port("bias")},
                .outputs = {port("y")},
                .attributes = {number("eps", 1e-5, eps_doc)},
                .infer = infer_instance_norm,
                .reference = run_instance_norm,
                .in_place_input = 0});
  registry.add({.id = "normalization.batch_norm_eval",
                .doc = "x [N, C, ...] with stored statistics of each channel: "
                       "inv = 1 / sqrt(var + eps); y = ((x - mean) * inv) * weight + bias.",
                .shape_rule = "x [N, C, ...] floats, mean, var, weight, bias [C] of floats "
                              "no wider; y has x's type.",
                .edge_rule = "NaN gives NaN; a variance below -eps gives NaN in its "
                             "channel. No elements give none.",
                .f32_bound = 8,
                .inputs = {port("x"), port("mean"), port("var"), optional_port("weight"),
                           optional_port("bias")},
                .outputs = {port("y")},
                .attributes = {number("eps", 1e-5, eps_doc)},
                .infer = infer_batch_norm,
                .reference = run_batch_norm,
                .in_place_input = 0});
}

}  // namespace quern
