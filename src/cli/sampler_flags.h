// The options of every command that samples: how tokens are chosen and what text is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "generate/generate.h"

namespace quern::cli {

// As given on the command line; apply_to() checks them. One thread only.
struct SamplerFlags {
  // Numbers go straight to their options.
  SamplerOptions options;
  std::optional<uint64_t> seed;
  // Texts are parsed by apply_to().
  std::string order = sampler_order_text(default_sampler_order());
  std::vector<std::string> biases;
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};
  std::string grammar_path;
  std::string schema_path;

  // Adds --temp, --seed, --samplers, the flags of all stages, --logit-bias, --grammar and
  // --json-schema.
  void add_to(OptionSet& command);
  // Adds --logprobs; for commands that can print them.
  void add_logprobs_to(OptionSet& command);

  // Sampler and grammar of `generate`; without a seed, a fresh one. Called before the model is
  // loaded, so that mistakes show at once.
  // Errors: of flags and of the files that they name; they name the flag or the file.
  Result<void> apply_to(GenerateOptions& generate, bool is_quiet) const;
  // What needs the vocabulary. Errors: kInvalidArgument for a token outside it.
  Result<void> resolve_tokens(const Tokenizer& tokenizer, SamplerOptions& sampler) const;

 private:
  // Groups of related options.
  void add_repetition_flags(OptionSet& command);
  void add_filter_flags(OptionSet& command);
  void add_temperature_flags(OptionSet& command);
  void add_constraint_flags(OptionSet& command);
  // Adds an option that acts in `stage` alone.
  template <class T>
  void add_option(OptionSet& command, const char* stage, const char* name, T& target,
                  const char* help);
  Result<void> check_stages(const SamplerOptions& sampler) const;

  struct StageOption {
    std::string name;
    std::string stage;
    Option option;
  };
  std::vector<StageOption> stage_options_;
};

}  // namespace quern::cli
