// Vector symbolic architecture: bind, bundle, permute, similarity.
#include <cmath>
#include <vector>

#include "base/fail.h"
#include "ops/elementwise.h"
#include "ops/lanes.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Vectors [D] of one float type, any number of them.
Result<Types> infer_bundle(const InferContext& context) {
  QUERN_TRY(type_rules::expect_rank("a", *context.inputs[0], 1));
  return infer_same_floats(context);
}

// Sums in port order from +0. Normalised, each element is divided by the root of a lanes(32) sum of
// squares: a division, not a product with the reciprocal.
struct BundleKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    FloatOutput<T> sum(context.outputs[0]);
    // Output memory may hold anything.
    std::fill_n(sum.data(), sum.size(), T(0));
    for (const TensorView& input : context.inputs) {
      const FloatInput<T> x(input);
      for (int64_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + x[i];
    }
    if (!context.attributes.flag("normalize")) return {};
    const T norm = std::sqrt(lanes_sum<T>(sum.size(), [&](int64_t i) { return sum[i] * sum[i]; }));
    // A norm of 0 leaves the zeros; NaN is not 0 and reaches every element.
    for (int64_t i = 0; norm != 0 && i < sum.size(); ++i) sum[i] = sum[i] / norm;
    return {};
  }
};

// Any rank: rows are the last axis.
Result<Types> infer_permute(const InferContext& context) {
  QUERN_TRY(type_rules::expect_rank_at_least("a", *context.inputs[0], 1));
  return infer_same_floats(context);
}

// p[i] = a[(i + shift) mod n] in each row.
Result<void> rotate_rows(const KernelContext& context, bool is_inverse) {
  const TensorView& a = context.inputs[0];
  const int64_t n = a.shape.last();
  if (a.shape.num_elements() == 0) return {};
  // The remainder of any integer lies in (-n, n); adding n makes it a rotation to the left.
  const int64_t k = context.attributes.integer("k") % n;
  const int64_t shift = ((is_inverse ? -k : k) + n) % n;
  const int64_t size = dtype_info(a.dtype).block_bytes;
  for (int64_t row = 0; row < a.shape.num_rows(); ++row) {
    // Bytes are rotated by whole elements, so no value is read as a number.
    const std::byte* source = a.data + row * n * size;
    std::rotate_copy(source, source + shift * size, source + n * size,
                     context.outputs[0].data + row * n * size);
  }
  return {};
}
// Left by k and right by k undo each other.
Result<void> run_permute(const KernelContext& context) {
  return rotate_rows(context, false);
}
Result<void> run_inverse_permute(const KernelContext& context) {
  return rotate_rows(context, true);
}

// The two directions differ in kernel and words only.
OpDef permute_op(std::string id, std::string doc, OpDef::Kernel kernel) {
  return {.id = std::move(id),
          .doc = std::move(doc),
          .shape_rule = "a [..., D] floats; p has its type.",
          .edge_rule =
              "Every value is copied bit for bit, NaN too. No elements give "
              "none.",
          .f32_bound = 0,
          .inputs = {port("a")},
          .outputs = {port("p")},
          .attributes = {integer("k", 1, "Places; any integer, modulo the extent.")},
          .infer = infer_permute,
          .reference = kernel};
}

}  // namespace

void register_vsa_ops(OpRegistry& registry) {
  registry.add(
      {.id = "vsa.bundle",
       .doc = "The sum of the vectors in port order from +0; normalised, each element "
              "divided by sqrt(lanes(32) sum of squares) unless that is 0.",
       .shape_rule = "Any number of vectors [D] of one float dtype; bundled [D].",
       .edge_rule = "NaN gives NaN in its element, normalised in all; a sum of "
                    "zeros stays zeros. D = 0 gives none.",
       .f32_bound = 8,
       .inputs = {variadic_port("a")},
       .outputs = {port("bundled")},
       .attributes = {text("form", "estimator", "Both forms are this sum.", {"estimator", "table"}),
                      flag("normalize", true, "Divide by the length.")},
       .infer = infer_bundle,
       .reference = float_kernel<BundleKernel>});
  registry.add(permute_op("vsa.permute", "Each row rotated left by k places.", run_permute));
  registry.add(permute_op("vsa.inverse_permute", "Each row rotated right by k places.",
                          run_inverse_permute));
  // Binding is the elementwise product and similarity the dot product: registered families before
  // this one bring both.
  registry.add(alias_of(*registry.find("math.mul"), "vsa.bind", {"a", "b"}, {"bound"}));
  registry.add(alias_of(*registry.find("dot.dot"), "vsa.similarity", {}, {"sim"}));
}

}  // namespace quern
