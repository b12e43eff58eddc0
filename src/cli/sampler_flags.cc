// Flags to sampler options and grammars.
// Defaults are read from the options themselves, so that help texts cannot lie.
#include "cli/sampler_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "cli/console.h"
#include "text/grammar/json_schema.h"

namespace quern::cli {
namespace {

// An option that may be given more than once.
void add_list(OptionSet& command, const std::string& name, std::vector<std::string>& values,
              const std::string& help) {
  command.add_option(name, values, help).repeatable();
}

// A view of the whole file.
std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// A GBNF file. Errors name it.
Result<Grammar> read_grammar(const std::string& path) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  auto grammar = Grammar::parse(text_of(*file));
  if (!grammar) return tl::unexpected(grammar.error().with_context("While reading '" + path + "'"));
  return grammar;
}

// A JSON schema as a grammar. What it cannot enforce is said on stderr. Errors name the file.
Result<Grammar> read_schema(const std::string& path, bool is_quiet) {
  QUERN_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  const auto schema = grammar_from_json_schema(text_of(*file));
  if (!schema) return tl::unexpected(schema.error().with_context("While reading '" + path + "'"));
  for (const std::string& keyword : schema->unenforced) {
    if (!is_quiet) print_status("The schema's {} is not enforced.\n", keyword);
  }
  return schema->grammar;
}

}  // namespace

template <class T>
void SamplerFlags::add_option(OptionSet& command, const char* stage, const char* name, T& target,
                              const char* help) {
  // Kept with the name of its stage, for check_stages().
  stage_options_.push_back({name, stage, command.add_option(name, target, help).show_default()});
}

// In the order of the help text: what most people change first.
void SamplerFlags::add_to(OptionSet& command) {
  command.add_option("--temp", options.temperature, "Temperature; 0 takes the best token")
      .show_default();
  command.add_option("--seed", seed, "Seed of the sampler; a fresh one if absent");
  command
      .add_option("--samplers", order,
                  "Stages in their order, separated by ';'; those left out do nothing")
      .show_default();
  add_filter_flags(command);
  add_temperature_flags(command);
  add_repetition_flags(command);
  add_constraint_flags(command);
}

// Defaults are those of SamplerOptions.
void SamplerFlags::add_filter_flags(OptionSet& command) {
  add_option(command, "top_k", "--top-k", options.top_k, "Keep the k best tokens; 0: off");
  add_option(command, "top_p", "--top-p", options.top_p,
             "Keep the best tokens up to this probability; 1: off");
  add_option(command, "min_p", "--min-p", options.min_p,
             "Drop tokens below this share of the best one's probability; 0: off");
  add_option(command, "typical", "--typical-p", options.typical_p,
             "Keep tokens of typical surprise up to this probability; 1: off");
  add_option(command, "top_n_sigma", "--top-n-sigma", options.top_n_sigma,
             "Keep logits within n standard deviations of the best; 0: off");
  add_option(command, "xtc", "--xtc-probability", options.xtc.probability,
             "How often the most expected tokens are left out; 0: off");
  add_option(command, "xtc", "--xtc-threshold", options.xtc.threshold,
             "Probability from which a token counts as expected");
}

void SamplerFlags::add_temperature_flags(OptionSet& command) {
  add_option(command, "temperature", "--dynatemp-range", options.dynamic_temperature.range,
             "Moves the temperature by up to this with the entropy; 0: off");
  add_option(command, "temperature", "--dynatemp-exponent", options.dynamic_temperature.exponent,
             "Exponent on the entropy's share");
  command
      .add_option("--mirostat", options.mirostat.version,
                  "2: Mirostat 2 in place of all filters; 0: off")
      .show_default();
  command.add_option("--mirostat-tau", options.mirostat.tau, "Surprise aimed at, in bits")
      .show_default();
  command.add_option("--mirostat-eta", options.mirostat.eta, "Learning rate").show_default();
}

void SamplerFlags::add_repetition_flags(OptionSet& command) {
  add_option(command, "penalties", "--repeat-penalty", options.penalties.repeat,
             "Divides the logits of tokens seen; 1: off");
  add_option(command, "penalties", "--frequency-penalty", options.penalties.frequency,
             "Subtracted for each time that a token was seen; 0: off");
  add_option(command, "penalties", "--presence-penalty", options.penalties.presence,
             "Subtracted once for tokens seen; 0: off");
  add_option(command, "penalties", "--repeat-window", options.penalties.window,
             "Last tokens that the penalties look at; -1: all");
  add_option(command, "dry", "--dry-multiplier", options.dry.multiplier,
             "Penalty on tokens that continue a repetition; 0: off");
  add_option(command, "dry", "--dry-base", options.dry.base,
             "Growth of the penalty per repeated token");
  add_option(command, "dry", "--dry-allowed-length", options.dry.allowed_length,
             "Repeated tokens that cost nothing");
  add_option(command, "dry", "--dry-range", options.dry.range,
             "Last tokens that are searched; -1: all");
  add_list(command, "--dry-breaker", breakers,
           "Text that no repetition spans; repeatable, in place of line break, ':', '\"', '*'");
}

// A grammar and a schema exclude each other.
void SamplerFlags::add_constraint_flags(OptionSet& command) {
  add_list(command, "--logit-bias", biases,
           "ID+BIAS or ID-BIAS is added to the token's logit, ID-inf forbids it; repeatable");
  const Option grammar =
      command.add_option("--grammar", grammar_path, "GBNF file that the text must match");
  command.add_option("--json-schema", schema_path, "JSON schema file that the text must fit")
      .excludes(grammar);
}

// For commands with JSON output.
void SamplerFlags::add_logprobs_to(OptionSet& command) {
  command
      .add_option("--logprobs", options.num_logprobs,
                  "With --json: log-probabilities of each token and of the N best")
      .range(0, 1000);
}

// Options whose stage does not run would do nothing.
Result<void> SamplerFlags::check_stages(const SamplerOptions& sampler) const {
  const std::string known = sampler_order_text(sampler.order);
  for (const StageOption& given : stage_options_) {
    if (!given.option.is_given()) continue;
    // Penalties change logits before Mirostat sees them, so they go together.
    const bool is_filter = given.stage != "penalties" && given.stage != "dry";
    if (sampler.mirostat.version != 0 && is_filter) {
      return fail::invalid("{} does nothing with --mirostat, which takes the place of all filters.",
                           given.name);
    }
    const bool runs = std::ranges::any_of(sampler.order, [&](SamplerStageKind kind) {
      return sampler_stage_name(kind) == given.stage;
    });
    if (!runs) {
      return fail::invalid("{} does nothing: its stage '{}' is not in --samplers '{}'.", given.name,
                           given.stage, known);
    }
  }
  return {};
}

// Nothing here needs the model.
Result<void> SamplerFlags::apply_to(GenerateOptions& generate, bool is_quiet) const {
  SamplerOptions& sampler = generate.sampler;
  sampler = options;
  // 32 fresh bits; the seed is printed, so that a text can be made again.
  sampler.seed = seed ? *seed : std::random_device{}();
  QUERN_ASSIGN_OR_RETURN(sampler.order, parse_sampler_order(order));
  for (const std::string& text : biases) {
    QUERN_ASSIGN_OR_RETURN(const LogitBias bias, parse_logit_bias(text));
    sampler.logit_bias.push_back(bias);
  }
  QUERN_TRY(check_sampler_options(sampler));
  QUERN_TRY(check_stages(sampler));
  if (!grammar_path.empty()) {
    QUERN_ASSIGN_OR_RETURN(generate.grammar, read_grammar(grammar_path));
  }
  if (!schema_path.empty()) {
    QUERN_ASSIGN_OR_RETURN(generate.grammar, read_schema(schema_path, is_quiet));
  }
  return {};
}

// Ids and breakers of this vocabulary.
Result<void> SamplerFlags::resolve_tokens(const Tokenizer& tokenizer,
                                          SamplerOptions& sampler) const {
  for (const LogitBias& bias : sampler.logit_bias) {
    if (bias.token >= tokenizer.vocab_size()) {
      return fail::invalid("The logit bias names token {}; the vocabulary has {}.", bias.token,
                           tokenizer.vocab_size());
    }
  }
  // A walk over the whole vocabulary, only where DRY is on.
  if (sampler.dry.multiplier > 0) sampler.dry_breakers = dry_breaker_tokens(tokenizer, breakers);
  return {};
}

}  // namespace quern::cli
