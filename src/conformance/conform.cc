// Runs the table, the aliases and the key-value scenarios.
#include "conformance/conform.h"

#include <sys/utsname.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/fail.h"
#include "conformance/case_check.h"
#include "conformance/kv_check.h"
#include "quern/op.h"

namespace quern {
namespace {

// Opens the reference, and the backend with the asked number of threads, one and three: an odd
// number splits work unevenly.
Result<TestBench> open_bench(const BackendRegistry& registry, const Backend& backend,
                             const ConformOptions& options) {
  TestBench bench;
  bench.backend = &backend;
  bench.seed = options.seed;
  QUERN_ASSIGN_OR_RETURN(bench.reference, registry.find("reference"));
  QUERN_ASSIGN_OR_RETURN(bench.reference_device, bench.reference->open({}));
  // The number asked for comes first: it is the device under test; the others must give its bits.
  for (const int threads : {options.num_threads, 1, 3}) {
    if (threads == options.num_threads && !bench.devices.empty()) continue;
    QUERN_ASSIGN_OR_RETURN(auto device, backend.open({.num_threads = threads, .isa = options.isa}));
    bench.devices.push_back(std::move(device));
    bench.device_names.push_back(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  }
  return bench;
}

// For people.
std::string_view correctness_name(CorrectnessClass correctness) {
  switch (correctness) {
    case CorrectnessClass::kReference:
      return "reference: the definition";
    case CorrectnessClass::kBitExact:
      return "bit-exact: the bits of the reference";
    case CorrectnessClass::kApprox:
      return "approximate: within each operation's bound";
  }
  return "unknown";
}

// UTC, so that certificates of different places compare.
std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

// What somebody needs to repeat the run.
std::vector<std::pair<std::string, std::string>> describe_environment(
    const TestBench& bench, const ConformOptions& options) {
  const Device& device = *bench.devices.front();
  const Capabilities& caps = device.capabilities();
  utsname system{};
  ::uname(&system);
  return {{"device", device.description().name + ": " + device.description().description},
          {"architecture", caps.arch},
          {"class", std::string(correctness_name(caps.correctness))},
          {"f64", caps.has_f64 ? "yes" : "no"},
          {"denormals", caps.keeps_denormals ? "kept" : "flushed"},
          {"threads", fmt::format("{}", fmt::join(bench.device_names, ", "))},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"compiler", __VERSION__},
          {"seed", fmt::format("{}", options.seed)},
          {"date", today()}};
}

// All patterns of the table, and those of aliases at their first sizes.
Result<std::vector<CasePattern>> all_patterns(const OpRegistry& ops) {
  std::vector<CasePattern> patterns;
  for (const CaseRow& row : case_rows()) {
    QUERN_ASSIGN_OR_RETURN(auto parsed, parse_case_row(row, ops));
    std::ranges::move(parsed, std::back_inserter(patterns));
  }
  const size_t num_own = patterns.size();
  for (const OpDef* op : ops.list()) {
    if (op->alias_of.empty()) continue;
    for (size_t i = 0; i < num_own; ++i) {
      if (patterns[i].op->id != op->alias_of) continue;
      CasePattern alias = patterns[i];
      alias.op = op;
      // Aliases share their kernel: two sizes show that the name leads to it.
      alias.sizes.resize(std::min<size_t>(alias.sizes.size(), 2));
      patterns.push_back(std::move(alias));
    }
  }
  return patterns;
}

// One run of the suite, which fills the certificate's reports.
class Suite {
 public:
  Suite(TestBench& bench, const ConformOptions& options, Certificate& certificate)
      : bench_(bench), options_(options), certificate_(certificate) {}

  // A report for each operation that the backend serves and the filter keeps.
  void list_operations() {
    for (const OpDef* op : builtin_ops().list()) {
      const Support support = bench_.backend->supports(*op);
      ++certificate_.num_operations;
      if (support.kind == Support::Kind::kMissing) {
        ++certificate_.num_missing;
        continue;
      }
      if (op->id.find(options_.filter) == std::string::npos) {
        certificate_.is_complete = false;
        continue;
      }
      OpReport report;
      report.id = op->id;
      report.support = support.kind;
      report.bound = op->f32_bound;
      report.is_exact_class = bench_.demands_bits();
      certificate_.ops.push_back(std::move(report));
    }
  }

  // All patterns, then the key-value scenarios. The progress counts patterns.
  Result<void> run() {
    QUERN_ASSIGN_OR_RETURN(const auto patterns, all_patterns(builtin_ops()));
    const auto total = static_cast<int64_t>(patterns.size()) + 1;
    for (size_t i = 0; i < patterns.size(); ++i) {
      OpReport* report = find(patterns[i].op->id);
      if (report == nullptr) continue;
      if (options_.progress) {
        options_.progress(static_cast<int64_t>(i), total, patterns[i].op->id);
      }
      QUERN_TRY(check_pattern(bench_, patterns[i], *report));
    }
    if (options_.progress) options_.progress(total - 1, total, "attention.cached");
    return check_kv_operations(bench_, [&](std::string_view id) { return find(id); });
  }

 private:
  OpReport* find(std::string_view id) {
    const auto found = std::ranges::lower_bound(certificate_.ops, id, {}, &OpReport::id);
    return found != certificate_.ops.end() && found->id == id ? &*found : nullptr;
  }

  TestBench& bench_;
  const ConformOptions& options_;
  Certificate& certificate_;
};

}  // namespace

// Runs everything; the certificate also says what failed. Errors: only what keeps the suite
// itself from running.
Result<Certificate> run_conformance(const Backend& backend, const ConformOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(TestBench bench, open_bench(registry, backend, options));
  Certificate certificate;
  certificate.backend = backend.name();
  certificate.correctness = bench.devices.front()->capabilities().correctness;
  certificate.filter = options.filter;
  certificate.environment = describe_environment(bench, options);
  Suite suite(bench, options, certificate);
  suite.list_operations();
  QUERN_TRY(suite.run());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  certificate.seconds = elapsed.count();
  return certificate;
}

}  // namespace quern
