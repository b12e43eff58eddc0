// Node by node in the model's order, which ONNX demands to be a valid one.
// Values that are known at build time stay constants and never become nodes unless something uses
// them.
#include "formats/onnx/onnx_importer.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"
#include "formats/onnx/node_context.h"
#include "quern/graph_builder.h"

namespace quern::onnx {
namespace {

// Nodes of the graph that one model may become.
constexpr size_t kMaxNodes = 1'000'000;
// Elements of one input: products of two such counts still fit in 64 bits.
constexpr int64_t kMaxElements = int64_t{1} << 31;

// One model each.
class Importer {
 public:
  // Borrows all three.
  Importer(const OnnxModel& model, const OpRegistry& registry, const ImportOptions& options)
      : model_(model), builder_(registry), algebra_(builder_), known_(options.known) {}

  // Inputs and weights, nodes in the order of the model, outputs.
  Result<Graph> run() {
    for (const OnnxTensor& tensor : model_.initializers) {
      if (!tensor.tensor) {
        return fail::unimplemented("Initializer '{}' is of {}, which Quern has not.", tensor.name,
                                   data_type_name(tensor.data_type));
      }
      // Over what the caller knows: a model's own values win.
      known_.insert_or_assign(tensor.name, *tensor.tensor);
      names_.data_types[tensor.name] = tensor.data_type;
      initializers_.push_back(tensor.name);
    }
    for (const OnnxValue& input : model_.inputs) QUERN_TRY(declare_input(input));
    for (const OnnxNode& node : model_.nodes) {
      const auto done = translate(node);
      if (!done) {
        return tl::unexpected(
            done.error().with_context(fmt::format("Node '{}' ({})", node.name, node.op_type)));
      }
    }
    for (const OnnxValue& output : model_.outputs) QUERN_TRY(declare_output(output));
    return builder_.finish();
  }

 private:
  // Inputs that no node reads stay out; a type that Quern has not is an error where it is read.
  Result<void> declare_input(const OnnxValue& input) {
    names_.data_types[input.name] = input.data_type;
    const bool is_initializer = std::ranges::find(initializers_, input.name) != initializers_.end();
    const auto reads = [&](const OnnxNode& node) {
      return std::ranges::find(node.inputs, input.name) != node.inputs.end();
    };
    if (is_initializer || std::ranges::none_of(model_.nodes, reads)) return {};
    const auto dtype = dtype_of(input.data_type);
    if (!dtype || !input.dims) {
      const std::string type = input.data_type == 0 ? "no tensor" : data_type_name(input.data_type);
      return fail::unimplemented("Input '{}' is {}, which Quern has not.", input.name, type);
    }
    TensorType type{*dtype, {}, LayoutKind::kRowMajor};
    const auto known = known_.find(input.name);
    for (size_t i = 0; i < input.dims->size(); ++i) {
      int64_t extent = (*input.dims)[i];
      const bool has_value =
          known != known_.end() && i < static_cast<size_t>(known->second.shape().rank());
      if (extent < 0 && has_value) extent = known->second.shape()[static_cast<int>(i)];
      if (extent < 0)
        return fail::unimplemented("Input '{}' has an extent that is not known.", input.name);
      type.dims.push_back(Dim::constant(extent));
    }
    Dims extents;
    for (const Dim& dim : type.dims) extents.push_back(dim.factor);
    if (count_of(extents) > kMaxElements || extents.size() > kMaxRank) {
      return fail::unimplemented("Input '{}' of type {} is too large.", input.name,
                                 type.to_string());
    }
    names_.pending.emplace(input.name, std::move(type));
    return {};
  }

  // Errors have the node's name and operator in front.
  Result<void> translate(const OnnxNode& node) {
    const OpMapper* mapper = find_mapper(node.domain, node.op_type);
    if (mapper == nullptr) return fail::unimplemented("{}", why_without_equivalent(node.op_type));
    NodeContext context(node, model_.opset(node.domain), algebra_, names_, known_);
    QUERN_TRY(mapper->map(context));
    if (++num_nodes_ > kMaxNodes)
      return fail::exhausted("The model has more than {} nodes.", kMaxNodes);
    return {};
  }

  // Errors: an output that nothing makes.
  Result<void> declare_output(const OnnxValue& output) {
    const auto it = names_.values.find(output.name);
    if (it != names_.values.end()) {
      builder_.output(output.name, it->second);
      return {};
    }
    const auto known = known_.find(output.name);
    // What the caller knows of an input is for shapes; as a result it would freeze that value.
    const bool is_input = std::ranges::any_of(
        model_.inputs, [&](const OnnxValue& input) { return input.name == output.name; });
    if (known == known_.end() || is_input) {
      return fail::unimplemented("Output '{}' is not computed by this translation.", output.name);
    }
    builder_.output(output.name, constant_of(algebra_, known->second));
    return {};
  }

  const OnnxModel& model_;
  GraphBuilder builder_;
  TensorAlgebra algebra_;
  KnownTensors known_;
  ValueNames names_;
  std::vector<std::string> initializers_;
  size_t num_nodes_ = 0;
};

}  // namespace

// Errors: operators without an equivalent, with the reason.
Result<Graph> import_model(const OnnxModel& model, const OpRegistry& registry,
                           const ImportOptions& options) {
  return Importer(model, registry, options).run();
}

}  // namespace quern::onnx
