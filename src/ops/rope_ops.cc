// Rotary position embeddings.
#include <string_view>
#include <vector>

#include "base/fail.h"
#include "ops/float_rows.h"
#include "ops/op_parts.h"
#include "ops/register_ops.h"
#include "ops/rope_frequencies.h"
#include "ops/type_rules.h"

namespace quern {
namespace {

using namespace type_rules;

// Positions are exact in f64 up to here and far beyond.
constexpr int64_t kLargestPosition = int64_t{1} << 48;

// Which elements form a pair: neighbours (GPT-J, LLaMA in GGUF), or halves (GPT-NeoX, Hugging
// Face).
RopeStyle style_of(const Attributes& attributes) {
  return attributes.text("style") == "half" ? RopeStyle::kHalf : RopeStyle::kInterleaved;
}

// Rotates the pairs of the first 2 * cos.size() elements in place.
// With three pairs of eight elements:
//   interleaved  (0 1)(2 3)(4 5) 6 7       half  (0 3)(1 4)(2 5) 6 7
template <class T>
void rotate(RopeStyle style, std::span<const T> cos, std::span<const T> sin, T* x) {
  const size_t pairs = cos.size();
  for (size_t i = 0; i < pairs; ++i) {
    const size_t first = style == RopeStyle::kInterleaved ? 2 * i : i;
    const size_t second = style == RopeStyle::kInterleaved ? 2 * i + 1 : i + pairs;
    // Both are read before either is written. Each product rounds, then the difference or sum.
    const T x0 = x[first], x1 = x[second];
    x[first] = x0 * cos[i] - x1 * sin[i];
    x[second] = x0 * sin[i] + x1 * cos[i];
  }
}

// Attributes that must be positive and not so large that a product overflows.
Result<void> check_numbers(const Attributes& attributes,
                           std::initializer_list<std::string_view> positive) {
  for (const std::string_view name : positive) {
    const double value = attributes.number(name);
    // NaN fails both comparisons.
    if (value > 0.0 && value <= 1e300) continue;
    return fail::invalid("Attribute '{}' is {}; it must be above 0 and at most 1e300.", name,
                         value);
  }
  return {};
}

// Whole sequences: positions count up from 'start_position'.
Result<std::vector<TensorType>> infer_rope(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank("x", x, 4));
  QUERN_ASSIGN_OR_RETURN(const int64_t d, constant_dim("x", x, 3));
  QUERN_TRY(expect_declared("head_dim", context.attributes.integer("head_dim"), x.dims[3],
                            "the last extent of 'x'"));
  if (d % 2 != 0) {
    return fail::invalid("Port 'x' has type {}; its last extent must be even.", x.to_string());
  }
  QUERN_TRY(check_numbers(context.attributes, {"base"}));
  const int64_t start = context.attributes.integer("start_position");
  // Far from the ends of i64: start + t cannot overflow.
  if (start < -kLargestPosition || start > kLargestPosition) {
    return fail::invalid("Attribute 'start_position' is {}; the limit is {} either way.", start,
                         kLargestPosition);
  }
  return std::vector<TensorType>{x};
}

// Angles of T positions from `start` on: cos and sin [T, D / 2].
template <class T>
struct Angles {
  size_t pairs;
  std::vector<T> cos;
  std::vector<T> sin;

  std::span<const T> cos_row(int64_t t) const {
    return std::span(cos).subspan(static_cast<size_t>(t) * pairs, pairs);
  }
  std::span<const T> sin_row(int64_t t) const {
    return std::span(sin).subspan(static_cast<size_t>(t) * pairs, pairs);
  }
};

// `position(t)` is the position of row t.
template <class T, class F>
Angles<T> angles_of(const RopeSpec& spec, std::span<const double> factors, int64_t rows,
                    F&& position) {
  // The same for all rows; only the product with the position differs.
  const std::vector<double> frequencies = rope_frequencies(spec, factors);
  const size_t pairs = frequencies.size();
  const size_t count = static_cast<size_t>(rows) * pairs;
  Angles<T> angles{pairs, std::vector<T>(count), std::vector<T>(count)};
  for (int64_t t = 0; t < rows; ++t) {
    const size_t first = static_cast<size_t>(t) * pairs;
    rope_cos_sin<T>(spec, frequencies, position(t), std::span(angles.cos).subspan(first, pairs),
                    std::span(angles.sin).subspan(first, pairs));
  }
  return angles;
}

// Rotates each row by its position's angles, which all heads and batches share.
template <class T>
void rope(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const int64_t tokens = x.shape[2], d = x.shape[3];
  const RopeSpec spec{.n_rot = d, .base = context.attributes.number("base")};
  const int64_t start = context.attributes.integer("start_position");
  // One table for all heads and batches.
  const auto angles = angles_of<T>(spec, {}, tokens, [&](int64_t t) { return start + t; });
  const RopeStyle style = style_of(context.attributes);
  std::vector<T> row(static_cast<size_t>(d));
  for (int64_t r = 0; r < x.shape.num_rows(); ++r) {
    // Rows of [B, H, T, D] come token by token inside a head: the token is r mod T.
    load_row(x, r * d, d, row.data());
    rotate(style, angles.cos_row(r % tokens), angles.sin_row(r % tokens), row.data());
    store_row(context.outputs[0], r * d, d, row.data());
  }
}

// Narrow floats rotate in f32.
Result<void> run_rope(const KernelContext& context) {
  with_compute_type(context.inputs[0].dtype, [&]<class T>(T) { rope<T>(context); });
  return {};
}

// Partial rotation leaves the elements past n_rot as they are.
Result<void> check_rope_at_attributes(const Attributes& attributes, int64_t d) {
  // 0 stands for the whole head, which must then be even.
  const int64_t n_rot = attributes.integer("n_rot");
  if (n_rot < 0 || n_rot > d || n_rot % 2 != 0 || (n_rot == 0 && d % 2 != 0)) {
    return fail::invalid(
        "Attribute 'n_rot' is {}; it must be even and at most {}, or 0 for an "
        "even head.",
        n_rot, d);
  }
  QUERN_TRY(check_numbers(attributes, {"base", "factor", "beta_fast", "beta_slow"}));
  if (attributes.text("scaling") == "yarn" && attributes.integer("original_context") < 1) {
    return fail::invalid("Attribute 'original_context' is {}; yarn needs 1 or more.",
                         attributes.integer("original_context"));
  }
  return {};
}

// Single tokens with positions of their own, as a batch of sequences needs.
Result<std::vector<TensorType>> infer_rope_at(const InferContext& context) {
  const TensorType& x = *context.inputs[0];
  const TensorType& positions = *context.inputs[1];
  QUERN_TRY(expect_float("x", x));
  QUERN_TRY(expect_rank("x", x, 3));
  QUERN_TRY(expect_dtype("positions", positions, {DType::kI32}));
  QUERN_TRY(expect_rank("positions", positions, 1));
  QUERN_TRY(expect_dim("positions", positions, 0, x.dims[0], "the tokens of 'x'"));
  QUERN_ASSIGN_OR_RETURN(const int64_t d, constant_dim("x", x, 2));
  QUERN_TRY(check_rope_at_attributes(context.attributes, d));
  if (context.inputs[2] != nullptr) {
    const RopeSpec spec = rope_spec(context.attributes, d);
    QUERN_TRY(expect_dtype("factors", *context.inputs[2], {DType::kF32}));
    QUERN_TRY(expect_vector("factors", context.inputs[2], Dim::constant(spec.n_rot / 2),
                            "half of 'n_rot'"));
  }
  return std::vector<TensorType>{x};
}

// As rope, with frequencies that may be scaled to longer contexts (linear; YaRN, arXiv
// 2309.00071).
template <class T>
void rope_at(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const int64_t tokens = x.shape[0], heads = x.shape[1], d = x.shape[2];
  // Negative positions turn the other way; nothing forbids them.
  const auto* positions = context.inputs[1].as<const int32_t>();
  const auto angles =
      angles_of<T>(rope_spec(context.attributes, d), load_all<double>(context.inputs[2]), tokens,
                   [&](int64_t t) { return int64_t{positions[t]}; });
  const RopeStyle style = style_of(context.attributes);
  std::vector<T> row(static_cast<size_t>(d));
  for (int64_t r = 0; r < tokens * heads; ++r) {
    // Rows of [T, H, D] come head by head inside a token: the token is r / H.
    load_row(x, r * d, d, row.data());
    rotate(style, angles.cos_row(r / heads), angles.sin_row(r / heads), row.data());
    store_row(context.outputs[0], r * d, d, row.data());
  }
}

// Narrow floats rotate in f32.
Result<void> run_rope_at(const KernelContext& context) {
  with_compute_type(context.inputs[0].dtype, [&]<class T>(T) { rope_at<T>(context); });
  return {};
}

// What the documents of both operations begin with.
constexpr std::string_view kRotation =
    "angle = position * f_i with f_i = pow(base, -(2i / n_rot)) in f64; c = cos(angle), "
    "s = sin(angle), rounded once to the type computed in; a pair becomes "
    "(x0 * c - x1 * s, x0 * s + x1 * c), each step rounded. Pairs are (2i, 2i + 1) in style "
    "interleaved and (i, i + n_rot / 2) in style half. ";

}  // namespace

void register_rope_ops(OpRegistry& registry) {
  using namespace op_parts;
  const AttributeDef base = number("base", 10000.0, "Base of the frequencies.");
  const AttributeDef style =
      text("style", "interleaved", "Which elements pair up.", {"interleaved", "half"});
  registry.add({.id = "positional.rope",
                .doc = std::string(kRotation) +
                       "x [B, H, T, D]; row t has the position start_position + t; n_rot is D, "
                       "which must be even.",
                .shape_rule = "x [B, H, T, D] floats, D even; y has its type.",
                .edge_rule = "NaN and infinities stay in their pair. No elements give none. "
                             "Positions are limited to 2^48 either way.",
                .f32_bound = 8,
                .f32_cancels = true,
                .inputs = {port("x")},
                .outputs = {port("y")},
                .attributes = {integer("head_dim", 0, "D; 0: that of x."), base, style,
                               integer("start_position", 0, "Position of the first row.")},
                .infer = infer_rope,
                .reference = run_rope,
                .in_place_input = 0});
  registry.add(
      {.id = "positional.rope_at",
       .doc = std::string(kRotation) +
              "x [T, H, D] with a position for each token; the first n_rot elements of a head "
              "rotate, the rest are copied. f_i is divided by factors[i] where given. linear: "
              "f_i / factor. yarn: (f_i / factor) * (1 - e) + f_i * e, e = ramp * "
              "extrapolation_factor, where the ramp falls from 1 to 0 between the pairs that turn "
              "beta_fast and beta_slow times in the original context. cos and sin are multiplied "
              "by attn_factor in f64.",
       .shape_rule = "x [T, H, D] floats, positions i32 [T], factors f32 [n_rot / "
                     "2]; y has x's type.",
       .edge_rule = "NaN and infinities stay in their pair. No tokens give none. "
                    "Attributes that make no frequency are refused.",
       .f32_bound = 8,
       .f32_cancels = true,
       .inputs = {port("x"), port("positions"), optional_port("factors")},
       .outputs = {port("y")},
       .attributes = {integer("n_rot", 0, "Elements that rotate; 0: D."), base, style,
                      text("scaling", "none", "How frequencies extend the context.",
                           {"none", "linear", "yarn"}),
                      number("factor", 1.0, "Extension of the context: linear and yarn."),
                      integer("original_context", 0, "Context of the training: yarn."),
                      number("extrapolation_factor", 1.0, "Weight of the ramp: yarn."),
                      number("attn_factor", 1.0, "Multiplies cos and sin."),
                      number("beta_fast", 32.0, "Turns that keep their frequency: yarn."),
                      number("beta_slow", 1.0, "Turns that are fully interpolated: yarn.")},
       .infer = infer_rope_at,
       .reference = run_rope_at,
       .in_place_input = 0});
}

}  // namespace quern
