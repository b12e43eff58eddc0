// A plan with the graph's symbols bound: shapes, offsets in the arena, views of each step.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/loaded_values.h"
#include "backends/cpu/plan.h"
#include "backends/cpu/step.h"

namespace quern::cpu {

// Where the bytes of a run are; attach() gives every view its address.
struct RunMemory {
  std::byte* arena = nullptr;
  std::span<std::byte* const> inputs;   // by graph input
  std::span<std::byte* const> results;  // by MemoryPlan::result_storages
};

// One thread only.
class BoundPlan {
 public:
  // Errors: an extent or a size past the limits.
  static Result<BoundPlan> make(const Graph& graph, const MemoryPlan& plan,
                                const LoadedValues& loaded, const SymbolValues& symbols);

  const SymbolValues& symbols() const { return symbols_; }
  int64_t arena_bytes() const { return sizes_.arena_bytes; }
  // Of a value, and the size of a storage, under these symbols.
  const Shape& shape(ValueId value) const { return shapes_[static_cast<size_t>(value)]; }
  int64_t storage_bytes(int32_t storage) const {
    return sizes_.storage_bytes[static_cast<size_t>(storage)];
  }

  // Gives every view its address in `memory`, which must live until the next call.
  void attach(const RunMemory& memory);
  // Views and packed forms of a step; valid until the next attach().
  StepContext context(size_t step) const;
  // Address of a storage after attach().
  const std::byte* data(int32_t storage) const { return bases_[static_cast<size_t>(storage)]; }

 private:
  // Where the views and packed forms of a step are.
  struct StepPlace {
    size_t first_input = 0;
    size_t num_inputs = 0;
    size_t num_outputs = 0;  // they follow the inputs
    int32_t packed_input = kNoStorage;
    int32_t packed_output = kNoStorage;
  };
  explicit BoundPlan(const SymbolValues& symbols) : symbols_(symbols) {}
  void make_views(const Graph& graph, const MemoryPlan& plan);
  void add_view(const Graph& graph, const MemoryPlan& plan, ValueId value);

  SymbolValues symbols_;
  std::vector<Shape> shapes_;          // by value
  std::vector<TensorView> views_;      // of all steps
  std::vector<int32_t> view_storage_;  // by view; kNoStorage: no data
  std::vector<StepPlace> places_;      // by step
  PlanSizes sizes_;
  std::vector<Storage> storages_;  // the plan's
  std::vector<std::byte*> bases_;  // by storage, after attach()
  bool is_attached_ = false;
};

}  // namespace quern::cpu
