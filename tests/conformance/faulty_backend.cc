// Wraps the reference backend; results are spoiled after the run.
#include "conformance/faulty_backend.h"

#include <cmath>
#include <cstring>

#include "backends/reference/backend.h"
#include "base/fail.h"
#include "conformance/host_values.h"
#include "quern/op.h"

namespace quern::test {
namespace {

struct Plan {
  std::string op;
  Fault fault = Fault::kNone;
  bool is_approximate = false;
};

class FaultyArtifact final : public Artifact {
 public:
  const Graph& graph() const override { return inner->graph(); }

  std::unique_ptr<Artifact> inner;
  bool is_affected = false;  // the graph has the operation
};

bool has_op(const Graph& graph, const std::string& op) {
  for (const Node& node : graph.nodes()) {
    if (node.op->id == op) return true;
  }
  return false;
}

// 0x7C and above are the exponents of infinities and NaN (and of the largest numbers) in f32 and
// f64.
// Moves the last bit of an element of four bytes or more, unless that may be a NaN or an infinity:
// the bits of its exponent are ones.
void nudge(std::span<std::byte> bytes, size_t element, size_t size) {
  const auto high = static_cast<uint8_t>(bytes[element * size + size - 1]) & 0x7F;
  if (size < 4 || high >= 0x7C) return;
  bytes[element * size] ^= std::byte{1};
}

class FinishedSubmission final : public Submission {
 public:
  explicit FinishedSubmission(Result<RunResult> result) : result_(std::move(result)) {}
  Result<RunResult> wait() override { return std::move(result_); }

 private:
  Result<RunResult> result_;
};

class FaultyExecutable final : public Executable {
 public:
  FaultyExecutable(std::unique_ptr<Executable> inner, Plan plan, bool is_affected, int num_threads)
      : inner_(std::move(inner)),
        plan_(std::move(plan)),
        is_affected_(is_affected),
        num_threads_(num_threads) {}

  Result<std::unique_ptr<Submission>> submit(const RunArguments& arguments) override {
    auto result = inner_->run(arguments);
    ++num_runs_;
    if (is_affected_) result = spoil(std::move(result), arguments);
    return std::make_unique<FinishedSubmission>(std::move(result));
  }
  int64_t weight_bytes() const override { return inner_->weight_bytes(); }
  int64_t arena_bytes() const override { return inner_->arena_bytes(); }

 private:
  Result<RunResult> spoil(Result<RunResult> result, const RunArguments& arguments) const;
  void spoil_first(Tensor& tensor) const;
  void truncate_sum(Tensor& tensor, const RunArguments& arguments) const;

  std::unique_ptr<Executable> inner_;
  Plan plan_;
  bool is_affected_;
  int num_threads_;
  int num_runs_ = 0;
};

// After the true run: everything but the planted fault is right.
Result<RunResult> FaultyExecutable::spoil(Result<RunResult> result,
                                          const RunArguments& arguments) const {
  if (plan_.fault == Fault::kFails) return fail::internal("The kernel is out of order.");
  if (!result) {
    if (plan_.fault == Fault::kWrongCode) return fail::unavailable("{}", result.error().message);
    if (plan_.fault != Fault::kNoRefusal) return result;
    RunResult made;
    for (const auto& [name, tensor] : arguments.outputs) made.values.emplace_back(name, tensor);
    return made;
  }
  if (result->values.empty()) return result;
  Tensor& first = result->values.front().second;
  if (plan_.fault == Fault::kTruncates) truncate_sum(first, arguments);
  spoil_first(first);
  return result;
}

// The true result is the nearest number: where it lies beyond the exact sum, the next one towards
// zero is what cutting off gives. Bit patterns of one sign are in the order of their magnitudes.
void FaultyExecutable::truncate_sum(Tensor& tensor, const RunArguments& arguments) const {
  const bool is_narrow = tensor.dtype() == DType::kF16 || tensor.dtype() == DType::kBF16;
  if (!is_narrow || arguments.inputs.size() != 2) return;
  const auto a = numbers_of(arguments.inputs.begin()->second);
  const auto b = numbers_of(arguments.inputs.rbegin()->second);
  const auto sums = numbers_of(tensor);
  const auto view = tensor.buffer().mutable_host_view();
  if (!a || !b || !sums || !view || a->size() != sums->size() || b->size() != sums->size()) return;
  for (size_t i = 0; i < sums->size(); ++i) {
    // NaN and infinity compare false or are not beyond.
    const double exact = (*a)[i] + (*b)[i];
    if (!std::isfinite((*sums)[i]) || !(std::abs((*sums)[i]) > std::abs(exact))) continue;
    uint16_t bits = 0;
    std::memcpy(&bits, view->data() + 2 * i, 2);
    --bits;
    std::memcpy(view->data() + 2 * i, &bits, 2);
  }
}

void FaultyExecutable::spoil_first(Tensor& tensor) const {
  const auto view = tensor.buffer().mutable_host_view();
  const auto size = static_cast<size_t>(dtype_info(tensor.dtype()).block_bytes);
  if (!view || view->empty()) return;
  const size_t last = view->size() / size - 1;
  switch (plan_.fault) {
    case Fault::kOneUlp:
      nudge(*view, last / 2, size);
      break;
    case Fault::kLastRow: {
      const int64_t columns = tensor.shape().rank() == 0 ? 1 : tensor.shape().last();
      const size_t row = static_cast<size_t>(columns) * size;
      // 0xFF is NaN in floats and -1 in integers: values that no case expects.
      std::memset(view->data() + view->size() - row, 0xFF, row);
      break;
    }
    case Fault::kOverrun:
      // The suite gives results memory with guards on both sides, so that this writes into its own
      // block.
      view->data()[view->size()] ^= std::byte{0xFF};  // inside the caller's guarded block
      break;
    case Fault::kUnderrun:
      view->data()[-1] ^= std::byte{0xFF};
      break;
    case Fault::kThreadCount:
      // The suite runs with 1 and with 3 threads beside the number asked for.
      if (num_threads_ > 2) nudge(*view, last, size);
      break;
    case Fault::kEveryOtherRun:
      if (num_runs_ % 2 == 0) nudge(*view, 0, size);
      break;
    case Fault::kBatch:
      if (tensor.shape().rank() > 0 && tensor.shape()[0] > 1) nudge(*view, 0, size);
      break;
    default:
      break;
  }
}

class FaultyDevice final : public Device {
 public:
  FaultyDevice(std::unique_ptr<Device> inner, Plan plan, int num_threads)
      : inner_(std::move(inner)), plan_(std::move(plan)), num_threads_(num_threads) {
    capabilities_ = inner_->capabilities();
    capabilities_.correctness =
        plan_.is_approximate ? CorrectnessClass::kApprox : CorrectnessClass::kBitExact;
  }
  const DeviceDescription& description() const override { return inner_->description(); }
  const Capabilities& capabilities() const override { return capabilities_; }
  DeviceCapacity capacity() const override { return inner_->capacity(); }
  Result<Buffer> allocate(int64_t size_bytes) override { return inner_->allocate(size_bytes); }
  Result<std::unique_ptr<Executable>> load(const Artifact& artifact, const WeightSource* weights,
                                           const Progress& progress) override {
    // The suite only loads what this backend compiled.
    const auto& faulty = static_cast<const FaultyArtifact&>(artifact);
    QUERN_ASSIGN_OR_RETURN(auto inner, inner_->load(*faulty.inner, weights, progress));
    return std::make_unique<FaultyExecutable>(std::move(inner), plan_, faulty.is_affected,
                                              num_threads_);
  }
  Result<std::unique_ptr<KvStore>> make_kv_store(const StateDecl& declaration) override {
    return inner_->make_kv_store(declaration);
  }

 private:
  std::unique_ptr<Device> inner_;
  Plan plan_;
  int num_threads_;
  Capabilities capabilities_;
};

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(Plan plan) : inner_(make_reference_backend()), plan_(std::move(plan)) {}
  std::string_view name() const override { return "faulty"; }
  Result<Capabilities> default_caps(std::string_view arch) const override {
    return inner_->default_caps(arch);
  }
  Support supports(const OpDef& op) const override { return inner_->supports(op); }
  Result<void> legal(const Graph& graph, const Node& node) const override {
    return inner_->legal(graph, node);
  }
  Result<std::unique_ptr<Artifact>> compile(const Graph& graph,
                                            const CompileOptions& options) const override {
    auto artifact = std::make_unique<FaultyArtifact>();
    artifact->is_affected = has_op(graph, plan_.op);
    QUERN_ASSIGN_OR_RETURN(artifact->inner, inner_->compile(graph, options));
    return artifact;
  }
  Result<void> validate(const Artifact& artifact) const override {
    return inner_->validate(*static_cast<const FaultyArtifact&>(artifact).inner);
  }
  Result<std::vector<DeviceDescription>> devices() const override { return inner_->devices(); }
  Result<std::unique_ptr<Device>> open(const DeviceOptions& options) const override {
    QUERN_ASSIGN_OR_RETURN(auto device, inner_->open(options));
    return std::make_unique<FaultyDevice>(std::move(device), plan_, options.num_threads);
  }

 private:
  std::unique_ptr<Backend> inner_;
  Plan plan_;
};

}  // namespace

std::unique_ptr<Backend> make_faulty_backend(std::string op, Fault fault, bool is_approximate) {
  return std::make_unique<FaultyBackend>(Plan{std::move(op), fault, is_approximate});
}

}  // namespace quern::test
