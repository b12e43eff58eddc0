// quern conform: the conformance suite on a backend, and its certificate.
// The suite compares every operation with the reference and with the rules of its documentation.
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/isa_flag.h"
#include "cli/output_paths.h"
#include "cli/progress_bar.h"
#include "conformance/conform.h"
#include "quern/op.h"

namespace quern::cli {
namespace {

// The options of the command.
struct ConformFlags {
  std::string backend = "cpu";
  std::string json;
  std::string html;
  ConformOptions options;
};

// Replaces an older file.
Result<void> write_text(const std::string& path, const std::string& text) {
  QUERN_ASSIGN_OR_RETURN(auto file, AtomicFile::create(path));
  QUERN_TRY(file.write(text));
  return file.commit();
}

// A filter that keeps nothing proves nothing: no certificate is written.
Result<void> check_filter(const Backend& backend, const std::string& filter) {
  bool has_match = false;
  for (const OpDef* op : builtin_ops().list()) {
    if (op->id.find(filter) == std::string::npos) continue;
    if (backend.supports(*op).kind != Support::Kind::kMissing) return {};
    has_match = true;
  }
  if (has_match) {
    return fail::precondition(
        "--filter '{}': backend {} serves none of the operations whose id contains it.", filter,
        backend.name());
  }
  return fail::not_found(
      "--filter '{}': no operation has an id that contains it; 'quern ops' lists them.", filter);
}

// Exit code 1 where a claim of the backend does not hold.
Result<void> conform(ConformFlags flags, bool has_threads) {
  QUERN_TRY(check_distinct({flags.json, flags.html}));
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(flags.backend));
  QUERN_TRY(check_filter(*backend, flags.options.filter));
  // A device of another thread count than the default's, or level, must be able to be one.
  QUERN_TRY(check_device_options(registry, flags.backend,
                                 {has_threads ? flags.options.num_threads : 0, flags.options.isa}));
  ProgressBar bar("Conformance");
  flags.options.progress = [&](int64_t done, int64_t total, std::string_view) {
    bar.update(done, total);
  };
  const auto certificate = run_conformance(*backend, flags.options);
  bar.finish();
  if (!certificate) return tl::unexpected(certificate.error());
  if (!flags.html.empty()) QUERN_TRY(write_text(flags.html, certificate_html(*certificate)));
  if (flags.json == "-") {
    fmt::print("{}", certificate_json(*certificate));
  } else {
    if (!flags.json.empty()) QUERN_TRY(write_text(flags.json, certificate_json(*certificate)));
    fmt::print("{}", certificate_text(*certificate));
  }
  if (certificate->has_passed()) return {};
  if (certificate->num_cases() == 0) {
    return fail::precondition("Backend {} served none of the operations asked for.", flags.backend);
  }
  int64_t failures = 0;
  for (const ClaimCount& count : certificate->totals()) failures += count.failures;
  return fail::precondition("Backend {} does not conform: {} checks failed.", flags.backend,
                            failures);
}

}  // namespace

// The seed of the inputs is part of the certificate.
void set_up_conform(OptionSet& command, Action& action) {
  auto flags = std::make_shared<ConformFlags>();
  command.add_option("--backend", flags->backend, "Backend to check; see 'quern devices'")
      .show_default();
  command.add_option("--filter", flags->options.filter,
                     "Only operations whose id contains this text");
  const Option threads =
      command
          .add_option("--threads", flags->options.num_threads,
                      "Threads of the device under test; 1 and 3 are compared with it")
          .range(1, kMaxThreads)
          .show_default();
  command.add_option("--isa", flags->options.isa, kIsaHelp);
  command.add_option("--seed", flags->options.seed, "Seed of the inputs").show_default();
  command
      .add_option("--json", flags->json,
                  "Writes the certificate as JSON to a file, or to the output in place of the text")
      .default_value("-");
  command.add_option("--html", flags->html, "Writes the certificate as a page to a file");
  command.footer("The exit code is 1 when a claim fails.");
  action = [flags, threads] { return conform(*flags, threads.is_given()); };
}

}  // namespace quern::cli
