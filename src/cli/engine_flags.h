// The options of every command that runs a model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generate/engine.h"

namespace quern::cli {

struct EngineFlags {
  std::string model;
  std::string device = "cpu";
  int threads = 0;
  std::string isa;
  bool is_evictable = false;  // set by commands that evict
  std::string numerics = "strict";
  std::string activations = "auto";
  std::vector<std::string> adapters;  // FILE or FILE=SCALE
  int64_t context = 0;
  std::string key_type = "f32";
  std::string value_type = "f32";
  std::optional<double> rope_base;
  std::optional<double> rope_factor;
  std::string rope_scaling;
  std::optional<int64_t> rope_original_context;
  bool has_parity_gate = true;

  // Adds MODEL, --device, --threads, --isa, --numerics, --activations and, in a group of their
  // own, the options of the context.
  // A command whose --context means something else leaves it out.
  void add_to(CLI::App& command, bool has_context_option = true);
  // Loads the model with a progress bar on stderr where that is a terminal.
  Result<std::unique_ptr<Engine>> open(bool is_quiet) const;
  // The model's files alone, without a device.
  Result<ModelFiles> open_files() const;

 private:
  ModelOptions model_options() const;
  void add_context_options(CLI::App& command, bool has_context_option);
  std::vector<MetadataOverride> overrides() const;
  Result<std::vector<AdapterFile>> adapter_files() const;
};

}  // namespace quern::cli
