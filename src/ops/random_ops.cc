// Random operations over Philox: dropout, uniform, normal, integers, rrelu.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/math/strict_math.h"
#include "ops/random_access.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// dropout -----------------------------------------------------------------------------------

// A probability: NaN fails both comparisons and is refused.
Result<Types> infer_dropout(const InferContext& context) {
  const double p = context.attributes.number("p");
  if (p >= 0 && p <= 1) return infer_same_floats(context);
  return fail::invalid("Attribute 'p' is {}; it must be from 0 to 1.", p);
}

// Keeps each element with probability 1 - p and scales it, so that the expectation stays.
// Element i takes word i, whatever the shape: the mask depends on no layout.
struct DropoutKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> x(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    // Nothing is drawn when evaluating.
    if (!context.attributes.flag("training")) {
      std::copy_n(x.data(), x.size(), y.data());
      return {};
    }
    const RandomWords random = random_words(context);
    // u has 24 bits for every dtype, so masks of f32 and f64 differ only where p itself rounds.
    const T p = static_cast<T>(context.attributes.number("p"));
    const T scale = T(1) / (T(1) - p);
    for (int64_t i = 0; i < y.size(); ++i) {
      // With p = 1 the scale is infinite, but u < 1 drops every element.
      const T u = random.uniform_f32(static_cast<uint64_t>(i));
      y[i] = u < p ? T(0) : x[i] * scale;
    }
    return {};
  }
};

// rrelu -------------------------------------------------------------------------------------

// Equal bounds are allowed: every slope is then the bound.
Result<Types> infer_rrelu(const InferContext& context) {
  const double lower = context.attributes.number("lower");
  const double upper = context.attributes.number("upper");
  if (lower <= upper) return infer_same_floats(context);
  return fail::invalid("Attribute 'lower' is {}; it must not be above 'upper', {}.", lower, upper);
}

// The slopes of a linear congruential generator that advances for every element, before use.
// Its bounds round to f32; slopes are computed in f64.
class LcgSlopes {
 public:
  // The state is a constant mixed with the bits of the bounds; the attribute `seed` plays no part.
  LcgSlopes(double lower, double upper)
      : lower_(static_cast<float>(lower)),
        upper_(static_cast<float>(upper)),
        state_(0xA5A5A5A5u ^ std::bit_cast<uint32_t>(lower_) ^ std::bit_cast<uint32_t>(upper_)) {}
  double next() {
    // The constants of Numerical Recipes' ranqd1. 24 bits over 2^24 - 1 reach both bounds.
    state_ = state_ * 1664525u + 1013904223u;
    const double u = static_cast<double>(state_ >> 8) / 0xFFFFFF;
    return double{lower_} + u * (double{upper_} - double{lower_});
  }

 private:
  float lower_, upper_;
  uint32_t state_;
};

// Slopes below zero: their mean when evaluating, drawn ones when training.
struct RreluKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const double lower = context.attributes.number("lower");
    const double upper = context.attributes.number("upper");
    const bool is_lcg = context.attributes.text("generator") == "lcg";
    const bool is_training = context.attributes.flag("training");
    const RandomWords random = random_words(context);
    LcgSlopes lcg(lower, upper);
    const FloatInput<T> x(context.inputs[0]);
    FloatOutput<T> y(context.outputs[0]);
    const T low = static_cast<T>(lower), width = static_cast<T>(upper - lower);
    const T mean = static_cast<T>((lower + upper) / 2);
    // The congruential generator steps at positive elements too: a slope belongs to its place. It
    // wins over `training`. -0 is not below 0 and stays.
    for (int64_t i = 0; i < y.size(); ++i) {
      T slope = mean;
      if (is_training) slope = low + T(random.uniform_f32(static_cast<uint64_t>(i))) * width;
      if (is_lcg) slope = static_cast<T>(lcg.next());
      y[i] = x[i] >= 0 ? x[i] : x[i] * slope;
    }
    return {};
  }
};

// Tensors of random numbers -----------------------------------------------------------------

// The shape of the attribute 'shape', or of the port 'like', with the dtype of the attribute.
Result<Types> infer_random(const InferContext& context, DType dtype) {
  const auto& shape = context.attributes.integers("shape");
  TensorType y{dtype, {}};
  if (context.inputs[0] != nullptr) {
    // One of the two would be ignored in silence.
    if (!shape.empty()) {
      return fail::invalid(
          "Attribute 'shape' is [{}] and port 'like' has type {}; only one of them may be given.",
          fmt::join(shape, ", "), context.inputs[0]->to_string());
    }
    y.dims = context.inputs[0]->dims;
    return Types{y};
  }
  // Negative extents and more than 2^62 elements.
  QUERN_TRY(Shape::make(shape));
  for (const int64_t extent : shape) y.dims.push_back(Dim::constant(extent));
  return Types{y};
}

// Float tensors with the dtype that the attribute names.
Result<Types> infer_random_floats(const InferContext& context) {
  const auto dtype = find_dtype(context.attributes.text("dtype"));
  if (dtype && is_float(*dtype)) return infer_random(context, *dtype);
  return fail::invalid("Attribute 'dtype' is '{}'; it must name a float dtype.",
                       context.attributes.text("dtype"));
}

// The kernel of an operation that takes its type from its output.
// `like` may hold integers or be absent, so inputs say nothing of the type.
template <class Kernel>
Result<void> output_kernel(const KernelContext& context) {
  return with_compute_type(context.outputs[0].dtype,
                           [&]<class T>(T) { return Kernel::template run<T>(context); });
}

// Element i takes word i; f64 takes the 53 bits of two words.
struct UniformKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const RandomWords random = random_words(context);
    const double low = context.attributes.number("low"), high = context.attributes.number("high");
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) {
      T u;
      if constexpr (std::is_same_v<T, double>)
        u = random.uniform_f64(static_cast<uint64_t>(i));
      else
        u = random.uniform_f32(static_cast<uint64_t>(i));
      // The width is formed in f64; then low and width round to T, and so do product and sum. The
      // last may round up to `high`.
      y[i] = static_cast<T>(low) + u * static_cast<T>(high - low);
    }
    return {};
  }
};

// Box and Muller (1958) in f32 for every dtype, so that all dtypes see one sequence.
struct NormalKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const RandomWords random = random_words(context);
    const T mean = static_cast<T>(context.attributes.number("mean"));
    const T deviation = static_cast<T>(context.attributes.number("std"));
    FloatOutput<T> y(context.outputs[0]);
    for (int64_t i = 0; i < y.size(); ++i) {
      // The number is f32 for every dtype; mean and deviation apply in T.
      y[i] = mean + deviation * T(normal_f32(random, static_cast<uint64_t>(i)));
    }
    return {};
  }
};

// i32, since the limit is at most 2^31.
Result<Types> infer_integers(const InferContext& context) {
  const int64_t limit = context.attributes.integer("limit");
  if (limit >= 1 && limit <= (int64_t{1} << 31)) return infer_random(context, DType::kI32);
  return fail::invalid("Attribute 'limit' is {}; it must be from 1 to 2^31.", limit);
}

// (word * limit) >> 32, without rejection: the bias is at most limit / 2^32.
Result<void> run_integers(const KernelContext& context) {
  const RandomWords random = random_words(context);
  // 2^31 fits: the limit is exclusive, so results fit i32.
  const auto limit = static_cast<uint32_t>(context.attributes.integer("limit"));
  const TensorView& y = context.outputs[0];
  for (int64_t i = 0; i < y.shape.num_elements(); ++i) {
    y.as<int32_t>()[i] = static_cast<int32_t>(random.below(static_cast<uint64_t>(i), limit));
  }
  return {};
}

// The parts of a definition that the generators of whole tensors share.
OpDef random_op(std::string id, std::string doc, std::vector<AttributeDef> attributes,
                OpDef::Infer infer, OpDef::Kernel kernel) {
  attributes.push_back(integers("shape", std::vector<int64_t>{}, "Extents of the output."));
  attributes.push_back(seed_attribute());
  attributes.push_back(node_id_attribute());
  return {.id = std::move(id),
          .doc = std::move(doc) +
                 " Philox 4x32-10 keyed by 'seed', with the run's stream and the node's index; "
                 "the shape is the attribute's or that of 'like'.",
          .shape_rule =
              "like of any type, optional; y of the attribute's dtype "
              "(random.integers: i32) with the extents of 'shape' or of like.",
          .edge_rule =
              "No elements give none. Both or bad extents are refused. "
              "Bounds of NaN give NaN.",
          .f32_bound = 0,
          .inputs = {optional_port("like")},
          .outputs = {port("y")},
          .attributes = std::move(attributes),
          .effect = Effect::kRandom,
          .infer = infer,
          .reference = kernel};
}

}  // namespace

// Numbers 2k and 2k + 1 are the cosine and sine of one pair of words; u1 is never 0, so the
// logarithm is finite.
// r = sqrt(-2 log(u1)), t = f32(2 pi) u2; r cos(t), r sin(t). u1 is in (0, 1], u2 in [0, 1).
float normal_f32(const RandomWords& random, uint64_t i) {
  // The even number of the pair owns words `pair` and `pair` + 1.
  const uint64_t pair = i / 2 * 2;
  const float u1 = static_cast<float>((random.word(pair) >> 8) + 1) * 0x1p-24f;
  const float u2 = static_cast<float>(random.word(pair + 1) >> 8) * 0x1p-24f;
  const float radius = std::sqrt(-2.0f * strict_log(u1));
  const float angle = static_cast<float>(6.283185307179586476925) * u2;
  return radius * (i % 2 == 0 ? strict_cos(angle) : strict_sin(angle));
}

void register_random_ops(OpRegistry& registry) {
  registry.add({.id = "math.dropout",
                .doc = "In training: u < p gives +0, else x * (1 / (1 - p)), u a uniform number "
                       "of 24 bits for each element; else x. Philox as random.uniform.",
                .shape_rule = kUnaryShapes,
                .edge_rule = "A dropped NaN or infinity is +0; p = 1 drops all. A p outside "
                             "[0, 1] is refused. No elements give none.",
                .f32_bound = 2,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {number("p", 0.1, "Share of elements to drop, 0 to 1."),
                               flag("training", true, "False: y = x."), seed_attribute(),
                               node_id_attribute()},
                .effect = Effect::kRandom,
                .infer = infer_dropout,
                .reference = float_kernel<DropoutKernel>});
  registry.add(
      {.id = "activation.rrelu",
       .doc = "x >= 0: x; else x * slope. The slope is the mean of the bounds; in training "
              "lower + u * (upper - lower), u as in math.dropout; with the generator lcg that of "
              "a congruential generator seeded by the bounds, in training or not.",
       .shape_rule = kUnaryShapes,
       .edge_rule = "NaN gives NaN; -inf times the slope, NaN for a slope of 0. "
                    "lower above upper is refused. No elements give none.",
       .f32_bound = 2,
       .inputs = {port("x")},
       .outputs = {port("y")},
       .attributes = {number("lower", 0.125, "Lowest slope."),
                      number("upper", 1.0 / 3.0, "Highest slope, not below lower."),
                      flag("training", false, "Draw a slope for each element."), seed_attribute(),
                      node_id_attribute(),
                      text("generator", "philox", "Where slopes come from.", {"philox", "lcg"})},
       .effect = Effect::kRandom,
       .infer = infer_rrelu,
       .reference = float_kernel<RreluKernel>});
  const AttributeDef dtype = text("dtype", "f32", "A float dtype; f64 draws 53 bits.");
  registry.add(random_op(
      "random.uniform", "low + u * (high - low), u uniform in [0, 1).",
      {number("low", 0.0, "Lowest value."), number("high", 1.0, "End of the range."), dtype},
      infer_random_floats, output_kernel<UniformKernel>));
  registry.add(
      random_op("random.normal",
                "mean + std * n, n a normal number in f32 by Box and Muller, two from "
                "two words.",
                {number("mean", 0.0, "Mean."), number("std", 1.0, "Standard deviation."), dtype},
                infer_random_floats, output_kernel<NormalKernel>));
  registry.add(random_op("random.integers", "(word * limit) >> 32: integers in [0, limit).",
                         {integer("limit", kRequired, "End of the range, 1 to 2^31.")},
                         infer_integers, run_integers));
}

}  // namespace quern
