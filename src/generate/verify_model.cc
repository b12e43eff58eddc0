// The runs of a model that are compared.
// Prefill and one decoded token touch every node in both of the ways that generation has.
#include "generate/verify_model.h"

#include <algorithm>
#include <utility>

#include "base/fail.h"

namespace quern {
namespace {

Result<Tensor> i32_vector(const std::vector<int32_t>& values) {
  return Tensor::from<int32_t>(DType::kI32, Shape{static_cast<int64_t>(values.size())}, values);
}

// `tokens` at positions from `start` on, of sequence 0; logits of the last one.
Result<ComparedRun> make_run(const LanguageModel& model, std::string name,
                             std::span<const int32_t> tokens, int32_t start) {
  ComparedRun run{
      .name = std::move(name), .inputs = {}, .num_rows = static_cast<int64_t>(tokens.size())};
  std::vector<int32_t> positions;
  for (size_t i = 0; i < tokens.size(); ++i) positions.push_back(start + static_cast<int32_t>(i));
  const std::vector<int32_t> zeros(tokens.size(), 0);
  QUERN_ASSIGN_OR_RETURN(run.inputs["tokens"], i32_vector({tokens.begin(), tokens.end()}));
  QUERN_ASSIGN_OR_RETURN(run.inputs["positions"], i32_vector(positions));
  QUERN_ASSIGN_OR_RETURN(run.inputs["sequences"], i32_vector(zeros));
  QUERN_ASSIGN_OR_RETURN(run.inputs["output_rows"],
                         i32_vector({static_cast<int32_t>(tokens.size()) - 1}));
  // Prompts of a verification are short: all rows take the short factors.
  if (model.long_context_threshold > 0) {
    QUERN_ASSIGN_OR_RETURN(run.inputs["long_context"], i32_vector(zeros));
  }
  return run;
}

struct OpenDevice {
  const Backend* backend = nullptr;
  std::unique_ptr<Device> device;
  ComparedDevice compared() const { return {backend, device.get()}; }
  bool promises_bits() const {
    return device->capabilities().correctness != CorrectnessClass::kApprox;
  }
};

Result<OpenDevice> open_device(const BackendRegistry& backends, const std::string& name,
                               const DeviceOptions& options) {
  OpenDevice open;
  QUERN_ASSIGN_OR_RETURN(open.backend, backends.find(name));
  QUERN_ASSIGN_OR_RETURN(open.device, open.backend->open(options));
  return open;
}

}  // namespace

Result<VerifyReport> verify_model(const ModelFiles& files, std::span<const int32_t> tokens,
                                  const BackendRegistry& backends, const VerifyOptions& options) {
  const LanguageModel& model = files.model;
  if (tokens.empty()) return fail::invalid("There is no token to compare the devices with.");
  for (const int32_t token : tokens) {
    // Ids may come from a receipt, not from this model's tokenizer.
    if (token >= 0 && token < model.vocab_size) continue;
    return fail::out_of_range("Token {} is outside the vocabulary of {}.", token, model.vocab_size);
  }
  QUERN_ASSIGN_OR_RETURN(const OpenDevice device,
                         open_device(backends, options.device, options.device_options));
  if (!options.pack_cache.empty())
    QUERN_TRY(device.device->keep_packed_weights(options.pack_cache));
  QUERN_ASSIGN_OR_RETURN(const OpenDevice against,
                         open_device(backends, options.against, options.against_options));
  VerifyReport report;
  const bool needs_bits =
      options.numerics == Numerics::kStrict && device.promises_bits() && against.promises_bits();
  // A device that promises no bits is held to a tolerance even under strict.
  report.tolerance = options.tolerance.value_or(needs_bits ? 0 : kApproxTolerance);
  // The decoded token is the prompt's first again: any token reads the cache as well as another.
  std::vector<ComparedRun> runs;
  QUERN_ASSIGN_OR_RETURN(
      ComparedRun prefill,
      make_run(model, fmt::format("prefill of {} tokens", tokens.size()), tokens, 0));
  QUERN_ASSIGN_OR_RETURN(ComparedRun decode, make_run(model, "decode of 1 token", tokens.first(1),
                                                      static_cast<int32_t>(tokens.size())));
  runs.push_back(std::move(prefill));
  runs.push_back(std::move(decode));
  for (const ComparedRun& run : runs) report.run_names.push_back(run.name);
  // Lives until the comparison is done: compare_graph() borrows it.
  const AdaptedWeights weights = files.weights();
  const ComparisonOptions comparison{options.numerics, report.tolerance, options.progress};
  QUERN_ASSIGN_OR_RETURN(report.comparison, compare_graph(model.graph, &weights, device.compared(),
                                                          against.compared(), runs, comparison));
  return report;
}

}  // namespace quern
