// Totals, and the certificate as text and JSON.
#include "conformance/certificate.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace quern {
namespace {

using nlohmann::ordered_json;

// JSON has no infinity.
// "inf" and "nan" as texts, so that the file stays JSON.
ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

// Claims that were checked, with both counts.
ordered_json claims_json(const ClaimCounts& counts) {
  ordered_json json = ordered_json::object();
  for (size_t i = 0; i < kNumClaims; ++i) {
    // A claim that was not checked is left out: 0 failures of 0 checks proves nothing.
    if (counts[i].checks == 0) continue;
    json[std::string(claim_name(static_cast<Claim>(i)))] = {{"checks", counts[i].checks},
                                                            {"failures", counts[i].failures}};
  }
  return json;
}

// The largest error by dtype.
ordered_json worst_json(const OpReport& report) {
  ordered_json json = ordered_json::object();
  for (const auto& [dtype, worst] : report.worst) {
    json[dtype] = {{"units", number_json(worst.error.units)},
                   {"element", worst.error.element},
                   {"actual", number_json(worst.error.actual)},
                   {"exact", number_json(worst.error.exact)},
                   {"where", worst.where}};
  }
  return json;
}

// One operation's part of the JSON.
ordered_json report_json(const OpReport& report) {
  ordered_json failures = ordered_json::array();
  for (const Failure& failure : report.failures) {
    failures.push_back({{"claim", claim_name(failure.claim)},
                        {"where", failure.where},
                        {"detail", failure.detail}});
  }
  return {{"id", report.id},
          {"support", support_name(report.support)},
          {"class", report.is_exact_class ? "bit-exact" : "approximate"},
          // Refused types are no cases: their refusal is all that is known.
          {"cases", report.cases},
          {"refused_types", report.refused_types},
          {"claims", claims_json(report.claims)},
          {"f32_bound", report.bound},
          {"worst", worst_json(report)},
          {"failures", std::move(failures)}};
}

// Failures of all claims of an operation.
int64_t failures_of(const OpReport& report) {
  int64_t sum = 0;
  for (const ClaimCount& count : report.claims) sum += count.failures;
  return sum;
}

// First of all: a certificate of a part must not pass for one of the whole.
std::string partial_note(const Certificate& certificate) {
  if (certificate.is_complete) return "";
  return fmt::format("PARTIAL: only operations whose id contains '{}' were checked, {} of {}.\n\n",
                     certificate.filter, certificate.ops.size(), certificate.num_operations);
}

// Backend and environment.
std::string header_text(const Certificate& certificate) {
  std::string text = fmt::format("Conformance of backend {}\n\n", certificate.backend);
  text += partial_note(certificate);
  for (const auto& [name, value] : certificate.environment) {
    text += fmt::format("  {:<14} {}\n", name, value);
  }
  return text + "\n";
}

// One line for each claim, with what it means.
std::string claims_text(const Certificate& certificate) {
  std::string text = fmt::format("{:<10} {:>9} {:>9}  {}\n", "claim", "checks", "failures", "");
  const ClaimCounts totals = certificate.totals();
  for (size_t i = 0; i < kNumClaims; ++i) {
    // All claims, even those without checks: the reader sees what was not looked at.
    const auto claim = static_cast<Claim>(i);
    text += fmt::format("{:<10} {:>9} {:>9}  {}\n", claim_name(claim), totals[i].checks,
                        totals[i].failures, claim_meaning(claim));
  }
  return text + "\n";
}

// One line for each operation and dtype with an error; exact ones are left out.
std::string worst_text(const Certificate& certificate) {
  std::string text =
      "Largest errors against exact results, in units (an ulp, plus what half an ulp in each "
      "input\n"
      "changes):\n";
  text += fmt::format("{:<38} {:<5} {:>9} {:>6}  {}\n", "operation", "dtype", "units", "bound", "");
  for (const OpReport& report : certificate.ops) {
    for (const auto& [dtype, worst] : report.worst) {
      // Exact operations would fill the page with zeros.
      if (worst.error.units == 0) continue;
      text += fmt::format("{:<38} {:<5} {:>9.3f} {:>6}  {}\n", report.id, dtype, worst.error.units,
                          report.bound, worst.where);
    }
  }
  return text + "\n";
}

// The failures that were kept, below their counts.
std::string failures_text(const Certificate& certificate) {
  std::string text;
  for (const OpReport& report : certificate.ops) {
    const int64_t count = failures_of(report);
    if (count == 0) continue;
    text += fmt::format("FAILED {}: {} checks\n", report.id, count);
    // Only the first failures of an operation are kept.
    for (const Failure& failure : report.failures) {
      text +=
          fmt::format("  {} of {}: {}\n", claim_name(failure.claim), failure.where, failure.detail);
    }
  }
  return text;
}

}  // namespace

// The name in reports and JSON.
std::string_view claim_name(Claim claim) {
  switch (claim) {
    case Claim::kResult:
      return "result";
    case Claim::kRefusal:
      return "refusal";
    case Claim::kGuards:
      return "guards";
    case Claim::kRepeat:
      return "repeat";
    case Claim::kThreads:
      return "threads";
    case Claim::kBatch:
      return "batch";
    case Claim::kLayout:
      return "layout";
    case Claim::kAccuracy:
      return "accuracy";
  }
  return "unknown";
}

// What is claimed, for people.
std::string_view claim_meaning(Claim claim) {
  switch (claim) {
    case Claim::kResult:
      return "the bits of the reference (approximate class: within the bound)";
    case Claim::kRefusal:
      return "an error where the reference has one, with the same code";
    case Claim::kGuards:
      return "no byte around a result is written";
    case Claim::kRepeat:
      return "a second run gives the same";
    case Claim::kThreads:
      return "other thread counts give the same";
    case Claim::kBatch:
      return "a row alone has the bits that it has among others (bit-exact class)";
    case Claim::kLayout:
      return "copied, transposed, broadcast, unaligned inputs and stored weights give the same";
    case Claim::kAccuracy:
      return "every element within the operation's bound of the exact result";
  }
  return "unknown";
}

// Sums over the operations.
ClaimCounts Certificate::totals() const {
  ClaimCounts sums = {};
  for (const OpReport& report : ops) {
    for (size_t i = 0; i < kNumClaims; ++i) {
      sums[i].checks += report.claims[i].checks;
      sums[i].failures += report.claims[i].failures;
    }
  }
  return sums;
}

int64_t Certificate::num_cases() const {
  int64_t sum = 0;
  for (const OpReport& report : ops) sum += report.cases;
  return sum;
}

// No failures, and at least one case: a filter that matches nothing proves nothing.
// Does not ask whether the suite was complete: a filter gives a partial certificate.
bool Certificate::has_passed() const {
  for (const ClaimCount& count : totals()) {
    if (count.failures > 0) return false;
  }
  // Refused types count as no case.
  return num_cases() > 0;
}

// The report of the command line.
std::string certificate_text(const Certificate& certificate) {
  std::string text = header_text(certificate) + claims_text(certificate);
  text += worst_text(certificate) + failures_text(certificate);
  text += fmt::format(
      "{}{}: {} of {} operations served{}, {} cases in {:.1f} s.\n",
      certificate.has_passed() ? "PASSED" : "FAILED",
      certificate.is_complete ? "" : fmt::format(" (partial, filter '{}')", certificate.filter),
      certificate.num_operations - certificate.num_missing, certificate.num_operations,
      certificate.is_complete ? "" : fmt::format(", {} of them checked", certificate.ops.size()),
      certificate.num_cases(), certificate.seconds);
  return text;
}

// The same for programs; keys keep their order.
std::string certificate_json(const Certificate& certificate) {
  ordered_json environment = ordered_json::object();
  for (const auto& [name, value] : certificate.environment) environment[name] = value;
  ordered_json operations = ordered_json::array();
  for (const OpReport& report : certificate.ops) operations.push_back(report_json(report));
  const ordered_json json = {{"backend", certificate.backend},
                             {"passed", certificate.has_passed()},
                             {"complete", certificate.is_complete},
                             {"filter", certificate.filter},
                             {"environment", std::move(environment)},
                             {"operations_of_the_build", certificate.num_operations},
                             {"missing", certificate.num_missing},
                             {"cases", certificate.num_cases()},
                             {"seconds", certificate.seconds},
                             {"claims", claims_json(certificate.totals())},
                             {"operations", std::move(operations)}};
  return json.dump(1) + "\n";
}

}  // namespace quern
