// quern synth: a random-weight model.
// Such models say nothing, but they run as real ones do.
#include <fmt/format.h>

#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/progress_bar.h"
#include "formats/synth.h"

namespace quern::cli {
namespace {

// The options of the command.
struct SynthFlags {
  SynthOptions options;
  std::string type = "f32";
  std::string output;
};

// The sum goes to stdout, notes on replaced types to stderr.
Result<void> synth(SynthFlags& flags) {
  const auto dtype = find_dtype(flags.type);
  if (!dtype) return fail::invalid("'{}' is not a type of weights.", flags.type);
  flags.options.dtype = *dtype;
  ProgressBar bar("Writing");
  QUERN_ASSIGN_OR_RETURN(
      const SynthReport report,
      write_synthetic_model(flags.output, flags.options,
                            [&](int64_t done, int64_t total) { bar.update(done, total); }));
  bar.finish();
  for (const std::string& note : report.notes) print_status("{}\n", note);
  fmt::print("{}: {} tensors, {} parameters, {} bytes of weights\n", flags.output,
             report.num_tensors, report.num_parameters, report.weight_bytes);
  return {};
}

// For the help text.
std::string shape_names() {
  std::string names;
  for (const SynthShape& shape : synth_shapes()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shape.name);
  }
  return names;
}

}  // namespace

// Shapes in the help are those of the library.
void set_up_synth(OptionSet& command, Action& action) {
  auto flags = std::make_shared<SynthFlags>();
  command.add_option("--shape", flags->options.shape, "Shape of the model: " + shape_names())
      .show_default();
  command.add_option("--type", flags->type, "Type of the matrices: f32, f16, q4_0, q4_K, ...")
      .show_default();
  command.add_option("--seed", flags->options.seed, "Seed of the weights").show_default();
  command.add_option("--output", flags->output, "File to write").required();
  command.footer("Example:\n  quern synth --shape smollm2-135m --type q4_0 --output m.gguf");
  action = [flags] { return synth(*flags); };
}

}  // namespace quern::cli
