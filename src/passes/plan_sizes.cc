// Bytes and addresses of a memory plan for one binding of symbols.
#include <algorithm>

#include "base/fail.h"
#include "passes/arena_layout.h"
#include "passes/memory_plan.h"
#include "quern/op.h"
#include "quern/tensor.h"

namespace quern {
namespace {

// 64 TiB: sums of sizes stay far from overflow, and no machine has as much.
constexpr int64_t kMaxArenaBytes = int64_t{1} << 46;

// Bytes of a value as its dtype packs them.
Result<int64_t> value_bytes(const Graph& graph, ValueId value, std::span<const Shape> shapes) {
  return dense_size_bytes(graph.value(value).type.dtype, shapes[static_cast<size_t>(value)]);
}

// A packed form has the size that the backend says.
Result<int64_t> storage_bytes(const Graph& graph, const MemoryPlan& plan, const Storage& storage,
                              std::span<const Shape> shapes) {
  // Several values share a storage in place: equal shapes and dtypes, so that the first one's size
  // is that of all.
  if (!storage.is_packed) return value_bytes(graph, storage.value, shapes);
  const Node& node = graph.node(graph.value(storage.value).producer);
  std::vector<Shape> outputs;
  // The packed form holds all outputs of the node together.
  for (const ValueId output : node.outputs) outputs.push_back(shapes[static_cast<size_t>(output)]);
  return plan.packed_bytes(node, outputs);
}

// Each value of the arena for itself; views and packed forms have no values of their own.
Result<int64_t> sum_of_values(const Graph& graph, const MemoryPlan& plan, const PlanSizes& sizes,
                              std::span<const Shape> shapes) {
  int64_t sum = 0;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    // Views have no bytes of their own, so that they are not in the sum of an unplanned run either.
    if (plan.storages[i].is_packed) sum += sizes.storage_bytes[i];
  }
  for (const MemoryStep& step : plan.steps) {
    for (const ValueId value : graph.node(step.node).outputs) {
      const int32_t storage = plan.value_storage[static_cast<size_t>(value)];
      if (storage == kNoStorage) continue;
      // Results leave with the caller in either case; inputs and weights are there before.
      if (plan.storages[static_cast<size_t>(storage)].home != Home::kArena) continue;
      QUERN_ASSIGN_OR_RETURN(const int64_t size, value_bytes(graph, value, shapes));
      sum += size;
    }
  }
  return sum;
}

// The step at which the values that are alive take the most.
void find_high_water(const MemoryPlan& plan, PlanSizes& sizes) {
  std::vector<int64_t> change(plan.steps.size() + 1, 0);
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (storage.home != Home::kArena) continue;
    // kForever, of a plan without reuse, would point past the table.
    const auto last = std::min<size_t>(static_cast<size_t>(storage.last) + 1, plan.steps.size());
    change[static_cast<size_t>(storage.first)] += sizes.storage_bytes[i];
    change[last] -= sizes.storage_bytes[i];
  }
  int64_t alive = 0;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    alive += change[step];
    // Strictly more: the first of equal steps is reported.
    if (alive <= sizes.high_water_bytes) continue;
    sizes.high_water_bytes = alive;
    sizes.high_water_step = static_cast<int64_t>(step);
  }
}

}  // namespace

// The shape of every value for one binding of the symbols.
Result<std::vector<Shape>> resolve_shapes(const Graph& graph, const SymbolValues& symbols) {
  std::vector<Shape> shapes;
  shapes.reserve(graph.values().size());
  for (const Value& value : graph.values()) {
    QUERN_ASSIGN_OR_RETURN(Shape shape, value.type.resolve(symbols));
    shapes.push_back(shape);
  }
  return shapes;
}

// Sizes, offsets and totals for one run. Costs a sort of the storages; a run with other symbols
// needs new sizes but no new plan.
Result<PlanSizes> size_plan(const Graph& graph, const MemoryPlan& plan,
                            std::span<const Shape> shapes) {
  PlanSizes sizes;
  std::vector<ArenaRequest> requests;
  std::vector<size_t> in_arena;
  int64_t sum = 0;
  for (size_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    QUERN_ASSIGN_OR_RETURN(const int64_t size, storage_bytes(graph, plan, storage, shapes));
    sizes.storage_bytes.push_back(size);
    if (storage.home != Home::kArena) continue;
    requests.push_back({size, storage.first, storage.last});
    in_arena.push_back(i);
    // Clamped before it is added: two sizes near 2^62 would overflow the sum that must refuse them.
    sum += std::min(size, kMaxArenaBytes + 1);
    if (sum > kMaxArenaBytes) {
      return fail::exhausted("The values of a run take more than {} bytes.", kMaxArenaBytes);
    }
  }
  const ArenaLayout layout = lay_out_arena(requests);
  sizes.offsets.assign(plan.storages.size(), 0);
  // Requests are those of the arena alone; the rest keeps offset 0.
  for (size_t i = 0; i < in_arena.size(); ++i) sizes.offsets[in_arena[i]] = layout.offsets[i];
  sizes.arena_bytes = layout.size_bytes;
  find_high_water(plan, sizes);
  QUERN_ASSIGN_OR_RETURN(sizes.unplanned_bytes, sum_of_values(graph, plan, sizes, shapes));
  return sizes;
}

}  // namespace quern
