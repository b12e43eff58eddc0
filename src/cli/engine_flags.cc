// Flags to engine options.
// Every command that runs a model shares them, so that a flag means the same everywhere.
#include "cli/engine_flags.h"

#include <unistd.h>

#include <charconv>
#include <limits>

#include "base/environment.h"
#include "base/fail.h"
#include "base/thread_pool.h"
#include "cli/console.h"
#include "cli/device_flags.h"
#include "cli/isa_flag.h"
#include "cli/progress_bar.h"
#include "hw/program_stamp.h"

namespace quern::cli {
namespace {

// Small models are done before it is read.
void tell_of_first_load(int64_t num_parameters) {
  if (num_parameters < 300'000'000) return;
  print_status("First load of this model: comparing two tokens with the reference ...\n");
}

}  // namespace

// In the order of the help text; groups at the end.
void EngineFlags::add_to(OptionSet& command, bool has_context_option) {
  command.add_option("MODEL", model, "GGUF file").required();
  command.add_option("--device", device, "Backend that runs the model; see 'quern devices'")
      .show_default();
  command.add_option("--threads", threads, "Threads; 0 takes what the machine offers")
      .range(0, kMaxThreads)
      .show_default();
  // A cap: the device takes the best set of the machine that is not above it.
  command.add_option("--isa", isa, kIsaHelp);
  command
      .add_option("--numerics", numerics, "strict: the same bits everywhere; deterministic; fast")
      .one_of({"strict", "deterministic", "fast"})
      .show_default();
  command
      .add_option("--activations", activations,
                  "Activations in products with quantised weights; auto: int16 below 1e9 "
                  "parameters, int8 from there up")
      .one_of({"auto", "int8", "int16", "f32"})
      .show_default();
  command.add_option("--lora", adapters, "Low-rank adapter FILE[=SCALE]; repeatable").repeatable();
  command.add_option("--pack-cache", pack_cache,
                     "Folder that keeps packed weights, so that the next load maps them");
  command.add_flag("--no-parity-gate", skips_parity_gate,
                   "Serve the model without comparing one token with the reference first");
  passes.add_to(command);
  add_context_options(command, has_context_option);
}

// The last '=' separates the scale, since paths may hold one.
Result<std::vector<AdapterFile>> EngineFlags::adapter_files() const {
  std::vector<AdapterFile> files;
  for (const std::string& text : adapters) {
    const size_t equals = text.rfind('=');
    // Without '=' rfind() gives npos, and substr() the whole text.
    AdapterFile file{text.substr(0, equals), 1.0};
    if (equals != std::string::npos) {
      const char* first = text.data() + equals + 1;
      const char* last = text.data() + text.size();
      const auto [end, code] = std::from_chars(first, last, file.scale);
      // All of the text must be the number: "0.5x" is a mistake.
      if (code != std::errc{} || end != last) {
        return fail::invalid("'{}' is not a scale in --lora {}.", std::string(first, last), text);
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

// A group of its own in the help text: how long, how stored, how rotated.
void EngineFlags::add_context_options(OptionSet& command, bool has_context_option) {
  static constexpr std::initializer_list<const char*> kTypes = {"f32", "f16", "bf16", "q8_0",
                                                                "q4_0"};
  if (has_context_option) {
    command
        .add_option("--context", context,
                    "Most tokens of a sequence; 0: what the model was trained for, or what an "
                    "explicit number of tokens needs")
        .range(0, int64_t{1} << 31)
        .group("Context");
  }
  command.add_option("--cache-type-k", key_type, "Type of cached keys")
      .one_of(kTypes)
      .show_default()
      .group("Context");
  command.add_option("--cache-type-v", value_type, "Type of cached values")
      .one_of(kTypes)
      .show_default()
      .group("Context");
  command.add_option("--rope-freq-base", rope_base, "Base of the rotary frequencies")
      .positive()
      .group("Context");
  command.add_option("--rope-scaling", rope_scaling, "Scaling of rotary positions")
      .one_of({"none", "linear", "yarn"})
      .group("Context");
  command.add_option("--rope-factor", rope_factor, "Factor of the scaling")
      .positive()
      .group("Context");
  command
      .add_option("--rope-original-context", rope_original_context,
                  "Context before the scaling, for yarn")
      .positive()
      .group("Context");
}

// Rotary options that would do nothing, or that no float holds.
Result<void> EngineFlags::check_rope() const {
  if (rope_base && *rope_base > std::numeric_limits<float>::max()) {
    return fail::invalid("--rope-freq-base is {}; the limit is {}.", *rope_base,
                         std::numeric_limits<float>::max());
  }
  // An empty text is no option at all: the file's own scaling stays.
  const bool scales = rope_scaling == "linear" || rope_scaling == "yarn";
  if (rope_factor && rope_scaling == "none") {
    return fail::invalid("--rope-factor does nothing with --rope-scaling none.");
  }
  if (scales && !rope_factor) {
    return fail::invalid("--rope-scaling {} needs --rope-factor.", rope_scaling);
  }
  if (rope_original_context && rope_scaling != "yarn") {
    return fail::invalid("--rope-original-context needs --rope-scaling yarn.");
  }
  return {};
}

// As if the file said so: the model's own checks apply to them.
std::vector<MetadataOverride> EngineFlags::overrides() const {
  std::vector<MetadataOverride> list;
  if (rope_base) list.push_back({"rope.freq_base", MetadataValue::number(*rope_base)});
  if (!rope_scaling.empty()) {
    list.push_back({"rope.scaling.type", MetadataValue::text(rope_scaling)});
  }
  // Without a type of scaling a factor changes that of the file.
  if (rope_factor) list.push_back({"rope.scaling.factor", MetadataValue::number(*rope_factor)});
  if (rope_original_context) {
    list.push_back(
        {"rope.scaling.original_context_length", MetadataValue::number(*rope_original_context)});
  }
  return list;
}

// Words were checked when the command line was read.
ModelOptions EngineFlags::model_options() const {
  ModelOptions options;
  options.activations = *find_activations(activations);
  options.key_type = *find_dtype(key_type);
  options.value_type = *find_dtype(value_type);
  options.is_evictable = is_evictable;
  return options;
}

// For commands that look at a model and run nothing.
Result<ModelFiles> EngineFlags::open_files() const {
  QUERN_TRY(check_rope());
  QUERN_ASSIGN_OR_RETURN(const auto files, adapter_files());
  return open_model_files(model, model_options(), overrides(), files);
}

// Everything but the model's path.
Result<EngineOptions> EngineFlags::options() const {
  QUERN_TRY(check_rope());
  EngineOptions options;
  options.device = device;
  options.device_options.num_threads = threads;
  options.device_options.isa = isa;
  // The words were checked when the command line was read.
  options.compile.numerics = *find_numerics(numerics);
  options.model = model_options();
  options.pack_cache = pack_cache;
  options.context_length = context;
  options.overrides = overrides();
  QUERN_TRY(passes.apply(options.compile));
  QUERN_ASSIGN_OR_RETURN(options.adapters, adapter_files());
  options.has_parity_gate = !skips_parity_gate;
  options.cache_folder = read_environment().cache_folder;
  options.program_stamp = program_stamp();
  return options;
}

// The bar is gone before an error is printed.
Result<std::unique_ptr<Engine>> EngineFlags::open(bool is_quiet) const {
  QUERN_ASSIGN_OR_RETURN(EngineOptions options, this->options());
  QUERN_TRY(check_device_options(register_backends(), device, options.device_options));
  ProgressBar bar("Loading", is_quiet);
  options.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  if (!is_quiet && ::isatty(STDERR_FILENO) == 1) options.before_reference = tell_of_first_load;
  auto engine = Engine::open(model, options);
  bar.finish();
  return engine;
}

}  // namespace quern::cli
