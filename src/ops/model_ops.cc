// Operations of manifests on whole models: graft an activation, freeze parameters.
#include <cstring>
#include <vector>

#include "ops/elementwise.h"
#include "ops/register_ops.h"

namespace quern {
namespace {

using namespace op_parts;
using Types = std::vector<TensorType>;

// Source and result have one float type; in the mode read_write the injection must be given.
Result<Types> infer_graft(const InferContext& context) {
  const TensorType& source = *context.inputs[2];
  QUERN_TRY(type_rules::expect_float("source", source));
  if (context.inputs[1] != nullptr) {
    QUERN_TRY(type_rules::expect_same_type(context, 1, source, "source"));
  // In the mode read the port may be absent.
  } else if (context.attributes.text("mode") == "read_write") {
    return fail::invalid("Attribute 'mode' is 'read_write', so port 'injection' must be given.");
  }
  return Types{source};
}

// Reads the source, and adds the injection where the mode says so.
// The mode is the same for all elements; reading alone ignores a given injection.
struct GraftKernel {
  template <class T>
  static Result<void> run(const KernelContext& context) {
    const FloatInput<T> source(context.inputs[2]), injection(context.inputs[1]);
    FloatOutput<T> y(context.outputs[0]);
    const bool is_written = context.attributes.text("mode") == "read_write";
    for (int64_t i = 0; i < y.size(); ++i) {
      y[i] = is_written ? source[i] + injection[i] : source[i];
    }
    return {};
  }
};

// The kernel in the type that the dtype computes in.
// The trigger is the first input and may hold integers, so the output says the type.
Result<void> run_graft(const KernelContext& context) {
  return with_compute_type(context.outputs[0].dtype,
                           [&]<class T>(T) { return GraftKernel::run<T>(context); });
}

// Freezing changes no value; packed dtypes have no bytes of their own and are refused.
Result<Types> infer_freeze(const InferContext& context) {
  QUERN_TRY(type_rules::expect_whole_elements("trigger", *context.inputs[0]));
  return Types{*context.inputs[0]};
}

// The trigger passes through; which parameters are frozen is for the training code to read from
// the attributes.
Result<void> run_freeze(const KernelContext& context) {
  const TensorView& x = context.inputs[0];
  const int64_t size_bytes = x.shape.num_elements() * dtype_info(x.dtype).block_bytes;
  // An empty tensor may have no memory, which memcpy must not be given.
  if (size_bytes > 0) {
    std::memcpy(context.outputs[0].data, x.data, static_cast<size_t>(size_bytes));
  }
  return {};
}

}  // namespace

void register_model_ops(OpRegistry& registry) {
  registry.add({.id = "model.graft",
                .doc = "The activation of another model: source, or source + injection in the mode "
                       "read_write. The trigger only orders the node.",
                .shape_rule = "trigger of any type; injection and source of one float type, "
                              "which activation has.",
                .edge_rule =
                    "IEEE: NaN in the source gives NaN. The mode read_write without injection is "
                    "refused. No elements give none.",
                .f32_bound = 1,
                .inputs = {port("trigger"), optional_port("injection"), port("source")},
                .outputs = {port("activation")},
                .attributes = {text("source", "", "Name of the model, for manifests."),
                               text("at", "", "Name of the activation in it."),
                               text("mode", "read", "Whether the injection is added.",
                                    {"read", "read_write"})},
                .infer = infer_graft,
                .reference = run_graft});
  registry.add({.id = "model.freeze",
                .doc = "Marks parameters whose names match 'pattern' but not 'except' (globs) as "
                       "frozen or trainable; the trigger passes through.",
                .shape_rule = "trigger of any type of whole bytes; out has it.",
                .edge_rule = "Every value passes, NaN too. No elements give none.",
                .f32_bound = 0,
                .inputs = {port("trigger")},
                .outputs = {port("out")},
                .attributes = {text("source", "", "Name of the model, for manifests."),
                               text("pattern", "*", "Glob over parameter names."),
                               text("except", "", "Glob of names to leave out."),
                               flag("frozen", true, "False: trainable again.")},
                .infer = infer_freeze,
                .reference = run_freeze});
}

}  // namespace quern
