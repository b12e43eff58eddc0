// Sizes and addresses for one binding of symbols.
#include "backends/cpu/bound_plan.h"

#include <algorithm>

#include "backends/cpu/arena_layout.h"
#include "base/checked_math.h"
#include "base/fail.h"

namespace quern::cpu {
namespace {

constexpr int64_t kMaxArenaBytes = int64_t{1} << 46;

}  // namespace

Result<BoundPlan> BoundPlan::make(const Graph& graph, const Plan& plan, const LoadedValues& loaded,
                                  std::span<const std::unique_ptr<Step>> steps,
                                  const SymbolValues& symbols) {
  BoundPlan bound(symbols);
  bound.storages_ = plan.storages;
  QUERN_TRY(bound.resolve_shapes(graph));
  bound.make_views(graph, plan);
  QUERN_TRY(bound.size_storages(graph, plan, steps));
  QUERN_TRY(bound.lay_out(plan));
  bound.bases_.assign(plan.storages.size(), nullptr);
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    if (plan.storages[i].home != Home::kLoaded) continue;
    QUERN_ASSIGN_OR_RETURN(const auto bytes, loaded.kept(plan.storages[i].value).host_view());
    // Steps do not write their inputs; read-only storage is viewed without its const.
    bound.bases_[i] = const_cast<std::byte*>(bytes.data());
  }
  return bound;
}

Result<void> BoundPlan::resolve_shapes(const Graph& graph) {
  for (const Value& value : graph.values()) {
    QUERN_ASSIGN_OR_RETURN(Shape shape, value.type.resolve(symbols_));
    shapes_.push_back(shape);
  }
  return {};
}

void BoundPlan::add_view(const Graph& graph, const Plan& plan, ValueId value) {
  if (value == kNoValue) {
    views_.emplace_back();
    view_storage_.push_back(kNoStorage);
    return;
  }
  views_.push_back({graph.value(value).type.dtype, shape(value), nullptr});
  view_storage_.push_back(plan.value_storage[static_cast<size_t>(value)]);
}

// Views of all steps in one list: inputs, with a view for each declared port, then outputs.
void BoundPlan::make_views(const Graph& graph, const Plan& plan) {
  for (const PlannedStep& step : plan.steps) {
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

StepShapes BoundPlan::step_shapes(size_t step) const {
  const StepPlace& place = places_[step];
  const std::span<const TensorView> views(views_);
  return {views.subspan(place.first_input, place.num_inputs),
          views.subspan(place.first_input + place.num_inputs, place.num_outputs)};
}

Result<void> BoundPlan::size_storages(const Graph& graph, const Plan& plan,
                                      std::span<const std::unique_ptr<Step>> steps) {
  for (const Storage& storage : plan.storages) {
    if (storage.is_packed) {
      const auto step = static_cast<size_t>(storage.first);
      sizes_.push_back(steps[step]->packed_bytes(step_shapes(step)));
      continue;
    }
    QUERN_ASSIGN_OR_RETURN(
        const int64_t size,
        dense_size_bytes(graph.value(storage.value).type.dtype, shape(storage.value)));
    sizes_.push_back(size);
  }
  return {};
}

// Only values of the arena: results, inputs and weights have memory of their own.
Result<void> BoundPlan::lay_out(const Plan& plan) {
  std::vector<ArenaRequest> requests;
  std::vector<size_t> storages;
  int64_t sum = 0;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (storage.home != Home::kArena) continue;
    requests.push_back({sizes_[i], storage.first, storage.last});
    storages.push_back(i);
    sum += std::min(sizes_[i], kMaxArenaBytes + 1);
    if (sum > kMaxArenaBytes) {
      return fail::exhausted("The values of a run take more than {} bytes.", kMaxArenaBytes);
    }
  }
  const ArenaLayout layout = lay_out_arena(requests);
  offsets_.assign(plan.storages.size(), 0);
  for (size_t i = 0; i < storages.size(); ++i) offsets_[storages[i]] = layout.offsets[i];
  arena_bytes_ = layout.size_bytes;
  return {};
}

// Loaded storages have their address from make(); the others change with each run.
void BoundPlan::attach(const RunMemory& memory) {
  bool has_moved = !is_attached_;
  for (size_t i = 0; i < storages_.size(); ++i) {
    const Storage& storage = storages_[i];
    const auto index = static_cast<size_t>(storage.index);
    std::byte* base = bases_[i];
    if (storage.home == Home::kArena) base = memory.arena + offsets_[i];
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
  const StepShapes views = step_shapes(step);
  StepContext context{.inputs = views.inputs, .outputs = views.outputs};
  const auto address = [&](int32_t storage) {
    return storage == kNoStorage ? nullptr : bases_[static_cast<size_t>(storage)];
  };
  context.packed_input = address(place.packed_input);
  context.packed_output = address(place.packed_output);
  return context;
}

}  // namespace quern::cpu
