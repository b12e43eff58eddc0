// The options of every command that runs a model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/pass_flags.h"
#include "generate/engine.h"

namespace quern::cli {

// As given on the command line, checked only as far as the words allow; open() checks the rest. One
// thread only.
struct EngineFlags {
  // The path as it was typed.
  std::string model;
  std::string device = "cpu";
  // 0: as many as the machine offers.
  int threads = 0;
  std::string isa;
  std::string pack_cache;
  bool is_evictable = false;  // set by commands that evict
  // Words of the command line; options() turns them into values.
  std::string numerics = "strict";
  std::string activations = "auto";
  std::vector<std::string> adapters;  // FILE or FILE=SCALE
  // 0: what the model was trained for.
  int64_t context = 0;
  std::string key_type = "f32";
  std::string value_type = "f32";
  // Absent: what the model file says.
  std::optional<double> rope_base;
  std::optional<double> rope_factor;
  std::string rope_scaling;
  std::optional<int64_t> rope_original_context;
  bool skips_parity_gate = false;
  PassFlags passes;

  // Adds MODEL, --device, --threads, --isa, --numerics, --activations and, in a group of their
  // own, the options of the context.
  // A command whose --context means something else leaves it out.
  void add_to(OptionSet& command, bool has_context_option = true);
  // The options of open().
  Result<EngineOptions> options() const;
  // Loads the model with a progress bar on stderr where that is a terminal and not `is_quiet`.
  // Errors: of --lora and of Engine::open().
  // Takes as long as loading the model does.
  Result<std::unique_ptr<Engine>> open(bool is_quiet) const;
  // The model's files alone, without a device.
  Result<ModelFiles> open_files() const;

 private:
  ModelOptions model_options() const;
  void add_context_options(OptionSet& command, bool has_context_option);
  // The --rope-* options as keys of the model file.
  std::vector<MetadataOverride> overrides() const;
  // Combinations that would be ignored in silence (a factor for no scaling) are errors.
  Result<void> check_rope() const;
  // FILE or FILE=SCALE. Errors: kInvalidArgument for a scale that is no number.
  Result<std::vector<AdapterFile>> adapter_files() const;
};

}  // namespace quern::cli
