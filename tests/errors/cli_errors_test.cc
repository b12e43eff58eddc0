// Errors of the program: exit code, text on stderr, nothing on stdout, no file left behind.
#include "errors/cli_errors.h"

#include <sys/wait.h>

#include <cstdlib>

namespace quern::test {
namespace {

// They were asked for.
TEST_F(CliErrors, HelpAndVersionGoToStdout) {
  const ProgramResult version = run_quern({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.output.starts_with("quern "));
  EXPECT_EQ(version.errors, "");
  const ProgramResult help = run_quern({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const auto* command :
       {"run",        "chat",    "logits",  "perplexity", "bench",   "tokenize",
        "detokenize", "inspect", "graph",   "devices",    "ops",     "quantize",
        "convert",    "synth",   "op",      "exec",       "conform", "verify",
        "check",      "compile", "explain", "ulp"}) {
    EXPECT_NE(help.output.find(command), std::string::npos) << command;
    const ProgramResult own = run_quern({command, "--help"});
    EXPECT_EQ(own.exit_code, 0) << command;
    EXPECT_EQ(own.errors, "") << command;
    EXPECT_NE(own.output.find("Usage: quern " + std::string(command)), std::string::npos)
        << own.output;
  }
}

// The error lists those that are.
TEST_F(CliErrors, TheCommandMustBeKnown) {
  expect_usage({}, "No command was given.");
  const ProgramResult run = run_quern({"nope"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(run.errors.starts_with("quern: There is no command 'nope'; the commands are run, "))
      << run.errors;
  expect_usage({"--nope"}, "There is no option '--nope'.");
}

// Usage errors have their own exit code.
TEST_F(CliErrors, ArgumentsMustBeKnownAndComplete) {
  expect_usage({"run"}, "MODEL is required.");
  expect_usage({"run", "m", "--nope"}, "The following argument was not expected: --nope.");
  expect_usage({"run", "m", "a", "b"}, "The following argument was not expected: b.");
  expect_usage({"run", "m", "--threads"}, "--threads needs a value.");
  expect_usage({"perplexity", "m"}, "--file is required.");
  expect_usage({"synth"}, "--output is required.");
  expect_usage({"quantize", "a", "b"}, "--type is required.");
  expect_usage({"tokenize", "m"}, "Exactly 1 option from [TEXT,--file] is required.");
  expect_usage({"tokenize", "m", "a", "--file", "b"},
               "Exactly 1 option from [TEXT,--file] is required and 2 were given.");
  expect_usage({"convert", "a", "b", "--merge", "--split-size", "1G"},
               "--split-size excludes --merge.");
}

// The error has option, value and range.
TEST_F(CliErrors, ValuesMustBeInRange) {
  const std::string threads = " is not a whole number from 0 to 1024.";
  expect_usage({"run", "m", "--threads", "1025"}, "--threads: '1025'" + threads);
  expect_usage({"run", "m", "--threads", "-1"}, "--threads: '-1'" + threads);
  expect_usage({"run", "m", "--threads", "two"}, "--threads: 'two'" + threads);
  expect_usage({"run", "m", "--threads", "2.5"}, "--threads: '2.5'" + threads);
  expect_usage({"run", "m", "--threads", "99999999999999999999"},
               "--threads: '99999999999999999999'" + threads);
  expect_usage({"run", "m", "--max-tokens", "-2"},
               "--max-tokens: '-2' is not a whole number from -1 to 1099511627776.");
  expect_usage({"logits", "m", "--tokens", "1", "--output", "o", "--chunk", "-1"},
               "--chunk: '-1' is not a number from 0 up.");
  expect_usage({"run", "m", "--rope-freq-base", "0"},
               "--rope-freq-base: '0' is not a number over 0.");
  expect_usage({"run", "m", "--rope-factor", "nan"},
               "--rope-factor: 'nan' is not a number over 0.");
  expect_usage({"run", "m", "--temp", "hot"}, "--temp: 'hot' is not a number.");
  expect_usage({"perplexity", "m", "--file", "f", "--context", "x"},
               "--context: 'x' is not a whole number of 64 bits.");
}

// Numbers that the target cannot hold were cut to what it can.
TEST_F(CliErrors, SeedsMustFit) {
  const std::string words = " is not a whole number from 0 to 18446744073709551615.";
  expect_usage({"run", "m", "--seed", "18446744073709551616"},
               "--seed: '18446744073709551616'" + words);
  expect_usage({"run", "m", "--seed", "-1"}, "--seed: '-1'" + words);
  expect_usage({"synth", "--output", "o", "--seed", "x"}, "--seed: 'x'" + words);
}

// The error lists them.
TEST_F(CliErrors, WordsMustBeChoices) {
  expect_usage({"run", "m", "--numerics", "exact"},
               "--numerics: 'exact' is not one of strict, deterministic, fast.");
  expect_usage({"run", "m", "--activations", "int4"},
               "--activations: 'int4' is not one of auto, int8, int16, f32.");
  expect_usage({"run", "m", "--cache-type-k", "q2_K"},
               "--cache-type-k: 'q2_K' is not one of f32, f16, bf16, q8_0, q4_0.");
  expect_usage({"convert", "a", "b", "--endian", "middle"},
               "--endian: 'middle' is not one of little, big.");
}

// Fractions and blanks are not sizes.
TEST_F(CliErrors, SizesHaveAUnit) {
  for (const auto* text : {"0", "5Q", "-1", "1.5G", "G", "", "99999999999G", "1MM", "1 G"}) {
    expect_usage(
        {"convert", "a", "b", "--split-size", text},
        "--split-size: '" + std::string(text) + "' is not a size over 0 such as 500M or 2G.");
  }
}

// And the error names the path.
TEST_F(CliErrors, FilesMustExistAndBeModels) {
  for (const auto* command : {"run", "inspect", "graph"}) {
    expect_failure({command, file("none.gguf")},
                   "File '" + file("none.gguf") + "' cannot be opened: No such file or directory.");
  }
  expect_failure({"inspect", folder_->path()},
                 "'" + folder_->path().string() + "' is not a regular file.");
  expect_failure({"inspect", file("text.txt")},
                 "While reading '" + file("text.txt") +
                     "': It does not begin with 'GGUF'; it is another format.");
  for (const auto* name : {"empty.gguf", "cut.gguf"}) {
    const ProgramResult run = run_quern({"run", file(name), "hi"});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.output, "");
    EXPECT_NE(run.errors.find(file(name)), std::string::npos) << run.errors;
    EXPECT_TRUE(run.errors.ends_with(".\n"));
  }
}

// A slower device is no answer to a typing error.
TEST_F(CliErrors, DevicesAndInstructionSetsMustExist) {
  expect_failure({"ops", "--backend", "abacus"},
                 "There is no backend 'abacus'; this build has reference, cpu, null.");
  expect_failure({"run", model(), "hi", "--quiet", "--device", "abacus"},
                 "While loading '" + model() +
                     "': There is no backend 'abacus'; this build has reference, cpu, null.");
  const ProgramResult run = run_quern({"run", model(), "hi", "--quiet", "--isa", "mmx"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("There is no instruction set 'mmx'; this machine can use scalar"),
            std::string::npos)
      << run.errors;
  expect_usage({"run", model(), "hi", "--quiet", "--threads", "2000"},
               "--threads: '2000' is not a whole number from 0 to 1024.");
}

// Mistakes show at once.
TEST_F(CliErrors, SamplersAreCheckedBeforeTheModelIsRead) {
  expect_failure({"run", "none", "hi", "--temp", "-1"},
                 "The temperature is -1; it must be from 0 to 1000000.");
  expect_failure({"run", "none", "hi", "--samplers", "best"},
                 "The sampler stage 'best' is not known; those known are "
                 "penalties;dry;top_n_sigma;top_k;typical;top_p;min_p;xtc;temperature.");
  const std::string none = file("none.gbnf");
  expect_failure({"run", "none", "hi", "--grammar", none},
                 "File '" + none + "' cannot be opened: No such file or directory.");
  for (const auto& [flag, name] :
       {std::pair{"--grammar", "bad.gbnf"}, std::pair{"--json-schema", "bad.json"},
        std::pair{"--json-schema", "broken.json"}}) {
    const ProgramResult run = run_quern({"run", "none", "hi", flag, file(name)});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_TRUE(run.errors.starts_with("quern: While reading '" + file(name) + "': "))
        << run.errors;
  }
  const ProgramResult bias = run_quern({"run", "none", "hi", "--logit-bias", "x"});
  EXPECT_EQ(bias.exit_code, 1);
  EXPECT_NE(bias.errors.find("'x'"), std::string::npos) << bias.errors;
}

// Path and scale.
TEST_F(CliErrors, AdaptersAreChecked) {
  expect_failure({"run", model(), "hi", "--lora", "a=b"}, "'b' is not a scale in --lora a=b.");
  expect_failure({"run", model(), "hi", "--quiet", "--lora", file("none.gguf")},
                 "While loading '" + model() + "': File '" + file("none.gguf") +
                     "' cannot be opened: No such file or directory.");
  const ProgramResult run = run_quern({"run", model(), "hi", "--quiet", "--lora", model()});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.errors.find("Adapter '" + model() + "': "), std::string::npos) << run.errors;
}

// Before a file is written.
TEST_F(CliErrors, TokensAreCheckedAgainstTheVocabulary) {
  expect_failure({"detokenize", model(), "1,x"}, "'x' is not a token id.");
  expect_failure({"detokenize", model(), "-5"}, "'-5' is not a token id.");
  expect_failure({"detokenize", model(), "2147483648"}, "'2147483648' is not a token id.");
  const ProgramResult over = run_quern({"detokenize", model(), "999999999"});
  EXPECT_EQ(over.exit_code, 1);
  EXPECT_TRUE(over.errors.starts_with("quern: Token 999999999 is outside the vocabulary of "));
  expect_failure({"logits", model(), "--tokens", "", "--output", file("o.npy")},
                 "There are no tokens to feed.");
  EXPECT_FALSE(std::filesystem::exists(file("o.npy")));
}

// In numbers of tokens.
TEST_F(CliErrors, PerplexityNeedsTextAndContext) {
  expect_failure({"perplexity", model(), "--file", file("none.txt")},
                 "File '" + file("none.txt") + "' cannot be opened: No such file or directory.");
  expect_failure({"perplexity", model(), "--file", file("")},
                 "File '" + file("") + "' cannot be read: Is a directory.");
  const ProgramResult small =
      run_quern({"perplexity", model(), "--file", file("text.txt"), "--context", "3"});
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_TRUE(small.errors.starts_with("quern: A context of 3 tokens is outside 4 to "))
      << small.errors;
  const ProgramResult brief =
      run_quern({"perplexity", model(), "--file", file("text.txt"), "--context", "64"});
  EXPECT_EQ(brief.exit_code, 1);
  EXPECT_NE(brief.errors.find("tokens; one chunk needs 64.\n"), std::string::npos) << brief.errors;
}

// What would do nothing is refused, with the option that is missing.
TEST_F(CliErrors, OptionsWithoutEffectAreRefused) {
  const auto refused = [](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), {"run", model(), "Once", "--max-tokens", "2"});
    expect_failure(options, message);
  };
  refused({"--samplers", "top_k", "--top-p", "0.5"},
          "--top-p does nothing: its stage 'top_p' is not in --samplers 'top_k'.");
  refused({"--mirostat", "2", "--top-k", "5"},
          "--top-k does nothing with --mirostat, which takes the place of all filters.");
  refused({"--system", "Be brief."},
          "--system needs --chat, since only a chat template has a place for it.");
  refused({"--logprobs", "3"}, "--logprobs needs --json, which shows them.");
  refused({"--rope-scaling", "none", "--rope-factor", "3"},
          "--rope-factor does nothing with --rope-scaling none.");
  refused({"--rope-scaling", "yarn"}, "--rope-scaling yarn needs --rope-factor.");
  refused({"--rope-original-context", "64"}, "--rope-original-context needs --rope-scaling yarn.");
  refused({"--rope-freq-base", "1e39"}, "--rope-freq-base is 1e+39; the limit is 3.4028235e+38.");
  refused({"--stop", ""}, "--stop is empty; it must be a text to stop at.");
  refused({"--place", "nothing*=cpu"},
          "While loading '" + model() +
              "': Pass place: No node has a name like 'nothing*', which is to be placed on 'cpu'.");
  expect_failure(
      {"logits", model(), "--tokens", "1,2,3", "--context", "2", "--output", file("l.npy")},
      "There are 3 tokens to feed; --context allows 2.");
  expect_usage({"run", model(), "a", "--max-tokens", "3", "--max-tokens", "4"},
               "--max-tokens is given more than once.");
}

// Output that goes nowhere is no success, and messages that go nowhere are no failure.
TEST_F(CliErrors, OutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "There is no /dev/full";
  const auto run = [](const std::string& rest) {
    const std::string line = std::string(QUERN_PROGRAM) + " " + rest;
    return WEXITSTATUS(std::system(line.c_str()));
  };
  const std::string errors = file("errors.txt");
  for (const std::string& command :
       {std::string("ops"), std::string("--help"), "inspect " + model(),
        "run " + model() + " Once --max-tokens 3 --quiet", "graph " + model()}) {
    EXPECT_EQ(run(command + " > /dev/full 2> " + errors), 1) << command;
    EXPECT_TRUE(content(errors).starts_with("quern: Standard output c")) << content(errors);
    EXPECT_EQ(run(command + " 2> " + errors + " >&-"), 1) << command;
  }
  const std::string answer = "run " + model() + " Once --temp 0 --max-tokens 3 > " + file("a.txt");
  EXPECT_EQ(run(answer + " 2> /dev/full"), 0);
  const std::string first = content(file("a.txt"));
  EXPECT_EQ(run(answer + " 2>&-"), 0);
  EXPECT_EQ(content(file("a.txt")), first);
}

// Under whatever name.
TEST_F(CliErrors, AModelIsNotWrittenOverItself) {
  const std::string before = content(model());
  const std::string link = file("link.gguf");
  std::filesystem::create_symlink(model(), link);
  for (const std::string& output : {model(), link, file("./model.gguf")}) {
    const std::string reason = "'" + output + "' is the file '" + model() +
                               "' that the model is read from; write to "
                               "another.";
    expect_failure({"quantize", model(), output, "--type", "q8_0"},
                   "While quantising '" + model() + "': " + reason);
    expect_failure({"convert", model(), output, "--endian", "big"},
                   "While converting '" + model() + "': " + reason);
  }
  EXPECT_EQ(content(model()), before);
  std::filesystem::remove(link);
}

// No half-written files.
TEST_F(CliErrors, WritersNameWhatIsWrongAndLeaveNothing) {
  const long before = num_files();
  expect_failure({"synth", "--shape", "cube", "--output", file("s.gguf")},
                 "There is no synthetic shape 'cube'; the shapes are 'tiny', 'tiny-k', "
                 "'smollm2-135m', 'tinyllama-1.1b', 'llama-3.2-1b'.");
  expect_failure({"synth", "--type", "q9", "--output", file("s.gguf")},
                 "'q9' is not a type of weights.");
  const std::string nowhere = file("no/folder.gguf");
  expect_failure({"synth", "--output", nowhere},
                 "File '" + nowhere + "' cannot be created: No such file or directory.");
  expect_failure({"quantize", model(), file("q.gguf"), "--type", "q4_0", "--keep", "foo"},
                 "'foo' is not of the form PATTERN=TYPE, as in 'attn_v=q8_0'.");
  expect_failure({"quantize", model(), file("q.gguf"), "--type", "q4_0", "--keep", "a=q9"},
                 "'q9' in 'a=q9' is not a format; formats are f16, q8_0, q4_K, ...");
  const ProgramResult type = run_quern({"quantize", model(), file("q.gguf"), "--type", "best"});
  EXPECT_EQ(type.exit_code, 1);
  EXPECT_EQ(type.output, "");
  EXPECT_NE(type.errors.find("'best'"), std::string::npos) << type.errors;
  EXPECT_EQ(num_files(), before);
}

// What goes right stays quiet on stderr with --quiet, and is the same each time.
TEST_F(CliErrors, GoodRunsExitWithZero) {
  const std::vector<std::string> arguments = {"run",    model(), "Once",         "--quiet",
                                              "--temp", "0",     "--max-tokens", "4"};
  const ProgramResult first = run_quern(arguments);
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.errors, "");
  EXPECT_EQ(run_quern(arguments).output, first.output);
  const ProgramResult piped =
      run_quern({"run", model(), "--quiet", "--temp", "0", "--max-tokens", "4"}, "Once\n");
  EXPECT_EQ(piped.output, first.output);  // the prompt of a pipe, without its last line break
  for (const std::vector<std::string>& quiet : {std::vector<std::string>{"devices"},
                                                {"ops"},
                                                {"ops", "--json"},
                                                {"inspect", model()},
                                                {"inspect", model(), "--json"},
                                                {"graph", model()},
                                                {"tokenize", model(), "Once"}}) {
    const ProgramResult run = run_quern(quiet);
    EXPECT_EQ(run.exit_code, 0) << quiet[0];
    EXPECT_EQ(run.errors, "") << quiet[0];
    EXPECT_NE(run.output, "") << quiet[0];
  }
}

}  // namespace
}  // namespace quern::test
