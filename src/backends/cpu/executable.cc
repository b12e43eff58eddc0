// Loading of steps, and runs.
#include "backends/cpu/executable.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <list>

#include "backends/cpu/bound_plan.h"
#include "backends/cpu/pack_values.h"
#include "backends/cpu/result_buffers.h"
#include "backends/cpu/shared_tables.h"
#include "backends/cpu/state_binding.h"
#include "backends/cpu/step_profile.h"
#include "base/fail.h"
#include "hw/host_memory.h"
#include "quern/op.h"
#include "runtime/binding.h"
#include "runtime/host_kv_store.h"
#include "runtime/node_timer.h"

namespace quern::cpu {
namespace {

// Memory below this is taken without asking the system first.
constexpr int64_t kAlwaysFits = int64_t{64} << 20;

double gibibytes(int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(int64_t{1} << 30);
}

// Refuses what cannot fit before anything is allocated; `what` begins the sentence.
Result<void> check_room(std::string_view what, int64_t size_bytes) {
  if (size_bytes <= kAlwaysFits) return {};
  const auto available = query_host_memory().available_bytes;
  if (!available || size_bytes <= *available) return {};
  return fail::exhausted("{} needs {:.1f} GiB; the machine has {:.1f} GiB free.", what,
                         gibibytes(size_bytes), gibibytes(*available));
}

// Plans of the last bindings of symbols are kept: decode repeats one, prefill chunks another.
constexpr size_t kMaxBoundPlans = 8;

Error node_error(const Error& error, const Node& node) {
  return error.with_context(fmt::format("Node '{}' ({})", node.name, node.op->id));
}

class FinishedSubmission final : public Submission {
 public:
  explicit FinishedSubmission(RunResult result) : result_(std::move(result)) {}
  Result<RunResult> wait() override { return std::move(result_); }

 private:
  RunResult result_;
};

// Loads once, runs many times; the arena and the plans of recent sizes are kept between runs.
class CpuExecutable final : public Executable {
 public:
  CpuExecutable(const PlanArtifact& artifact, std::shared_ptr<Machine> machine)
      : graph_(artifact.graph()),
        plan_(artifact.plan()),
        inputs_(artifact.graph().inputs()),
        numerics_(artifact.numerics()),
        machine_(std::move(machine)),
        result_buffers_(artifact.plan().memory.result_storages.size()) {
    for (const NodeId id : inputs_) input_names_.push_back(graph_.node(id).name);
    for (const PlannedResult& result : plan_.memory.results) {
      outputs_.push_back({result.name, result.value});
    }
  }

  Result<void> load(const WeightSource* weights, const Progress& progress);
  Result<std::unique_ptr<Submission>> submit(const RunArguments& arguments) override;
  int64_t weight_bytes() const override { return weight_bytes_; }
  int64_t arena_bytes() const override { return arena_.size_bytes() + machine_->scratch_bytes(); }
  void set_profiling(bool is_on) override { is_profiling_ = is_on; }
  std::vector<ProfileEntry> take_profile() override { return profile_.take(); }

 private:
  void find_next_weights();
  Result<BoundPlan*> bind(const SymbolValues& symbols);
  Result<void> grow_arena(int64_t size_bytes);
  Result<void> attach(BoundPlan& bound, const RunArguments& arguments,
                      std::vector<Buffer>& results);
  Result<void> run_steps(const BoundPlan& bound, std::span<HostKvStore* const> states,
                         const RunArguments& arguments);
  Result<void> run_step(size_t index, const StepContext& context);
  Result<Buffer> result_memory(const BoundPlan& bound, int32_t storage, size_t result,
                               const RunArguments& arguments);
  Result<Tensor> result_tensor(const BoundPlan& bound, ValueId value,
                               std::span<const Buffer> results) const;
  Result<RunResult> collect(const BoundPlan& bound, const RunArguments& arguments,
                            std::span<const Buffer> results) const;

  Graph graph_;
  Plan plan_;
  std::vector<NodeId> inputs_;
  Numerics numerics_;
  std::vector<std::string> input_names_;
  std::vector<GraphOutput> outputs_;  // and readable values
  std::shared_ptr<Machine> machine_;
  std::optional<LoadedValues> loaded_;
  std::vector<std::unique_ptr<Step>> steps_;
  // By step: the weights that the first step after it with weights reads.
  std::vector<std::span<const std::byte>> next_weights_;
  std::shared_ptr<DeferredPacking> deferred_packing_;
  std::list<BoundPlan> bound_plans_;  // most recently used first
  ResultBuffers result_buffers_;
  Buffer arena_;
  // An address for inputs without bytes, since null means absent.
  alignas(64) std::array<std::byte, 64> nothing_{};
  int64_t weight_bytes_ = 0;
  bool is_profiling_ = false;
  StepProfile profile_;
};

int64_t packed_weight_size(const Graph& graph, const PlannedStep& step) {
  int64_t size = 0;
  for (const int port : {step.entry->packed_weight, step.entry->second_packed_weight}) {
    if (port < 0) continue;
    const ValueId weight = graph.node(step.node).inputs[static_cast<size_t>(port)];
    const TensorType& type = graph.value(weight).type;
    const auto shape = type.resolve(SymbolValues{});
    if (shape) size += dense_size_bytes(type.dtype, *shape).value_or(0);
  }
  return size;
}

// Packs weights one after another, but those that can wait, and lets go of the source: a mapped
// file need not stay in memory beside its packed form.
Result<void> CpuExecutable::load(const WeightSource* weights, const Progress& progress) {
  int64_t total = 0;
  int64_t done = 0;
  for (const PlannedStep& step : plan_.steps) total += packed_weight_size(graph_, step);
  QUERN_TRY(check_room("Packing the weights", total));
  QUERN_ASSIGN_OR_RETURN(loaded_, LoadedValues::make(graph_, plan_, weights));
  SharedTables tables(*machine_, loaded_->mappings());
  QUERN_ASSIGN_OR_RETURN(tables.pack_cache(), open_pack_cache(graph_, plan_, *loaded_, *machine_));
  for (const PlannedStep& step : plan_.steps) {
    auto made = step.entry->make({graph_, step.node, *machine_, *loaded_, tables, numerics_});
    if (!made) return tl::unexpected(node_error(made.error(), graph_.node(step.node)));
    weight_bytes_ += (*made)->weight_bytes();
    steps_.push_back(std::move(*made));
    const int64_t size = packed_weight_size(graph_, step);
    done += size;
    if (progress && size > 0) progress(done, total);
  }
  QUERN_TRY(tables.pack_cache().save());
  loaded_->release_source();
  deferred_packing_ = tables.deferred();
  find_next_weights();
  return {};
}

void CpuExecutable::find_next_weights() {
  next_weights_.resize(steps_.size());
  std::span<const std::byte> next;
  for (size_t i = steps_.size(); i-- > 0;) {
    next_weights_[i] = next;
    if (!steps_[i]->weights().empty()) next = steps_[i]->weights();
  }
}

// The plan for these extents, made at their first run and kept while it is used.
Result<BoundPlan*> CpuExecutable::bind(const SymbolValues& symbols) {
  for (auto it = bound_plans_.begin(); it != bound_plans_.end(); ++it) {
    if (!(it->symbols() == symbols)) continue;
    bound_plans_.splice(bound_plans_.begin(), bound_plans_, it);
    return &bound_plans_.front();
  }
  QUERN_ASSIGN_OR_RETURN(BoundPlan bound, BoundPlan::make(graph_, plan_.memory, *loaded_, symbols));
  if (bound_plans_.size() == kMaxBoundPlans) bound_plans_.pop_back();
  bound_plans_.push_front(std::move(bound));
  return &bound_plans_.front();
}

// Grows only: a decode step after a prefill finds more than it needs.
Result<void> CpuExecutable::grow_arena(int64_t size_bytes) {
  if (size_bytes <= arena_.size_bytes()) return {};
  QUERN_TRY(check_room("A run of this size", size_bytes));
  arena_ = Buffer();  // the old one is not needed while the new one is made
  QUERN_ASSIGN_OR_RETURN(arena_, Buffer::allocate_host(size_bytes));
  return {};
}

Result<std::byte*> mutable_data(Buffer& buffer) {
  QUERN_ASSIGN_OR_RETURN(const auto bytes, buffer.mutable_host_view());
  return bytes.data();
}

// Memory of a result's storage: the caller's where it gave some for a result that fills it.
Result<Buffer> CpuExecutable::result_memory(const BoundPlan& bound, int32_t storage, size_t result,
                                            const RunArguments& arguments) {
  const int64_t size_bytes = bound.storage_bytes(storage);
  for (const PlannedResult& planned : plan_.memory.results) {
    if (plan_.memory.value_storage[static_cast<size_t>(planned.value)] != storage) continue;
    QUERN_ASSIGN_OR_RETURN(
        const Tensor* output,
        find_bound_output(arguments, planned.name, graph_.value(planned.value).type.dtype,
                          bound.shape(planned.value)));
    if (output != nullptr && output->size_bytes() == size_bytes) return output->buffer();
  }
  return result_buffers_.take(result, size_bytes);
}

Result<void> CpuExecutable::attach(BoundPlan& bound, const RunArguments& arguments,
                                   std::vector<Buffer>& results) {
  RunMemory memory;
  std::vector<std::byte*> inputs;
  for (const std::string& name : input_names_) {
    const auto it = arguments.inputs.find(name);
    QUERN_ASSIGN_OR_RETURN(const auto bytes, it->second.host_view());
    // Steps do not write their inputs; read-only storage is viewed without its const.
    inputs.push_back(bytes.empty() ? nothing_.data() : const_cast<std::byte*>(bytes.data()));
  }
  std::vector<std::byte*> outputs;
  for (const int32_t storage : plan_.memory.result_storages) {
    QUERN_ASSIGN_OR_RETURN(Buffer buffer, result_memory(bound, storage, results.size(), arguments));
    QUERN_ASSIGN_OR_RETURN(std::byte * data, mutable_data(buffer));
    outputs.push_back(data);
    results.push_back(std::move(buffer));
  }
  QUERN_TRY(grow_arena(bound.arena_bytes()));
  if (!arena_.is_empty()) {
    QUERN_ASSIGN_OR_RETURN(memory.arena, mutable_data(arena_));
  }
  memory.inputs = inputs;
  memory.results = outputs;
  bound.attach(memory);
  return {};
}

Result<void> CpuExecutable::run_steps(const BoundPlan& bound, std::span<HostKvStore* const> states,
                                      const RunArguments& arguments) {
  for (size_t i = 0; i < steps_.size(); ++i) {
    StepContext context = bound.context(i);
    const PlannedStep& planned = plan_.steps[i];
    if (planned.state >= 0) context.kv = states[static_cast<size_t>(planned.state)];
    context.stream = arguments.stream;
    machine_->pool.expect(next_weights_[i]);
    const NodeTimer timer(arguments.profile, planned.node);
    const auto done = run_step(i, context);
    if (!done) return tl::unexpected(node_error(done.error(), graph_.node(planned.node)));
  }
  return {};
}

Result<void> CpuExecutable::run_step(size_t index, const StepContext& context) {
  if (!is_profiling_) return steps_[index]->run(context);
  const auto start = std::chrono::steady_clock::now();
  QUERN_TRY(steps_[index]->run(context));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  profile_.add(graph_.node(plan_.steps[index].node), *steps_[index], context, taken.count());
  return {};
}

// A result in memory of its own: the buffer that steps wrote, or a copy of an input or weight.
Result<Tensor> CpuExecutable::result_tensor(const BoundPlan& bound, ValueId value,
                                            std::span<const Buffer> results) const {
  const int32_t id = plan_.memory.value_storage[static_cast<size_t>(value)];
  const Storage& storage = plan_.memory.storages[static_cast<size_t>(id)];
  const DType dtype = graph_.value(value).type.dtype;
  if (storage.home == Home::kResult) {
    return Tensor::make(dtype, bound.shape(value), results[static_cast<size_t>(storage.index)]);
  }
  const auto size = static_cast<size_t>(bound.storage_bytes(id));
  return Tensor::from_bytes(dtype, bound.shape(value), {bound.data(id), size});
}

// Results in the caller's memory where it gave some; what was not computed there is copied.
Result<RunResult> CpuExecutable::collect(const BoundPlan& bound, const RunArguments& arguments,
                                         std::span<const Buffer> results) const {
  RunResult result;
  for (const PlannedResult& planned : plan_.memory.results) {
    QUERN_ASSIGN_OR_RETURN(Tensor tensor, result_tensor(bound, planned.value, results));
    QUERN_ASSIGN_OR_RETURN(const Tensor* output, find_bound_output(arguments, planned.name,
                                                                   tensor.dtype(), tensor.shape()));
    if (output != nullptr) {
      QUERN_TRY(copy_to_output(tensor, *output));
      tensor = *output;
    }
    result.values.emplace_back(planned.name, std::move(tensor));
  }
  return result;
}

// Runs to its end before it returns: the host is the device.
Result<std::unique_ptr<Submission>> CpuExecutable::submit(const RunArguments& arguments) {
  QUERN_ASSIGN_OR_RETURN(const SymbolValues symbols, bind_arguments(graph_, inputs_, arguments));
  QUERN_TRY(check_output_names(arguments, outputs_));
  QUERN_ASSIGN_OR_RETURN(const auto states, bind_states(graph_, arguments));
  QUERN_ASSIGN_OR_RETURN(BoundPlan * bound, bind(symbols));
  std::vector<Buffer> results;
  QUERN_TRY(attach(*bound, arguments, results));
  if (deferred_packing_->take_news()) find_next_weights();
  QUERN_TRY(run_steps(*bound, states, arguments));
  deferred_packing_->end_run();
  QUERN_ASSIGN_OR_RETURN(RunResult result, collect(*bound, arguments, results));
  return std::make_unique<FinishedSubmission>(std::move(result));
}

}  // namespace

Result<std::unique_ptr<Executable>> make_executable(const PlanArtifact& artifact,
                                                    std::shared_ptr<Machine> machine,
                                                    const WeightSource* weights,
                                                    const Progress& progress) {
  auto executable = std::make_unique<CpuExecutable>(artifact, std::move(machine));
  QUERN_TRY(executable->load(weights, progress));
  return executable;
}

}  // namespace quern::cpu
