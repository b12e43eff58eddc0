// quern check: runs a receipt again, anywhere, and compares the bits.
// Whoever doubts a text can run its receipt elsewhere; under strict the bits must be equal.
#include <fmt/format.h>

#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/progress_bar.h"
#include "generate/receipt.h"

namespace quern::cli {
namespace {

// The options of the command.
struct CheckFlags {
  std::string receipt;
  CheckOptions options;
};

// Exit code 1 where the bits differ; the error names the first step.
Result<void> check(CheckFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const Receipt receipt, read_receipt(flags.receipt));
  QUERN_TRY(check_device_options(register_backends(), flags.options.device,
                                 flags.options.device_options));
  ProgressBar bar("Loading");
  flags.options.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  const auto report = check_receipt(receipt, flags.options);
  // Before the report is looked at, or an error would be printed behind the bar.
  bar.finish();
  if (!report) {
    return tl::unexpected(report.error().with_context(fmt::format("Receipt '{}'", flags.receipt)));
  }
  fmt::print(
      "same bits: {} prompt tokens, {} steps, on {} ({}, {} threads); made on {} ({}, {} "
      "threads)\n",
      report->num_prompt_tokens, report->num_steps, flags.options.device, report->arch,
      report->threads, receipt.device, receipt.arch, receipt.threads);
  return {};
}

}  // namespace

// The receipt fixes everything but the device.
void set_up_check(OptionSet& command, Action& action) {
  auto flags = std::make_shared<CheckFlags>();
  command.add_option("RECEIPT", flags->receipt, "File that 'quern run --receipt' wrote").required();
  // Another path is no risk: the files must have the hashes that the receipt holds.
  command.add_option("--model", flags->options.model, "Where the model is, if not where it was");
  command.add_option("--device", flags->options.device, "Backend that runs it").show_default();
  command
      .add_option("--threads", flags->options.device_options.num_threads,
                  "Threads; 0 takes what the machine offers")
      .range(0, kMaxThreads);
  command.add_option("--isa", flags->options.device_options.isa,
                     "Cap on the instruction set, as in 'quern run'");
  command.footer("Example:\n  quern check once.json --device reference");
  action = [flags] { return check(*flags); };
}

}  // namespace quern::cli
