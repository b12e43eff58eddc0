// Flags of models, samplers and passes: what they become, and what is refused before work begins.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "cli/engine_flags.h"
#include "cli/pass_flags.h"
#include "cli/sampler_flags.h"
#include "support/temporary_folder.h"

namespace quern::cli {
namespace {

// Parses `arguments` of a command that has the flags; "" or the first line on stderr.
template <class Flags>
std::string parse_with(Program& program, Flags& flags, std::vector<std::string> arguments) {
  OptionSet go = program.add_command("go", "Go.");
  flags.add_to(go);
  arguments.insert(arguments.begin(), {"quern", "go"});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  testing::internal::CaptureStderr();
  const auto code = program.parse(static_cast<int>(pointers.size()), pointers.data());
  const std::string error = testing::internal::GetCapturedStderr();
  return code ? error.substr(0, error.find('\n')) : "";
}

// The same with a program that ends with the call.
template <class Flags>
std::string parse(Flags& flags, std::vector<std::string> arguments) {
  Program program("quern", "", "", "");
  return parse_with(program, flags, std::move(arguments));
}

// Of a command line that must parse.
Result<EngineOptions> engine_options(std::vector<std::string> arguments) {
  EngineFlags flags;
  arguments.insert(arguments.begin(), "m.gguf");
  EXPECT_EQ(parse(flags, std::move(arguments)), "");
  return flags.options();
}

// What people get who type nothing.
TEST(EngineFlags, WithoutFlagsEverythingHasItsDefault) {
  const auto options = engine_options({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->device, "cpu");
  EXPECT_EQ(options->device_options.num_threads, 0);
  EXPECT_EQ(options->device_options.isa, "");
  EXPECT_EQ(options->compile.numerics, Numerics::kStrict);
  EXPECT_EQ(options->model.activations, Activations::kAuto);
  EXPECT_EQ(options->model.key_type, DType::kF32);
  EXPECT_EQ(options->context_length, 0);
  EXPECT_TRUE(options->overrides.empty());
  EXPECT_TRUE(options->adapters.empty());
  EXPECT_TRUE(options->has_parity_gate);
}

// A flag that does nothing is a lie.
TEST(EngineFlags, EachFlagReachesItsOption) {
  const auto options =
      engine_options({"--device", "reference", "--threads", "3", "--isa", "avx2", "--numerics",
                      "fast", "--activations", "int8", "--context", "2147483648", "--cache-type-k",
                      "f16", "--cache-type-v", "q8_0", "--no-parity-gate"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->device, "reference");
  EXPECT_EQ(options->device_options.num_threads, 3);
  EXPECT_EQ(options->device_options.isa, "avx2");
  EXPECT_EQ(options->compile.numerics, Numerics::kFast);
  EXPECT_EQ(options->model.activations, Activations::kInt8);
  EXPECT_EQ(options->context_length, int64_t{1} << 31);
  EXPECT_EQ(options->model.key_type, DType::kF16);
  EXPECT_EQ(options->model.value_type, DType::kQ8_0);
  EXPECT_FALSE(options->has_parity_gate);
}

// With the types that the keys have in files.
TEST(EngineFlags, RotaryFlagsAreKeysOfTheModel) {
  const auto options = engine_options({"--rope-freq-base", "5e5", "--rope-scaling", "yarn",
                                       "--rope-factor", "2.5", "--rope-original-context", "4096"});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_EQ(options->overrides.size(), 4U);
  const std::pair<const char*, MetadataValue> expected[] = {
      {"rope.freq_base", MetadataValue::number(5e5)},
      {"rope.scaling.type", MetadataValue::text("yarn")},
      {"rope.scaling.factor", MetadataValue::number(2.5)},
      {"rope.scaling.original_context_length", MetadataValue::number(int64_t{4096})}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(options->overrides[i].key, expected[i].first);
    EXPECT_EQ(options->overrides[i].value, expected[i].second) << expected[i].first;
  }
}

// Paths may hold '=' too.
TEST(EngineFlags, AdaptersHaveScales) {
  const auto options = engine_options(
      {"--lora", "a.gguf", "--lora", "b.gguf=0.5", "--lora", "c=d.gguf=-2", "--lora", "e=1e-3"});
  ASSERT_TRUE(options) << options.error().message;
  const std::pair<const char*, double> expected[] = {
      {"a.gguf", 1}, {"b.gguf", 0.5}, {"c=d.gguf", -2}, {"e", 1e-3}};
  ASSERT_EQ(options->adapters.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(options->adapters[i].path, expected[i].first);
    EXPECT_EQ(options->adapters[i].scale, expected[i].second);
  }
  for (const char* bad : {"a=", "a=x", "a=1x", "a=1 ", "a=+1"}) {
    const auto refused = engine_options({"--lora", bad});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message,
              "'" + std::string(bad).substr(2) + "' is not a scale in --lora " + bad + ".");
  }
}

// Before the model is opened.
TEST(EngineFlags, WordsAndRangesAreChecked) {
  const auto refusal = [](std::vector<std::string> arguments) {
    EngineFlags flags;
    arguments.insert(arguments.begin(), "m");
    return parse(flags, std::move(arguments));
  };
  EXPECT_EQ(refusal({"--cache-type-v", "i8"}),
            "quern: --cache-type-v: 'i8' is not one of f32, f16, bf16, q8_0, q4_0.");
  EXPECT_EQ(refusal({"--context", "2147483649"}),
            "quern: --context: '2147483649' is not a whole number from 0 to 2147483648.");
  EXPECT_EQ(refusal({"--rope-factor", "-inf"}),
            "quern: --rope-factor: '-inf' is not a number over 0.");
  EXPECT_EQ(refusal({"--rope-original-context", "0"}),
            "quern: --rope-original-context: '0' is not a number over 0.");
  EXPECT_EQ(refusal({"--rope-original-context", "1.5"}),
            "quern: --rope-original-context: '1.5' is not a whole number of 64 bits.");
}

// The last '=' separates the device.
TEST(PassFlags, RulesAndListsReachTheCompiler) {
  PassFlags flags;
  ASSERT_EQ(parse(flags, {"--passes", "a,b", "--no-pass", "c", "--no-pass", "d", "--place",
                          "blk.*=reference", "--place", "x=y=cpu"}),
            "");
  CompileOptions options;
  ASSERT_TRUE(flags.apply(options));
  EXPECT_EQ(options.passes.only, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.passes.off, (std::vector<std::string>{"c", "d"}));
  ASSERT_EQ(options.placement.size(), 2U);
  EXPECT_EQ(options.placement[0], (std::pair<std::string, std::string>("blk.*", "reference")));
  EXPECT_EQ(options.placement[1], (std::pair<std::string, std::string>("x=y", "cpu")));
}

// Everything else about it is checked by the compiler.
TEST(PassFlags, ARuleNeedsADevice) {
  PassFlags flags;
  ASSERT_EQ(parse(flags, {"--place", "blk"}), "");
  CompileOptions options;
  EXPECT_EQ(flags.apply(options).error().message, "--place blk is no PATTERN=DEVICE.");
}

// Samplers -------------------------------------------------------------------------------------

// Of a command line that must parse; the error comes from the flags.
Result<GenerateOptions> sampler_options(std::vector<std::string> arguments) {
  Program program("quern", "", "", "");  // the flags look into it
  SamplerFlags flags;
  EXPECT_EQ(parse_with(program, flags, std::move(arguments)), "");
  GenerateOptions generate;
  QUERN_TRY(flags.apply_to(generate, true));
  return generate;
}
// What a user reads who typed this.
std::string sampler_error(std::vector<std::string> arguments) {
  const auto options = sampler_options(std::move(arguments));
  return options ? "no error" : options.error().message;
}

// One place for defaults.
TEST(SamplerFlags, WithoutFlagsTheLibrarysDefaultsHold) {
  const auto options = sampler_options({"--seed", "0"});
  ASSERT_TRUE(options) << options.error().message;
  const SamplerOptions& s = options->sampler;
  const SamplerOptions defaults;
  EXPECT_EQ(s.temperature, defaults.temperature);
  EXPECT_EQ(s.top_k, defaults.top_k);
  EXPECT_EQ(s.top_p, defaults.top_p);
  EXPECT_EQ(s.min_p, defaults.min_p);
  EXPECT_EQ(s.order, defaults.order);
  EXPECT_EQ(s.num_logprobs, -1);
  EXPECT_FALSE(options->grammar);
}

// Two runs without a seed must not be the same run.
TEST(SamplerFlags, SeedsAreFreshUnlessGiven) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(sampler_options({})->sampler.seed);
  EXPECT_GT(seeds.size(), 1U);
}

// Loading takes minutes for large ones.
TEST(SamplerFlags, MistakesAreFoundBeforeTheModel) {
  EXPECT_EQ(sampler_error({"--temp", "-1"}),
            "The temperature is -1; it must be from 0 to 1000000.");
  EXPECT_EQ(sampler_error({"--temp", "nan"}),
            "The temperature is nan; it must be from 0 to 1000000.");
  EXPECT_EQ(sampler_error({"--top-p", "0"}), "Top-p is 0; it must be over 0 and at most 1.");
  EXPECT_EQ(sampler_error({"--samplers", "top_k;top_k"}),
            "The sampler stage 'top_k' stands twice in the order.");
  EXPECT_EQ(sampler_error({"--logit-bias", "5"}),
            "The logit bias '5' is not of the form ID+BIAS or ID-BIAS (15+1.5, 15-inf).");
  EXPECT_EQ(sampler_error({"--mirostat", "1"}),
            "The Mirostat version is 1; it must be 0 (off) or 2.");
}

// Errors name the file and its line.
TEST(SamplerFlags, GrammarsComeFromFiles) {
  const test::TemporaryFolder folder("sampler_flags");
  const std::string grammar = folder.file("g.gbnf"), schema = folder.file("s.json");
  std::ofstream(grammar) << "root ::= \"yes\" | \"no\"";
  std::ofstream(schema) << R"({"type": "boolean"})";
  EXPECT_TRUE(sampler_options({"--grammar", grammar})->grammar);
  EXPECT_TRUE(sampler_options({"--json-schema", schema})->grammar);
  SamplerFlags both;
  EXPECT_EQ(parse(both, {"--grammar", grammar, "--json-schema", schema}),
            "quern: --grammar excludes --json-schema.");
  std::ofstream(grammar) << "root ::= other";
  EXPECT_TRUE(
      sampler_error({"--grammar", grammar}).starts_with("While reading '" + grammar + "': "));
  std::ofstream(schema) << "[]";
  EXPECT_TRUE(
      sampler_error({"--json-schema", schema}).starts_with("While reading '" + schema + "': "));
  EXPECT_NE(sampler_error({"--grammar", folder.file("none")}), "no error");
}

// What a schema asks for and a grammar cannot hold is said, unless everything is to be quiet.
TEST(SamplerFlags, UnenforcedKeywordsAreNamed) {
  const test::TemporaryFolder folder("sampler_flags_quiet");
  const std::string schema = folder.file("s.json");
  std::ofstream(schema)
      << R"({"type": "array", "items": {"type": "integer"}, "uniqueItems": true})";
  for (const bool is_quiet : {false, true}) {
    Program program("quern", "", "", "");
    SamplerFlags flags;
    ASSERT_EQ(parse_with(program, flags, {"--json-schema", schema}), "");
    GenerateOptions generate;
    testing::internal::CaptureStderr();
    ASSERT_TRUE(flags.apply_to(generate, is_quiet));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("uniqueItems") != std::string::npos, !is_quiet) << text;
  }
}

}  // namespace
}  // namespace quern::cli
