// Operations that run their reference kernel here, because the table says so.
#include "backends/cpu/steps/steps.h"
#include "runtime/host_kv_store.h"

namespace quern::cpu {
namespace {

class ReferenceStep final : public Step {
 public:
  ReferenceStep(const Node& node, NodeId id)
      : kernel_(node.op->reference), attributes_(node.attributes), id_(id) {}

  Result<void> run(const StepContext& context) override {
    KernelContext kernel{context.inputs, context.outputs, attributes_};
    kernel.kv = context.kv;
    kernel.stream = context.stream;
    kernel.node_id = static_cast<uint32_t>(id_);
    return kernel_(kernel);
  }

 private:
  OpDef::Kernel kernel_;
  Attributes attributes_;
  NodeId id_;
};

}  // namespace

Result<std::unique_ptr<Step>> make_reference(const StepRequest& request) {
  return std::make_unique<ReferenceStep>(request.node(), request.id);
}

}  // namespace quern::cpu
