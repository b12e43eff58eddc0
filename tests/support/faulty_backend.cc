#include "support/faulty_backend.h"

#include <utility>

#include "passes/graph_copier.h"

namespace quern::test {
namespace {

// Loads and runs as the inner one does; only what it says of itself is changed.
class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, const FaultyOptions& options)
      : inner_(std::move(inner)), capabilities_(inner_->capabilities()) {
    capabilities_.has_f64 = options.has_f64.value_or(capabilities_.has_f64);
    capabilities_.correctness = options.correctness.value_or(capabilities_.correctness);
  }
  const DeviceDescription& description() const override { return inner_->description(); }
  const Capabilities& capabilities() const override { return capabilities_; }
  DeviceCapacity capacity() const override { return inner_->capacity(); }
  Result<Buffer> allocate(int64_t size_bytes) override { return inner_->allocate(size_bytes); }
  Result<std::unique_ptr<Executable>> load(const Artifact& artifact, const WeightSource* weights,
                                           const Progress& progress) override {
    return inner_->load(artifact, weights, progress);
  }
  Result<void> keep_packed_weights(const std::string& folder) override {
    return inner_->keep_packed_weights(folder);
  }
  Result<std::unique_ptr<KvStore>> make_kv_store(const StateDecl& declaration) override {
    return inner_->make_kv_store(declaration);
  }

 private:
  std::unique_ptr<Device> inner_;
  Capabilities capabilities_;
};

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, FaultyOptions options)
      : inner_(std::move(inner)), options_(std::move(options)) {}

  std::string_view name() const override { return options_.name; }
  Result<Capabilities> default_caps(std::string_view arch) const override {
    QUERN_ASSIGN_OR_RETURN(Capabilities capabilities, inner_->default_caps(arch));
    capabilities.has_f64 = options_.has_f64.value_or(capabilities.has_f64);
    return capabilities;
  }
  Support supports(const OpDef& op) const override { return inner_->supports(op); }
  // Of the graph as it was, before the fault.
  Result<void> legal(const Graph& graph, const Node& node) const override {
    return inner_->legal(graph, node);
  }
  Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                            const CompileOptions& options) const override {
    if (!options_.fault) return inner_->compile(graph, options);
    QUERN_ASSIGN_OR_RETURN(const Graph changed, options_.fault(graph, options));
    return inner_->compile(changed, options);
  }
  Result<void> validate(const Artifact& artifact) const override {
    return inner_->validate(artifact);
  }
  Result<std::vector<DeviceDescription>> devices() const override { return inner_->devices(); }
  Result<std::unique_ptr<Device>> open(const DeviceOptions& options) const override {
    QUERN_ASSIGN_OR_RETURN(auto device, inner_->open(options));
    return std::make_unique<FaultyDevice>(std::move(device), options_);
  }

 private:
  std::unique_ptr<Backend> inner_;
  FaultyOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_faulty_backend(std::unique_ptr<Backend> inner,
                                             FaultyOptions options) {
  return std::make_unique<FaultyBackend>(std::move(inner), std::move(options));
}

// Names of values stay, so that comparisons by name still find each pair.
GraphFault change_attribute(std::string name, std::string attribute, AttributeValue value) {
  return [=](const Graph& graph, const CompileOptions&) -> Result<Graph> {
    GraphCopier copier(graph);
    for (const Node& node : graph.nodes()) {
      Node copy = node;
      if (node.name == name) copy.attributes.set(attribute, value);
      copier.copy(copy);
    }
    return copier.finish();
  };
}

}  // namespace quern::test
