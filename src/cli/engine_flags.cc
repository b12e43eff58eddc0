// Flags to engine options.
#include "cli/engine_flags.h"

#include <charconv>

#include "base/environment.h"
#include "base/fail.h"
#include "cli/progress_bar.h"

namespace quern::cli {

void EngineFlags::add_to(CLI::App& command, bool has_context_option) {
  command.add_option("MODEL", model, "GGUF file")->required();
  command.add_option("--device", device, "Backend that runs the model; see 'quern devices'")
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads; 0 takes what the machine offers")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_option("--isa", isa,
                     "Cap on the instruction set: scalar, sse2, avx2, avx512, avx512-vnni");
  command
      .add_option("--numerics", numerics, "strict: the same bits everywhere; deterministic; fast")
      ->check(CLI::IsMember({"strict", "deterministic", "fast"}))
      ->capture_default_str();
  command
      .add_option("--activations", activations,
                  "Activations in products with quantised weights; auto: int16 below 1e9 "
                  "parameters, int8 from there up")
      ->check(CLI::IsMember({"auto", "int8", "int16", "f32"}))
      ->capture_default_str();
  command.add_option("--lora", adapters, "Low-rank adapter FILE[=SCALE]; repeatable")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("!--no-parity-gate", has_parity_gate,
                   "Serve the model without comparing one token with the reference first");
  add_context_options(command, has_context_option);
}

Result<std::vector<AdapterFile>> EngineFlags::adapter_files() const {
  std::vector<AdapterFile> files;
  for (const std::string& text : adapters) {
    const size_t equals = text.rfind('=');
    AdapterFile file{text.substr(0, equals), 1.0};
    if (equals != std::string::npos) {
      const char* first = text.data() + equals + 1;
      const char* last = text.data() + text.size();
      const auto [end, code] = std::from_chars(first, last, file.scale);
      if (code != std::errc{} || end != last) {
        return fail::invalid("'{}' is not a scale in --lora {}.", std::string(first, last), text);
      }
    }
    files.push_back(std::move(file));
  }
  return files;
}

void EngineFlags::add_context_options(CLI::App& command, bool has_context_option) {
  const auto types = CLI::IsMember({"f32", "f16", "bf16", "q8_0", "q4_0"});
  if (has_context_option) {
    command
        .add_option("--context", context,
                    "Most tokens of a sequence; 0: what the model was trained for")
        ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
        ->group("Context");
  }
  command.add_option("--cache-type-k", key_type, "Type of cached keys")
      ->check(types)
      ->capture_default_str()
      ->group("Context");
  command.add_option("--cache-type-v", value_type, "Type of cached values")
      ->check(types)
      ->capture_default_str()
      ->group("Context");
  command.add_option("--rope-freq-base", rope_base, "Base of the rotary frequencies")
      ->check(CLI::PositiveNumber)
      ->group("Context");
  command.add_option("--rope-scaling", rope_scaling, "Scaling of rotary positions")
      ->check(CLI::IsMember({"none", "linear", "yarn"}))
      ->group("Context");
  command.add_option("--rope-factor", rope_factor, "Factor of the scaling")
      ->check(CLI::PositiveNumber)
      ->group("Context");
  command
      .add_option("--rope-original-context", rope_original_context,
                  "Context before the scaling, for yarn")
      ->check(CLI::PositiveNumber)
      ->group("Context");
}

std::vector<MetadataOverride> EngineFlags::overrides() const {
  std::vector<MetadataOverride> list;
  if (rope_base) list.push_back({"rope.freq_base", MetadataValue::number(*rope_base)});
  if (!rope_scaling.empty()) {
    list.push_back({"rope.scaling.type", MetadataValue::text(rope_scaling)});
  }
  if (rope_factor) list.push_back({"rope.scaling.factor", MetadataValue::number(*rope_factor)});
  if (rope_original_context) {
    list.push_back(
        {"rope.scaling.original_context_length", MetadataValue::number(*rope_original_context)});
  }
  return list;
}

ModelOptions EngineFlags::model_options() const {
  ModelOptions options;
  options.activations = *find_activations(activations);
  options.key_type = *find_dtype(key_type);
  options.value_type = *find_dtype(value_type);
  options.is_evictable = is_evictable;
  return options;
}

Result<ModelFiles> EngineFlags::open_files() const {
  QUERN_ASSIGN_OR_RETURN(const auto files, adapter_files());
  return open_model_files(model, model_options(), overrides(), files);
}

Result<std::unique_ptr<Engine>> EngineFlags::open(bool is_quiet) const {
  EngineOptions options;
  options.device = device;
  options.device_options.num_threads = threads;
  options.device_options.isa = isa;
  options.compile.numerics = *find_numerics(numerics);
  options.model = model_options();
  options.context_length = context;
  options.overrides = overrides();
  QUERN_ASSIGN_OR_RETURN(options.adapters, adapter_files());
  options.has_parity_gate = has_parity_gate;
  options.cache_folder = read_environment().cache_folder;
  ProgressBar bar("Loading", is_quiet);
  options.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  auto engine = Engine::open(model, options);
  bar.finish();
  return engine;
}

}  // namespace quern::cli
