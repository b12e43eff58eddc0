// Loading and guarded runs.
#include "conformance/subject.h"

#include <algorithm>

#include "base/checked_math.h"
#include "base/fail.h"
#include "runtime/binding.h"

namespace quern {
namespace {

// Bytes before and behind a tensor that must stay as they are.
// Four of the widest vectors.
constexpr int64_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};

}  // namespace

// A tensor between guards; its own bytes are 0xFF, which no kernel leaves there by chance. Not
// aligned means: at a multiple of one element only.
Result<GuardedTensor> GuardedTensor::make(DType dtype, const Shape& shape, bool is_aligned) {
  QUERN_ASSIGN_OR_RETURN(const int64_t size_bytes, dense_size_bytes(dtype, shape));
  // One block past the alignment of 64: still where elements of the type may stand.
  const int64_t skew = is_aligned ? 0 : dtype_info(dtype).block_bytes;
  GuardedTensor made;
  made.offset_ = round_up(kGuardBytes, int64_t{64}) + skew;
  QUERN_ASSIGN_OR_RETURN(made.block_,
                         Buffer::allocate_host(made.offset_ + size_bytes + kGuardBytes));
  QUERN_ASSIGN_OR_RETURN(const auto bytes, made.block_.mutable_host_view());
  std::ranges::fill(bytes, kGuard);
  std::ranges::fill(
      bytes.subspan(static_cast<size_t>(made.offset_), static_cast<size_t>(size_bytes)),
      std::byte{0xFF});
  QUERN_ASSIGN_OR_RETURN(Buffer part, made.block_.slice(made.offset_, size_bytes));
  QUERN_ASSIGN_OR_RETURN(made.tensor_, Tensor::make(dtype, shape, std::move(part)));
  return made;
}

// Whether all guards are as they were.
bool GuardedTensor::is_intact() const {
  const auto bytes = block_.host_view();
  if (!bytes) return false;
  const auto first = static_cast<size_t>(offset_);
  const auto last = first + static_cast<size_t>(tensor_.size_bytes());
  const auto is_guard = [](std::byte byte) { return byte == kGuard; };
  return std::ranges::all_of(bytes->subspan(0, first), is_guard) &&
         std::ranges::all_of(bytes->subspan(last), is_guard);
}

// Checks, compiles and loads the graph on one device.
Result<Subject> Subject::load(const Backend& backend, Device& device, const CaseGraph& graph) {
  // As the compiler would ask: a node that the backend refuses is a refusal and no crash.
  for (const Node& node : graph.graph.nodes()) QUERN_TRY(backend.legal(graph.graph, node));
  Subject subject;
  subject.graph_ = graph.graph;
  QUERN_ASSIGN_OR_RETURN(const auto artifact, backend.compile(graph.graph, {}));
  QUERN_ASSIGN_OR_RETURN(subject.executable_, device.load(*artifact, &graph.weights, {}));
  return subject;
}

// Runs into guarded memory, so that a kernel that writes too far is found.
Result<Outcome> Subject::run(const std::map<std::string, Tensor, std::less<>>& inputs,
                             bool is_aligned, const StoreMap& stores) {
  RunArguments arguments{.inputs = inputs, .states = stores, .outputs = {}};
  // Shapes of results follow from the inputs given.
  QUERN_ASSIGN_OR_RETURN(const SymbolValues symbols, bind_arguments(graph_, arguments));
  std::map<std::string, GuardedTensor> guarded;
  for (const GraphOutput& output : graph_.outputs()) {
    const TensorType& type = graph_.value(output.value).type;
    QUERN_ASSIGN_OR_RETURN(const Shape shape, type.resolve(symbols));
    QUERN_ASSIGN_OR_RETURN(GuardedTensor memory,
                           GuardedTensor::make(type.dtype, shape, is_aligned));
    arguments.outputs.emplace(output.name, memory.tensor());
    guarded.emplace(output.name, std::move(memory));
  }
  QUERN_ASSIGN_OR_RETURN(RunResult result, executable_->run(arguments));
  Outcome outcome;
  for (auto& [name, tensor] : result.values) {
    // After the run, so that all threads are done.
    if (!guarded.at(name).is_intact()) outcome.damaged.push_back(name);
    outcome.results.emplace_back(name, std::move(tensor));
  }
  return outcome;
}

}  // namespace quern
