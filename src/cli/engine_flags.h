// The options of every command that runs a model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "generate/engine.h"

namespace quern::cli {

struct EngineFlags {
  std::string model;
  std::string device = "cpu";
  int threads = 0;
  std::string isa;
  std::string numerics = "strict";
  std::string activations = "auto";

  // Adds MODEL, --device, --threads, --isa, --numerics, --activations.
  void add_to(CLI::App& command);
  // Loads the model with a progress bar on stderr where that is a terminal.
  Result<std::unique_ptr<Engine>> open(bool is_quiet) const;
};

}  // namespace quern::cli
