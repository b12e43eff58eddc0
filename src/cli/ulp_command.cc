// quern ulp: the largest errors of f32 functions over all inputs.
// All 2^32 inputs of a function are computed and compared with a correctly rounded result.
#include <fmt/format.h>

#include <chrono>

#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/device_flags.h"
#include "cli/isa_flag.h"
#include "cli/progress_bar.h"
#include "conformance/ulp_sweep.h"

namespace quern::cli {
namespace {

// What strict math promises in f32.
constexpr double kBound = 2;

// The options of the command.
struct UlpFlags {
  std::vector<std::string> functions;
  std::string device = "cpu";
  std::string isa;
  uint32_t stride = 1;
  int threads = 0;
};

// For the help text.
std::string known_functions() {
  std::string names;
  for (const UlpFunction& function : ulp_functions()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", function.name);
  }
  return names;
}

// All where none is named. Errors: an unknown one, with those known.
Result<std::vector<const UlpFunction*>> chosen(const std::vector<std::string>& names) {
  std::vector<const UlpFunction*> functions;
  for (const std::string& name : names) {
    const UlpFunction* function = find_ulp_function(name);
    if (function == nullptr) {
      return fail::not_found("There is no function '{}' to measure; there are {}.", name,
                             known_functions());
    }
    functions.push_back(function);
  }
  return functions;
}

// True where the error is within the bound.
Result<bool> measure(const UlpFunction& function, const Backend& backend, Device& device,
                     uint32_t stride) {
  const auto start = std::chrono::steady_clock::now();
  ProgressBar bar(fmt::format("{:<8}", function.name));
  const auto worst = sweep_ulp(function, backend, device, stride,
                               [&](int64_t done, int64_t total) { bar.update(done, total); });
  bar.finish();
  if (!worst) return tl::unexpected(worst.error());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  fmt::print(
      // In hexadecimal, so that the input can be given again exactly.
      "{:<8} {:<20} worst {:.4f} ulp at x = {:a} ({:.9g}): {:.9g}, exact {:.12g}; {} inputs "
      "in {:.1f} s{}\n",
      function.name, function.op, worst->ulp, worst->input, worst->input, worst->result,
      worst->exact, worst->num_inputs, elapsed.count(),
      worst->ulp > kBound ? "  ABOVE THE BOUND" : "");
  // The next function takes a minute; the line should be seen before.
  std::fflush(stdout);
  return worst->ulp <= kBound;
}

// Exit code 1 where an error is above the bound.
Result<void> ulp(const UlpFlags& flags) {
  QUERN_ASSIGN_OR_RETURN(const auto functions, chosen(flags.functions));
  const BackendRegistry registry = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(flags.device));
  QUERN_ASSIGN_OR_RETURN(const auto device,
                         open_device(*backend, {.num_threads = flags.threads, .isa = flags.isa}));
  std::string above;
  for (const UlpFunction* function : functions) {
    QUERN_ASSIGN_OR_RETURN(const bool is_within,
                           measure(*function, *backend, *device, flags.stride));
    if (!is_within) above += fmt::format("{}{}", above.empty() ? "" : ", ", function->name);
  }
  if (above.empty()) return {};
  return fail::precondition("Above {} ulp: {}.", kBound, above);
}

}  // namespace

// A stride makes a quick look of what is exhaustive otherwise.
void set_up_ulp(OptionSet& command, Action& action) {
  auto flags = std::make_shared<UlpFlags>();
  flags->functions = {"exp", "log", "tanh", "sigmoid", "erf", "sin", "cos"};
  command.add_option("FUNCTION", flags->functions, "What to measure: " + known_functions())
      .show_default();
  command.add_option("--device", flags->device, "Backend that runs them; see 'quern devices'")
      .show_default();
  command
      .add_option("--stride", flags->stride,
                  "Takes every n-th bit pattern; 1: all 2^32, about a minute for each function")
      .range(1, 1 << 24)
      .show_default();
  command.add_option("--threads", flags->threads, "Threads; 0 takes what the machine offers")
      .range(0, kMaxThreads);
  command.add_option("--isa", flags->isa, kIsaHelp);
  command.footer("The exit code is 1 when an error is above 2 ulp.");
  action = [flags] { return ulp(*flags); };
}

}  // namespace quern::cli
