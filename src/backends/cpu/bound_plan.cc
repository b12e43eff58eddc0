// Sizes and addresses for one binding of symbols.
#include "backends/cpu/bound_plan.h"

#include "base/fail.h"

namespace quern::cpu {

Result<BoundPlan> BoundPlan::make(const Graph& graph, const MemoryPlan& plan,
                                  const LoadedValues& loaded, const SymbolValues& symbols) {
  BoundPlan bound(symbols);
  bound.storages_ = plan.storages;
  QUERN_ASSIGN_OR_RETURN(bound.shapes_, resolve_shapes(graph, symbols));
  bound.make_views(graph, plan);
  QUERN_ASSIGN_OR_RETURN(bound.sizes_, size_plan(graph, plan, bound.shapes_));
  bound.bases_.assign(plan.storages.size(), nullptr);
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].home != Home::kLoaded) continue;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, loaded.kept(plan.storages[i].value).host_view());
    // Steps do not write their inputs; read-only storage is viewed without its const.
    bound.bases_[i] = const_cast<std::byte*>(bytes.data());
  }
  return bound;
}

void BoundPlan::add_view(const Graph& graph, const MemoryPlan& plan, ValueId value) {
  if (value == kNoValue) {
    views_.emplace_back();
    view_storage_.push_back(kNoStorage);
    return;
  }
  views_.push_back({graph.value(value).type.dtype, shape(value), nullptr});
  view_storage_.push_back(plan.value_storage[static_cast<size_t>(value)]);
}

// Views of all steps in one list: inputs, with a view for each declared port, then outputs.
void BoundPlan::make_views(const Graph& graph, const MemoryPlan& plan) {
  for (const MemoryStep& step : plan.steps) {
    const Node& node = graph.node(step.node);
    StepPlace place{.first_input = views_.size()};
    for (const ValueId input : node.inputs) add_view(graph, plan, input);
    for (size_t port = node.inputs.size(); port < node.op->inputs.size(); ++port) {
      add_view(graph, plan, kNoValue);
    }
    place.num_inputs = views_.size() - place.first_input;
    for (const ValueId output : node.outputs) add_view(graph, plan, output);
    place.num_outputs = node.outputs.size();
    place.packed_input = step.packed_input;
    place.packed_output = step.packed_output;
    places_.push_back(place);
  }
}

// Loaded storages have their address from make(); the others change with each run.
void BoundPlan::attach(const RunMemory& memory) {
  bool has_moved = !is_attached_;
  for (size_t i = 0; i < storages_.size(); ++i) {
    const Storage& storage = storages_[i];
    const auto index = static_cast<size_t>(storage.index);
    std::byte* base = bases_[i];
    if (storage.home == Home::kArena) base = memory.arena + sizes_.offsets[i];
    if (storage.home == Home::kInput) base = memory.inputs[index];
    if (storage.home == Home::kResult) base = memory.results[index];
    has_moved |= base != bases_[i];
    bases_[i] = base;
  }
  if (!has_moved) return;  // the usual case while decoding
  is_attached_ = true;
  for (size_t i = 0; i < views_.size(); ++i) {
    const int32_t storage = view_storage_[i];
    views_[i].data = storage == kNoStorage ? nullptr : bases_[static_cast<size_t>(storage)];
  }
}

StepContext BoundPlan::context(size_t step) const {
  const StepPlace& place = places_[step];
  const std::span<const TensorView> views(views_);
  StepContext context{
      .inputs = views.subspan(place.first_input, place.num_inputs),
      .outputs = views.subspan(place.first_input + place.num_inputs, place.num_outputs)};
  const auto address = [&](int32_t storage) {
    return storage == kNoStorage ? nullptr : bases_[static_cast<size_t>(storage)];
  };
  context.packed_input = address(place.packed_input);
  context.packed_output = address(place.packed_output);
  return context;
}

}  // namespace quern::cpu
