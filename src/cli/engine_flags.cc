// Flags to engine options.
#include "cli/engine_flags.h"

#include "base/fail.h"
#include "cli/progress_bar.h"

namespace quern::cli {

void EngineFlags::add_to(CLI::App& command) {
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
}

Result<std::unique_ptr<Engine>> EngineFlags::open(bool is_quiet) const {
  EngineOptions options;
  options.device = device;
  options.device_options.num_threads = threads;
  options.device_options.isa = isa;
  options.compile.numerics = *find_numerics(numerics);
  options.model.activations = *find_activations(activations);
  ProgressBar bar("Loading", is_quiet);
  options.progress = [&](int64_t done, int64_t total) { bar.update(done, total); };
  auto engine = Engine::open(model, options);
  bar.finish();
  return engine;
}

}  // namespace quern::cli
