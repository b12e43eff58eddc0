// Adapters and the weights they bring.
#include "models/adapter.h"

#include "base/fail.h"

namespace quern {

// Shapes of the factors are checked by the products that they join.
Result<std::shared_ptr<const Adapter>> make_adapter(const Metadata& metadata,
                                                    std::shared_ptr<const WeightSource> weights,
                                                    std::string_view architecture, double scale,
                                                    std::string prefix) {
  // "general.type" is "model" in model files: one given as an adapter by mistake stops here, before
  // its tensors are looked at.
  QUERN_ASSIGN_OR_RETURN(const std::string_view kind, metadata.text("general.type"));
  QUERN_ASSIGN_OR_RETURN(const std::string_view type, metadata.text_or("adapter.type", ""));
  if (kind != "adapter" || type != "lora") {
    return fail::invalid("The file is of type '{}' ('{}'); it must be an adapter of type 'lora'.",
                         kind, type);
  }
  QUERN_ASSIGN_OR_RETURN(const std::string_view made_for, metadata.text("general.architecture"));
  if (made_for != architecture) {
    return fail::invalid("The adapter is for '{}'; the model is '{}'.", made_for, architecture);
  }
  // Null weights are for callers that only want the metadata checked.
  if (weights != nullptr && weights->list().empty())
    return fail::invalid("The adapter has no tensors.");
  auto adapter = std::make_shared<Adapter>();
  QUERN_ASSIGN_OR_RETURN(adapter->alpha, metadata.number_or("adapter.lora.alpha", 0.0));
  adapter->prefix = std::move(prefix);
  adapter->weights = std::move(weights);
  adapter->scale = scale;
  return std::shared_ptr<const Adapter>(std::move(adapter));
}

// Prefixes do not begin each other.
const Adapter* AdaptedWeights::owner(std::string_view name) const {
  for (const auto& adapter : adapters_) {
    // First match is the only match, as prefixes differ and end in '/': "lora.1/" does not begin
    // "lora.10/".
    if (name.starts_with(adapter->prefix)) return adapter.get();
  }
  return nullptr;
}

// The base first.
std::vector<WeightInfo> AdaptedWeights::list() const {
  std::vector<WeightInfo> all = base_.list();
  for (const auto& adapter : adapters_) {
    for (WeightInfo info : adapter->weights->list()) {
      info.name = adapter->prefix + info.name;
      all.push_back(std::move(info));
    }
  }
  return all;
}

std::string AdaptedWeights::stamp() const {
  std::string stamps = base_.stamp();
  // A stamp names the contents of a whole source; without the base's, those of the adapters would
  // name something else, and a cache of packed weights would serve wrong rows.
  if (stamps.empty()) return {};
  for (const auto& adapter : adapters_) {
    const std::string own = adapter->weights->stamp();
    if (own.empty()) return {};
    stamps += adapter->prefix + own;
  }
  return stamps;
}

// With the prefix, as the graph names it.
Result<WeightInfo> AdaptedWeights::info(std::string_view name) const {
  const Adapter* adapter = owner(name);
  if (adapter == nullptr) return base_.info(name);
  QUERN_ASSIGN_OR_RETURN(WeightInfo info,
                         adapter->weights->info(name.substr(adapter->prefix.size())));
  info.name = std::string(name);
  return info;
}

// Without the prefix, as the adapter's file names it.
Result<Tensor> AdaptedWeights::weight(std::string_view name) const {
  const Adapter* adapter = owner(name);
  if (adapter == nullptr) return base_.weight(name);
  return adapter->weights->weight(name.substr(adapter->prefix.size()));
}

}  // namespace quern
