// The claims, one after the other.
#include "conformance/case_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/fail.h"
#include "conformance/exact_results.h"
#include "conformance/host_values.h"

namespace quern {
namespace {

// Details that a report keeps; the count goes on.
// A broken kernel fails hundreds of checks in the same way: five show the pattern.
constexpr size_t kMaxFailures = 5;

// One combination of sizes and dtype.
struct Case {
  const CasePattern& pattern;
  const SymbolValues& sizes;
  DType dtype;
  std::string where;
};

// The case's place with something about this check of it.
std::string with(const Case& c, std::string_view more) {
  return fmt::format("{}, {}", c.where, more);
}

// The same tensors at addresses that are multiples of an element only.
// Kernels may want aligned memory for speed, never for right answers: a caller's buffer can begin
// anywhere.
Result<std::map<std::string, Tensor, std::less<>>> unaligned(
    const std::map<std::string, Tensor, std::less<>>& inputs) {
  std::map<std::string, Tensor, std::less<>> copies;
  for (const auto& [name, tensor] : inputs) {
    QUERN_ASSIGN_OR_RETURN(const auto bytes, tensor.host_view());
    QUERN_ASSIGN_OR_RETURN(const GuardedTensor copy,
                           GuardedTensor::make(tensor.dtype(), tensor.shape(), false));
    Buffer buffer = copy.tensor().buffer();
    QUERN_TRY(buffer.write(0, bytes));
    copies.emplace(name, copy.tensor());
  }
  return copies;
}

// Results of an approximate backend against the reference's: NaN and infinities where they belong,
// and no number off by more than a thousandth of the largest (and two ulps of a narrow dtype). The
// accuracy claim is what holds single elements to the operation's bound. Operations without an
// error give the same bits.
std::string rough_difference(const Tensor& given, const Tensor& wanted, double bound) {
  // A bound of 0 is that of operations that only move or compare.
  const bool is_exact = bound == 0 || (!is_float(wanted.dtype()) && !is_complex(wanted.dtype()));
  if (is_exact || given.dtype() != wanted.dtype() || !(given.shape() == wanted.shape())) {
    return bit_difference(given, wanted);
  }
  const auto a = numbers_of(given), b = numbers_of(wanted);
  if (!a || !b) return "A result cannot be read.";
  double largest = 0;
  for (const double value : *b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const DType dtype = is_complex(wanted.dtype()) ? DType::kF32 : wanted.dtype();
  // ulp_at(dtype, 1) is the step of the dtype at 1, so relative to the largest result.
  const double tolerance = largest * (1e-3 + 2 * ulp_at(dtype, 1));
  for (size_t i = 0; i < b->size(); ++i) {
    const double x = (*a)[i], y = (*b)[i];
    const bool is_close = std::isfinite(y) ? std::abs(x - y) <= tolerance
                                           : x == y || (std::isnan(x) && std::isnan(y));
    if (!is_close) return fmt::format("Element {} is {}; {} is expected.", i, x, y);
  }
  return "";
}

// The first output that is off; empty if all are within the bound.
std::string bound_difference(const Outcome& actual, const Outcome& expected, double bound) {
  for (size_t i = 0; i < expected.results.size(); ++i) {
    const auto& [name, wanted] = expected.results[i];
    const std::string difference = rough_difference(actual.results[i].second, wanted, bound);
    if (!difference.empty()) return fmt::format("Output '{}': {}", name, difference);
  }
  return "";
}

// The case on the reference and on each device.
struct Loaded {
  Subject reference;
  std::vector<Subject> devices;
};

// Loads the graph everywhere at once: a backend that cannot is told before anything runs.
// The reference first: its errors are those of the case, not of the backend.
Result<Loaded> load_all(TestBench& bench, const CaseGraph& graph) {
  Loaded loaded;
  QUERN_ASSIGN_OR_RETURN(loaded.reference,
                         Subject::load(*bench.reference, *bench.reference_device, graph));
  for (const auto& device : bench.devices) {
    QUERN_ASSIGN_OR_RETURN(Subject subject, Subject::load(*bench.backend, *device, graph));
    loaded.devices.push_back(std::move(subject));
  }
  return loaded;
}

// Results, refusals, guards, repetition and thread counts on one set of values.
void check_values(TestBench& bench, const Case& c, Loaded& loaded, const CaseGraph& graph,
                  ValueSet set, OpReport& report) {
  const std::string where = with(c, fmt::format("values {}", value_set_name(set)));
  const auto expected = loaded.reference.run(graph.inputs, true);
  const auto actual = loaded.devices[0].run(graph.inputs, true);
  ++report.cases;
  // One check, counted under what was expected of it.
  record(report, expected ? Claim::kResult : Claim::kRefusal, where,
         result_difference(bench, *c.pattern.op, actual, expected));
  if (!actual) return;
  record(report, Claim::kGuards, where,
         actual->damaged.empty()
             ? ""
             : fmt::format("Bytes around {} were written.", fmt::join(actual->damaged, ", ")));
  const OpDef& op = *c.pattern.op;
  // On the same executable, whose plan and memory are used a second time.
  record(report, Claim::kRepeat, where,
         result_difference(bench, op, loaded.devices[0].run(graph.inputs, true), actual));
  for (size_t i = 1; i < loaded.devices.size(); ++i) {
    record(report, Claim::kThreads, with(c, bench.device_names[i]),
           result_difference(bench, op, loaded.devices[i].run(graph.inputs, true), actual));
  }
  const auto moved = unaligned(graph.inputs);
  if (!moved) return;
  const auto skewed = loaded.devices[0].run(*moved, false);
  record(report, Claim::kLayout, with(c, "unaligned memory"),
         result_difference(bench, op, skewed, actual));
  if (skewed && !skewed->damaged.empty()) {
    record(report, Claim::kGuards, with(c, "unaligned memory"), "Bytes around it were written.");
  }
}

// The same values through other graphs.
Result<void> check_layouts(TestBench& bench, const Case& c, const std::vector<Tensor>& inputs,
                           OpReport& report) {
  // A kernel that assumes its inputs to be plain inputs of the graph finds here a copy that it may
  // overwrite, strided views, repeated rows, and weights that were packed at load.
  for (const GraphVariant variant : {GraphVariant::kCopied, GraphVariant::kTransposed,
                                     GraphVariant::kBroadcast, GraphVariant::kWeights}) {
    QUERN_ASSIGN_OR_RETURN(const auto graph, make_case_graph(c.pattern, inputs, variant));
    if (!graph) continue;
    auto loaded = load_all(bench, *graph);
    if (!loaded) {
      record(report, Claim::kLayout, with(c, graph_variant_name(variant)), loaded.error().message);
      continue;
    }
    const auto expected = loaded->reference.run(graph->inputs, true);
    // Every thread count: packing and splitting go together.
    for (Subject& device : loaded->devices) {
      record(report, Claim::kLayout, with(c, graph_variant_name(variant)),
             result_difference(bench, *c.pattern.op, device.run(graph->inputs, true), expected));
    }
  }
  return {};
}

// Rows [first, first + count) of the axis that the batch symbol names, of inputs that have it
// first.
Result<std::vector<Tensor>> rows_of(const Case& c, const std::vector<Tensor>& inputs, int64_t first,
                                    int64_t count) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& extents = c.pattern.inputs[i].extents;
    const bool is_batched =
        !inputs[i].is_empty() && !extents.empty() && extents[0] == Dim::symbolic(c.pattern.batch);
    if (!is_batched) {
      parts.push_back(inputs[i]);
      continue;
    }
    std::vector<int64_t> dims(inputs[i].shape().dims().begin(), inputs[i].shape().dims().end());
    QUERN_ASSIGN_OR_RETURN(const auto bytes, inputs[i].host_view());
    // Whole rows of bytes, of whatever dtype: the batch axis is the first.
    const size_t row = bytes.size() / static_cast<size_t>(dims[0]);
    dims[0] = count;
    QUERN_ASSIGN_OR_RETURN(const Shape shape, Shape::make(dims));
    QUERN_ASSIGN_OR_RETURN(Tensor part,
                           Tensor::from_bytes(inputs[i].dtype(), shape,
                                              bytes.subspan(static_cast<size_t>(first) * row,
                                                            static_cast<size_t>(count) * row)));
    parts.push_back(std::move(part));
  }
  return parts;
}

// The bytes of results one after the other, by output.
Result<std::vector<std::vector<std::byte>>> result_bytes(TestBench& bench, const Case& c,
                                                         const std::vector<Tensor>& inputs) {
  QUERN_ASSIGN_OR_RETURN(const auto graph,
                         make_case_graph(c.pattern, inputs, GraphVariant::kPlain));
  QUERN_ASSIGN_OR_RETURN(Subject subject, Subject::load(*bench.backend, *bench.devices[0], *graph));
  QUERN_ASSIGN_OR_RETURN(const Outcome outcome, subject.run(graph->inputs, true));
  std::vector<std::vector<std::byte>> bytes;
  for (const auto& [name, tensor] : outcome.results) {
    QUERN_ASSIGN_OR_RETURN(bytes.emplace_back(), tensor.read());
  }
  return bytes;
}

// The claim that a row's bits do not depend on the rows beside it.
// One row alone and the others together against all of them at once; nothing where the operation
// refuses these inputs.
Result<std::optional<std::string>> batch_difference(TestBench& bench, const Case& c,
                                                    const std::vector<Tensor>& inputs) {
  const int64_t n = c.sizes.get(c.pattern.batch);
  QUERN_ASSIGN_OR_RETURN(const auto first, rows_of(c, inputs, 0, 1));
  QUERN_ASSIGN_OR_RETURN(const auto rest, rows_of(c, inputs, 1, n - 1));
  const auto all_rows = result_bytes(bench, c, inputs);
  if (!all_rows) return std::optional<std::string>();
  const auto& whole = *all_rows;
  QUERN_ASSIGN_OR_RETURN(auto parts, result_bytes(bench, c, first));
  QUERN_ASSIGN_OR_RETURN(const auto others, result_bytes(bench, c, rest));
  for (size_t i = 0; i < whole.size(); ++i) {
    // Outputs have the batch axis first as well, or the table names none.
    parts[i].insert(parts[i].end(), others[i].begin(), others[i].end());
    if (parts[i] != whole[i]) {
      return std::optional<std::string>(
          fmt::format("Output '{}' of {} rows differs from that of 1 and {} rows.",
                      c.pattern.op->outputs[i].name, n, n - 1));
    }
  }
  return std::optional<std::string>("");
}

// Only where the class promises bits, the table names a batch axis, and there are rows to part.
void check_batch(TestBench& bench, const Case& c, const std::vector<Tensor>& inputs,
                 OpReport& report) {
  if (!bench.demands_bits() || c.pattern.batch == 0 || c.sizes.get(c.pattern.batch) < 2) return;
  const auto difference = batch_difference(bench, c, inputs);
  if (!difference) {
    record(report, Claim::kBatch, c.where, difference.error().message);
  } else if (*difference) {
    record(report, Claim::kBatch, c.where, **difference);
  }
}

// f32 and narrower results against exact ones.
Result<void> check_accuracy(TestBench& bench, const Case& c, Subject& subject,
                            const CaseGraph& graph, const std::vector<Tensor>& inputs, ValueSet set,
                            OpReport& report) {
  // Refusals were looked at by check_values().
  const auto actual = subject.run(graph.inputs, true);
  if (!actual) return {};
  ExactReference exact{*bench.reference, *bench.reference_device};
  QUERN_ASSIGN_OR_RETURN(const auto results, exact.run(c.pattern, inputs, bench.seed));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& tensor = actual->results[i].second;
    if (!is_float(tensor.dtype()) && !is_complex(tensor.dtype())) continue;
    QUERN_ASSIGN_OR_RETURN(const auto values, numbers_of(tensor));
    const DType dtype = is_complex(tensor.dtype()) ? DType::kF32 : tensor.dtype();
    const WorstError worst = measure_error(dtype, values, results[i].values, results[i].changes);
    const std::string where = with(c, fmt::format("values {}", value_set_name(set)));
    AccuracyWorst& known = report.worst[std::string(dtype_name(c.dtype))];
    // The first result counts even where its error is 0, so that the report has a place.
    if (worst.units > known.error.units || known.where.empty()) known = {worst, where};
    const double bound = c.pattern.op->f32_bound;
    record(report, Claim::kAccuracy, where,
           worst.units <= bound
               ? ""
               : fmt::format("Element {} of '{}' is {}, exact {}: {:.4g} units; the bound is {}.",
                             worst.element, c.pattern.op->outputs[i].name, worst.actual,
                             worst.exact, worst.units, bound));
  }
  return {};
}

// Composites round between their steps, which shows in narrow dtypes.
bool is_measured(const Case& c, ValueSet set) {
  const bool is_narrow = c.dtype == DType::kF16 || c.dtype == DType::kBF16;
  const bool is_f32_arithmetic =
      c.dtype == DType::kF32 || (is_narrow && c.pattern.op->expand == nullptr);
  return is_f32_arithmetic && set != ValueSet::kSpecial && has_exact_results(*c.pattern.op);
}

// Everything that one combination of sizes and dtype is checked for. Layouts and batches run in
// f32 only: they find mistakes of addressing, which do not depend on the dtype.
Result<void> check_case(TestBench& bench, const Case& c, OpReport& report) {
  const auto inputs_of = [&](ValueSet set) {
    return case_inputs(c.pattern, c.sizes, c.dtype, set, bench.seed);
  };
  QUERN_ASSIGN_OR_RETURN(const auto inputs, inputs_of(ValueSet::kNormal));
  const auto first = make_case_graph(c.pattern, inputs, GraphVariant::kPlain);
  // Which combinations a rule accepts is tested elsewhere.
  if (!first) {  // the type rule refuses this combination, on every backend alike
    ++report.refused_types;
    return {};
  }
  auto loaded = load_all(bench, **first);
  if (!loaded) {
    if (loaded.error().code == ErrorCode::kUnimplemented) {
      ++report.refused_types;  // a type that the backend has not
    } else {
      record(report, Claim::kResult, c.where, loaded.error().message);
    }
    return {};
  }
  for (const ValueSet set : {ValueSet::kNormal, ValueSet::kOutliers, ValueSet::kSpecial}) {
    // Ids and probabilities have no outliers.
    if (set != ValueSet::kNormal && !has_free_floats(c.pattern)) break;
    QUERN_ASSIGN_OR_RETURN(const auto values, inputs_of(set));
    QUERN_ASSIGN_OR_RETURN(const auto graph,
                           make_case_graph(c.pattern, values, GraphVariant::kPlain));
    check_values(bench, c, *loaded, *graph, set, report);
    if (is_measured(c, set)) {
      QUERN_TRY(check_accuracy(bench, c, loaded->devices[0], *graph, values, set, report));
    }
  }
  if (c.dtype != DType::kF32) return {};
  check_batch(bench, c, inputs, report);
  return check_layouts(bench, c, inputs, report);
}

// 8-bit floats run at one size, integers but i32 at the first three, the others at all. size_index
// 1 is the general, odd size.
bool is_run_at(DType dtype, size_t size_index, size_t num_sizes) {
  if (num_sizes == 1 || size_index == 1) return true;
  const DTypeInfo& info = dtype_info(dtype);
  return info.is_float ? info.block_bytes > 1 : size_index < 3 || dtype == DType::kI32;
}

}  // namespace

// Counts a check; an empty detail is a pass.
void record(OpReport& report, Claim claim, const std::string& where, const std::string& detail) {
  ClaimCount& count = report.claims[static_cast<size_t>(claim)];
  ++count.checks;
  if (detail.empty()) return;
  ++count.failures;
  if (report.failures.size() < kMaxFailures) report.failures.push_back({claim, where, detail});
}

// Equal bits, or the same kind of refusal.
std::string outcome_difference(const Result<Outcome>& actual, const Result<Outcome>& expected) {
  if (!expected) {
    if (!actual && actual.error().code == expected.error().code) return "";
    return fmt::format(
        "The reference refuses it ({}); the backend {}.", error_code_name(expected.error().code),
        actual ? "gives a result" : fmt::format("says {}", error_code_name(actual.error().code)));
  }
  if (!actual) return fmt::format("The backend refuses it: {}", actual.error().message);
  for (size_t i = 0; i < expected->results.size(); ++i) {
    const auto& [name, tensor] = expected->results[i];
    const std::string difference = bit_difference(actual->results[i].second, tensor);
    if (!difference.empty()) return fmt::format("Output '{}': {}", name, difference);
  }
  return "";
}

// By the class of the backend: bits, or the operation's bound.
std::string result_difference(const TestBench& bench, const OpDef& op,
                              const Result<Outcome>& actual, const Result<Outcome>& expected) {
  if (bench.demands_bits() || !actual || !expected) return outcome_difference(actual, expected);
  return bound_difference(*actual, *expected, op.f32_bound);
}

// All sizes and dtypes of one pattern.
Result<void> check_pattern(TestBench& bench, const CasePattern& pattern, OpReport& report) {
  const std::vector<DType> dtypes = pattern.dtypes();
  for (size_t i = 0; i < pattern.sizes.size(); ++i) {
    for (const DType dtype : dtypes) {
      if (!is_run_at(dtype, i, pattern.sizes.size())) continue;
      const SymbolValues& sizes = pattern.sizes[i];
      const Case c{pattern, sizes, dtype,
                   fmt::format("{}, {}", dtype_name(dtype), describe_sizes(pattern, sizes))};
      QUERN_TRY(check_case(bench, c, report));
    }
  }
  return {};
}

}  // namespace quern
