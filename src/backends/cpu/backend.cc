// Support from the table of operations; compilation to a plan.
#include "backends/cpu/backend.h"

#include "backends/cpu/artifact.h"
#include "backends/cpu/device.h"
#include "backends/cpu/kernel_choice.h"
#include "base/fail.h"
#include "quern/op.h"

namespace quern {
namespace {

// Serves what op_table() lists; compile() makes the plan and needs no particular machine.
class CpuBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  Result<Capabilities> default_caps(std::string_view arch) const override {
    // An instruction set of the build that this machine lacks can be compiled for, not opened.
    Capabilities capabilities = cpu::probe_capabilities();
    if (arch.empty() || arch == capabilities.arch) return capabilities;
    const auto isa = cpu::find_isa(arch);
    if (!isa || !cpu::has_kernel_level(*isa)) {
      return fail::not_found("Backend cpu knows no architecture '{}'.", arch);
    }
    capabilities.arch = arch;
    capabilities.max_vector_bits = cpu::vector_bits(*isa);
    return capabilities;
  }

  Support supports(const OpDef& op) const override {
    const cpu::OpEntry* entry = cpu::find_entry(op);
    if (entry != nullptr) return {entry->kind, ""};
    return {Support::Kind::kMissing,
            fmt::format("Backend cpu has no {} in its table of operations.", op.id)};
  }

  Result<void> legal(const Graph& graph, const Node& node) const override {
    const cpu::OpEntry* entry = cpu::find_entry(*node.op);
    if (entry == nullptr) {
      return fail::unimplemented("Backend cpu cannot run {} (node '{}'): it has no kernel for it.",
                                 node.op->id, node.name);
    }
    if (entry->kind == Support::Kind::kRegistry && node.op->reference == nullptr) {
      return fail::unimplemented(
          "Backend cpu cannot run {} (node '{}'): it has no reference "
          "kernel.",
          node.op->id, node.name);
    }
    const std::string reason = entry->refuse == nullptr ? "" : entry->refuse(graph, node);
    if (reason.empty()) return {};
    return fail::unimplemented("Backend cpu cannot run {} (node '{}'): {}.", node.op->id, node.name,
                               reason);
  }

  KernelChoice choose_kernel(const Graph& graph, const Node& node,
                             const Capabilities& capabilities) const override {
    return cpu::choose_kernel(graph, node, capabilities);
  }

  FusionCaps fusions() const override { return cpu::fusion_caps(); }

  Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                            const CompileOptions& options) const override {
    for (const Node& node : graph.nodes()) QUERN_TRY(legal(graph, node));
    QUERN_ASSIGN_OR_RETURN(cpu::Plan plan, cpu::make_plan(graph, options));
    return std::make_unique<cpu::PlanArtifact>(graph, std::move(plan), options.numerics);
  }

  Result<void> validate(const Artifact& artifact) const override {
    const auto* plan = dynamic_cast<const cpu::PlanArtifact*>(&artifact);
    if (plan == nullptr) return fail::invalid("The artifact was not compiled by the backend cpu.");
    return verify(plan->graph());
  }

  Result<std::vector<DeviceDescription>> devices() const override {
    return std::vector<DeviceDescription>{cpu::probe_description()};
  }

  Result<std::unique_ptr<Device>> open(const DeviceOptions& options) const override {
    return cpu::make_device(options);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>();
}

}  // namespace quern
