// ONNX norms, softmaxes and losses.
// Losses follow the same route: they are softmaxes with a choice.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/fail.h"
#include "formats/onnx/node_context.h"

namespace quern::onnx {
namespace {

// [C] as [1, C, 1, ...].
ValueId per_channel(TensorAlgebra& g, ValueId values, size_t rank) {
  Dims column(rank, 1);
  if (rank > 1) column[1] = count_of(g.dims(values));
  return g.reshape(values, column);
}

// With the stored mean and variance; in training mode with those of the batch, which also move the
// stored ones: new = momentum * old + (1 - momentum) * batch.
Result<void> batch_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const Dims dims = g.dims(x);
  const double eps = c.number("epsilon", 1e-5), momentum = c.number("momentum", 0.9);
  const auto normalise = [&](ValueId mean, ValueId var) {
    c.out(0, g.op("normalization.batch_norm_eval",
                  {x, g.cast(mean, g.dtype(x)), g.cast(var, g.dtype(x)), c.in(1), c.in(2)},
                  {{"eps", eps}}));
  };
  if (c.integer("training_mode", 0) == 0) {
    normalise(c.in(3), c.in(4));
    return c.done();
  }
  Dims axes{0};
  // All but the channels: the batch and the spatial axes.
  for (size_t i = 2; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const ValueId mean = g.reduce("mean", x, axes, false);
  // Two passes, the population variance: mean of (x - mean)^2, as the operator's description wants
  // it.
  const ValueId centred = g.binary("elementwise.sub", x, per_channel(g, mean, dims.size()));
  const ValueId var = g.reduce("mean", g.op("math.mul", {centred, centred}), axes, false);
  normalise(mean, var);
  const auto running = [&](ValueId old, ValueId now) {
    return g.op("math.add", {g.scale(old, momentum), g.scale(now, 1 - momentum)});
  };
  c.out(1, running(c.in(3), mean));
  c.out(2, running(c.in(4), var));
  return c.done();
}

// Each channel of each example alone.
Result<void> instance_norm(NodeContext& c) {
  c.out(0, c.g().op("normalization.instance_norm", {c.in(0), c.in(1), c.in(2)},
                    {{"eps", c.number("epsilon", 1e-5)}}));
  return c.done();
}

// Scale and bias are per channel from version 21 on, per group before.
Result<void> group_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(c.in(0));
  const int64_t groups = c.integer("num_groups", 1);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0)
    return fail::invalid("GroupNormalization has {} groups.", groups);
  const auto channelwise = [&](ValueId values) {
    if (count_of(g.dims(values)) == dims[1]) return values;
    return g.reshape(g.broadcast(g.reshape(values, {groups, 1}), {groups, dims[1] / groups}),
                     {dims[1]});
  };
  c.out(0, g.op("math.groupnorm", {c.in(0), channelwise(c.in(1)), channelwise(c.in(2))},
                {{"groups", groups}, {"eps", c.number("epsilon", 1e-5)}}));
  return c.done();
}

// The axes from `axis` on as one row.
struct Rows {
  Dims dims;
  int64_t axis = 0;
  int64_t count = 0;
  int64_t width = 0;
};
// Elements from an axis on, as rows of one length.
Result<Rows> rows_from_axis(NodeContext& c, int64_t fallback) {
  Rows rows{.dims = c.g().dims(c.in(0))};
  QUERN_ASSIGN_OR_RETURN(rows.axis,
                         c.axis("axis", fallback, static_cast<int64_t>(rows.dims.size())));
  //   [a, b, c, d] with axis 2 is a * b rows of c * d
  rows.count = count_of({rows.dims.begin(), rows.dims.begin() + rows.axis});
  rows.width = count_of({rows.dims.begin() + rows.axis, rows.dims.end()});
  return rows;
}
// A weight that broadcasts over the row, as one row.
ValueId as_row(TensorAlgebra& g, ValueId weight, const Rows& rows) {
  if (weight == kNoValue) return weight;
  const Dims row(rows.dims.begin() + rows.axis, rows.dims.end());
  return g.reshape(g.broadcast(weight, row), {rows.width});
}

// LayerNormalization-17: also mean and inverse deviation, where wanted.
Result<void> layer_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Rows rows, rows_from_axis(c, -1));
  const double eps = c.number("epsilon", 1e-5);
  const ValueId x = g.reshape(c.in(0), {rows.count, rows.width});
  const ValueId y = g.op("math.layernorm", {x, as_row(g, c.in(1), rows), as_row(g, c.in(2), rows)},
                         {{"eps", eps}});
  c.out(0, g.reshape(y, rows.dims));
  Dims reduced = rows.dims;
  std::fill(reduced.begin() + rows.axis, reduced.end(), 1);
  const ValueId mean = g.reduce("mean", x, {1}, true);
  const ValueId centred = g.binary("elementwise.sub", x, mean);
  const ValueId var = g.reduce("mean", g.op("math.mul", {centred, centred}), {1}, true);
  c.out(1, g.reshape(mean, reduced));
  const ValueId deviation = g.op("elementwise.sqrt", {g.with_scalar("math.add", var, eps)});
  c.out(2, g.reshape(g.binary("elementwise.div", g.scalar(x, 1), deviation), reduced));
  return c.done();
}

// RMSNormalization-23.
Result<void> rms_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  QUERN_ASSIGN_OR_RETURN(const Rows rows, rows_from_axis(c, -1));
  const ValueId x = g.reshape(c.in(0), {rows.count, rows.width});
  const ValueId y =
      g.op("math.rmsnorm", {x, as_row(g, c.in(1), rows)}, {{"eps", c.number("epsilon", 1e-5)}});
  c.out(0, g.reshape(y, rows.dims));
  return c.done();
}

// By the sum of magnitudes or the root of the sum of squares.
Result<void> lp_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", -1, g.rank(x)));
  ValueId norm = g.reduce("l1_norm", x, {axis}, true);
  if (c.integer("p", 2) == 2)
    norm = g.op("elementwise.sqrt", {g.reduce("sum", g.op("math.mul", {x, x}), {axis}, true)});
  // A row of zeros stays zero.
  const ValueId divisor = g.where(g.with_scalar("compare.equal", norm, 0), g.scalar(norm, 1), norm);
  c.out(0, g.binary("elementwise.div", x, divisor));
  return c.done();
}

// Over the given axes, with the operator's 1e-9 under the root.
Result<void> mean_variance_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const Dims axes = c.integers("axes", {0, 2, 3});
  const ValueId centred = g.binary("elementwise.sub", x, g.reduce("mean", x, axes, true));
  const ValueId var = g.reduce("mean", g.op("math.mul", {centred, centred}), axes, true);
  c.out(0, g.binary("elementwise.div", centred,
                    g.with_scalar("math.add", g.op("elementwise.sqrt", {var}), 1e-9)));
  return c.done();
}

// x / (bias + alpha / size * (sum of squares over `size` channels))^beta: a product with a band.
Result<void> local_response_norm(NodeContext& c) {
  TensorAlgebra& g = c.g();
  const ValueId x = c.in(0);
  const Dims dims = g.dims(x);
  if (dims.size() < 2) return fail::invalid("LRN needs channels.");
  const int64_t size = std::clamp<int64_t>(c.integer("size", 1), 0, kMaxTable), channels = dims[1],
                last = static_cast<int64_t>(dims.size()) - 1;
  if (!g.allows(count_of({channels, channels}))) return c.done();
  std::vector<double> band;
  for (int64_t from = 0; from < channels; ++from) {
    for (int64_t to = 0; to < channels; ++to) {
      // `size` channels around each; for an even size one more above than below.
      const bool is_near = from >= to - (size - 1) / 2 && from <= to + size / 2;
      band.push_back(is_near ? 1 : 0);
    }
  }
  const ValueId squares = g.move_axis(g.op("math.mul", {x, x}), 1, last);
  const ValueId sums =
      g.move_axis(g.matmul(squares, g.constant(g.dtype(x), {channels, channels}, band)), last, 1);
  const double alpha = c.number("alpha", 1e-4) / static_cast<double>(size);
  const ValueId base = g.with_scalar("math.add", g.scale(sums, alpha), c.number("bias", 1));
  c.out(0, g.binary("elementwise.div", x, g.with_scalar("math.pow", base, c.number("beta", 0.75))));
  return c.done();
}

// Before version 13 all axes from `axis` on are one row.
Result<void> softmax_like(NodeContext& c, std::string_view id) {
  TensorAlgebra& g = c.g();
  if (c.opset() < 13) {
    QUERN_ASSIGN_OR_RETURN(const Rows rows, rows_from_axis(c, 1));
    c.out(0, g.reshape(g.op(id, {g.reshape(c.in(0), {rows.count, rows.width})}), rows.dims));
    return c.done();
  }
  QUERN_ASSIGN_OR_RETURN(const int64_t axis, c.axis("axis", -1, g.rank(c.in(0))));
  c.out(0, g.along(id, c.in(0), axis));
  return c.done();
}
// Over one axis, or over all from an axis on before version 13.
Result<void> softmax(NodeContext& c) {
  return softmax_like(c, "math.softmax");
}
Result<void> log_softmax(NodeContext& c) {
  return softmax_like(c, "activation.log_softmax");
}

// Losses
// -------------------------------------------------------------------------------------------

// log_prob [N, C, ...] and target [N, ...]: the weighted, negated log-probability of each target.
Result<void> likelihood_loss(NodeContext& c, ValueId log_prob, ValueId target, ValueId weight) {
  TensorAlgebra& g = c.g();
  const Dims dims = g.dims(log_prob);
  if (dims.size() < 2) return fail::invalid("{} needs classes.", c.node().op_type);
  if (!g.allows(dims[1])) return c.done();
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  const DType dtype = g.dtype(log_prob);
  const ValueId rows = g.move_axis(log_prob, 1, last);  // [N, ..., C]
  // Targets outside the classes (ignore_index may be -1) give a row of zeros.
  const ValueId hot = g.cast(g.one_hot(target, dims[1]), dtype);
  const ValueId ignored =
      g.with_scalar("compare.equal", target, static_cast<double>(c.integer("ignore_index", -1)));
  const ValueId weights =
      weight == kNoValue
          ? g.constant(dtype, {dims[1]}, std::vector<double>(static_cast<size_t>(dims[1]), 1))
          : weight;
  // The weight of each target: 0 where it is ignored.
  ValueId factors = g.reduce("sum", g.binary("math.mul", hot, weights), {last}, false);
  if (c.has_attribute("ignore_index")) factors = g.where(ignored, g.scalar(factors, 0), factors);
  // A class that is not the target may be -infinity: choose before the sum.
  const ValueId chosen = g.where(g.with_scalar("compare.equal", hot, 0), g.scalar(rows, 0), rows);
  const ValueId loss = g.op("elementwise.neg",
                            {g.op("math.mul", {factors, g.reduce("sum", chosen, {last}, false)})});
  const std::string reduction = c.text("reduction", "mean");
  Dims all(static_cast<size_t>(last));
  std::iota(all.begin(), all.end(), int64_t{0});
  if (reduction == "none") {
    c.out(0, loss);
  } else if (reduction == "sum") {
    c.out(0, g.reduce("sum", loss, all, false));
  } else {
    c.out(0, g.op("elementwise.div",
                  // The mean is weighted: over the sum of weights, not over the number of targets.
                  {g.reduce("sum", loss, all, false), g.reduce("sum", factors, all, false)}));
  }
  return c.done();
}

// Weighted or not; ignored classes count neither above nor below the line.
Result<void> negative_log_likelihood(NodeContext& c) {
  return likelihood_loss(c, c.in(0), c.in(1), c.in(2));
}
Result<void> softmax_cross_entropy(NodeContext& c) {
  const ValueId log_prob = c.g().along("activation.log_softmax", c.in(0), 1);
  c.out(1, log_prob);
  return likelihood_loss(c, log_prob, c.in(1), c.in(2));
}

constexpr std::array kMappers = {
    OpMapper{"BatchNormalization", batch_norm},
    OpMapper{"GroupNormalization", group_norm},
    OpMapper{"InstanceNormalization", instance_norm},
    OpMapper{"LRN", local_response_norm},
    OpMapper{"LayerNormalization", layer_norm},
    OpMapper{"LogSoftmax", log_softmax},
    OpMapper{"LpNormalization", lp_norm},
    OpMapper{"MeanVarianceNormalization", mean_variance_norm},
    OpMapper{"NegativeLogLikelihoodLoss", negative_log_likelihood},
    OpMapper{"RMSNormalization", rms_norm},
    OpMapper{"Softmax", softmax},
    OpMapper{"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OpMapper> norm_mappers() {
  return kMappers;
}

}  // namespace quern::onnx
