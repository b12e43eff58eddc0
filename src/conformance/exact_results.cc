// Runs in f64 with and without disturbed inputs.
#include "conformance/exact_results.h"

#include <algorithm>
#include <cmath>

#include "conformance/case_values.h"
#include "conformance/error_units.h"
#include "conformance/host_values.h"

namespace quern {
namespace {

// Random signs of all moves; three of them find a change near the largest for most outputs.
constexpr int kTrials = 3;  // for each input

// The inputs in f64, exactly.
Result<std::vector<Tensor>> widen(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wide;
  for (const Tensor& input : inputs) {
    QUERN_ASSIGN_OR_RETURN(wide.emplace_back(), in_precision(input, DType::kF64));
  }
  return wide;
}

bool is_disturbed(const Tensor& input) {
  return !input.is_empty() && (is_float(input.dtype()) || is_complex(input.dtype()));
}

// Every float moves by half an ulp of f32, up or down.
Result<Tensor> disturb(const Tensor& input, CaseRandom& random) {
  QUERN_ASSIGN_OR_RETURN(std::vector<double> values, numbers_of(input));
  // Half an ulp of f32 at a power of two, nearly a whole one below the next.
  for (double& value : values) value *= 1 + (random.next() % 2 == 0 ? 0x1p-24 : -0x1p-24);
  return tensor_of_numbers(input.dtype(), input.shape(), values);
}

// Runs the case and reads all outputs as doubles.
Result<std::vector<std::vector<double>>> run_values(Subject& subject, const CasePattern& pattern,
                                                    const std::vector<Tensor>& inputs) {
  QUERN_ASSIGN_OR_RETURN(const auto graph, make_case_graph(pattern, inputs, GraphVariant::kPlain));
  QUERN_ASSIGN_OR_RETURN(const Outcome outcome, subject.run(graph->inputs, true));
  std::vector<std::vector<double>> values;
  for (const auto& [name, tensor] : outcome.results) {
    QUERN_ASSIGN_OR_RETURN(values.emplace_back(), numbers_of(tensor));
  }
  return values;
}

// changes[i][k] becomes the largest |moved - exact| so far.
void keep_largest(const std::vector<std::vector<double>>& moved,
                  const std::vector<std::vector<double>>& exact,
                  std::vector<std::vector<double>>& changes) {
  changes.resize(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    changes[i].resize(exact[i].size());
    for (size_t k = 0; k < exact[i].size(); ++k) {
      const double change = std::abs(moved[i][k] - exact[i][k]);
      // A NaN, from infinity minus infinity, compares false and is left out.
      if (change > changes[i][k]) changes[i][k] = change;
    }
  }
}

// Inputs are independent, so what they change adds up.
void add_changes(const std::vector<std::vector<double>>& changes,
                 std::vector<ExactResult>& results) {
  for (size_t i = 0; i < changes.size(); ++i) {
    for (size_t k = 0; k < changes[i].size(); ++k) results[i].changes[k] += changes[i][k];
  }
}

// An ulp of f32 at the largest finite number among 1 and the inputs.
void add_largest_input(const std::vector<Tensor>& inputs, std::vector<ExactResult>& results) {
  double largest = 1;
  for (const Tensor& input : inputs) {
    if (!is_disturbed(input)) continue;
    const auto values = numbers_of(input);
    if (!values) continue;
    for (const double value : *values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
  }
  for (ExactResult& result : results) {
    for (double& change : result.changes) change += ulp_at(DType::kF32, largest);
  }
}

// Numbers among the attributes as f32 kernels see them. Rotary angles, and what optimisers make of
// their attributes, are computed in f64 before they round.
Attributes round_attributes(const OpDef& op, const Attributes& attributes) {
  Attributes rounded = attributes;
  if (op.id.starts_with("positional.") || op.id.starts_with("train.optimizer.")) return rounded;
  for (const AttributeDef& def : op.attributes) {
    const AttributeValue* value = attributes.find(def.name);
    if (value == nullptr && def.default_value) value = &*def.default_value;
    const auto* number = value == nullptr ? nullptr : std::get_if<double>(value);
    if (number != nullptr) {
      rounded.set(def.name, static_cast<double>(static_cast<float>(*number)));
    }
  }
  return rounded;
}

}  // namespace

// Operations whose f64 result is what their f32 result approximates.
bool has_exact_results(const OpDef& op) {
  // A fused node has the errors and roundings of its parts, whose bounds are their own.
  const bool is_fused = op.id.starts_with("fused.");
  return !is_fused && !op.id.starts_with("random.") && !op.id.starts_with("sampling.");
}

// One exact run, and for each float input a few with that input moved by half an ulp.
Result<std::vector<ExactResult>> ExactReference::run(const CasePattern& pattern,
                                                     const std::vector<Tensor>& inputs,
                                                     uint64_t seed) {
  std::vector<ExactResult> results;
  QUERN_ASSIGN_OR_RETURN(const std::vector<Tensor> wide, widen(inputs));
  CasePattern rounded = pattern;
  rounded.attributes = round_attributes(*pattern.op, pattern.attributes);
  const auto graph = make_case_graph(rounded, wide, GraphVariant::kPlain);
  // An operation that takes no f64 has no exact results; that is no error.
  if (!graph) return results;
  QUERN_ASSIGN_OR_RETURN(Subject subject, Subject::load(reference, device, **graph));
  const auto exact = run_values(subject, rounded, wide);
  if (!exact) return results;
  for (const auto& values : *exact) {
    results.push_back({values, std::vector<double>(values.size())});
  }
  CaseRandom random(seed + 1);
  for (size_t i = 0; i < wide.size(); ++i) {
    if (!is_disturbed(wide[i])) continue;
    std::vector<std::vector<double>> changes;
    // Each input by itself, with the others as they were.
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<Tensor> moved = wide;
      QUERN_ASSIGN_OR_RETURN(moved[i], disturb(wide[i], random));
      const auto values = run_values(subject, rounded, moved);
      if (values) keep_largest(*values, *exact, changes);
    }
    add_changes(changes, results);
  }
  // Sums of large terms that cancel have errors of the terms' size.
  if (pattern.op->f32_cancels) add_largest_input(wide, results);
  return results;
}

}  // namespace quern
