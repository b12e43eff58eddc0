// Reference kernels serve every operation that has one.
#include "backends/reference/backend.h"

#include "backends/reference/artifact.h"
#include "base/fail.h"
#include "quern/op.h"
#include "runtime/binding.h"

namespace quern {
namespace {

// Values that come from outside the graph: nothing runs for them.
bool is_graph_only(const OpDef& op) {
  return op.id == "Input" || op.id == "graph.weight";
}

// Whatever has a reference kernel runs, and nothing else is legal.
class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

  // The same for every architecture: the definition depends on none.
  Result<Capabilities> default_caps(std::string_view) const override { return capabilities(); }

  Support supports(const OpDef& op) const override {
    if (is_graph_only(op)) return {Support::Kind::kGraphOnly, ""};
    if (op.reference != nullptr) return {Support::Kind::kDirect, ""};
    // Only where there is no kernel: expanding what has one would give the same bits slower.
    if (op.expand != nullptr) return {Support::Kind::kComposite, ""};
    return {Support::Kind::kMissing, fmt::format("{} has no reference kernel.", op.id)};
  }

  Result<void> legal(const Graph&, const Node& node) const override {
    if (is_graph_only(*node.op) || node.op->reference != nullptr) return {};
    return fail::unimplemented("Backend reference cannot run {} (node '{}'): it has no kernel.",
                               node.op->id, node.name);
  }

  Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                            const CompileOptions& options) const override {
    QUERN_ASSIGN_OR_RETURN(auto outputs, readable_outputs(graph, options.readable));
    return std::make_unique<reference::GraphArtifact>(graph, std::move(outputs));
  }

  Result<void> validate(const Artifact& artifact) const override {
    // Artifacts come as a base class; one of another backend is the caller's mistake, not a crash.
    const auto* own = dynamic_cast<const reference::GraphArtifact*>(&artifact);
    if (own == nullptr) {
      return fail::invalid("The artifact was not compiled by the backend reference.");
    }
    return verify(own->graph());
  }

  Result<std::vector<DeviceDescription>> devices() const override {
    return std::vector<DeviceDescription>{
        {"reference", "the definition: plain loops on one thread of this machine"}};
  }

  Result<std::unique_ptr<Device>> open(const DeviceOptions&) const override {
    return reference::make_device();
  }

 private:
  // Opened anew each time, which costs an allocation; a copy kept here would be a second source.
  static Capabilities capabilities() { return reference::make_device()->capabilities(); }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace quern
