// What the program refuses before any work: options without effect, sizes without a meaning, files
// that could not be written or would mislead, filters that keep nothing.
#include "errors/cli_errors.h"

namespace quern::test {
namespace {

using CliRefusals = CliErrors;

// A device that has no levels, or one thread, does not follow the options for them.
TEST_F(CliRefusals, DevicesRefuseOptionsThatTheyDoNotFollow) {
  const std::string threads =
      "--threads 3 has no effect on device reference, which always runs on 1 thread.";
  const std::string isa =
      "--isa avx2 has no effect on device reference, which has no instruction sets to choose from; "
      "it always runs as scalar.";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", model(), "hi", "--quiet"},
        {"logits", model(), "--tokens", "1", "--output", file("l.npy")},
        {"explain", model()},
        {"ulp", "exp"},
        {"op", "masking.causal", "--attr", "seq_len=2"},
        {"verify", model(), "--tokens", "1"}}) {
    const auto with = [&](const std::vector<std::string>& more) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--device", "reference"});
      arguments.insert(arguments.end(), more.begin(), more.end());
      return arguments;
    };
    expect_failure(with({"--threads", "3"}), threads);
    expect_failure(with({"--isa", "avx2"}), isa);
  }
  expect_failure({"conform", "--backend", "reference", "--threads", "3"}, threads);
  expect_failure({"conform", "--backend", "reference", "--isa", "avx2"}, isa);
  expect_failure({"verify", model(), "--tokens", "1", "--against-threads", "3"},
                 "--against-" + threads.substr(2));
  expect_failure({"compile", model(), "--device", "reference", "--isa", "avx2"},
                 "--isa avx2 has no effect on device reference, which always runs as scalar.");
  EXPECT_EQ(run_quern({"run", model(), "hi", "--quiet", "--max-tokens", "1", "--device",
                       "reference", "--threads", "1", "--isa", "scalar"})
                .exit_code,
            0);
}

// Sizes that nothing asks for, and lists of nothing.
TEST_F(CliRefusals, SizesMustHaveAMeaning) {
  expect_failure({"compile", model(), "--bind", "T=4", "--bind", "Q=4"},
                 "--bind Q=4: the graph has no symbol Q; it has R, T.");
  expect_failure({"compile", model(), "--bind", "T=4", "--tokens", "4"},
                 "--tokens has no effect beside --bind; --bind gives the extents.");
  expect_failure({"explain", model(), "--bind", "T=4"},
                 "--bind T=4 has no effect on a model; --tokens, --cached and --phase give its "
                 "sizes.");
  const std::string graph = file("graph.txt");
  std::ofstream(graph) << "graph {\n  %x = Input() {type = \"f32[T, 2]\"} : f32[T, 2]\n"
                          "  %y = math.exp(%x) : f32[T, 2]\n  output y = %y\n}\n";
  for (const char* command : {"compile", "explain"}) {
    expect_failure({command, graph, "--bind", "S=4"},
                   "--bind S=4: the graph has no symbol S; it has T.");
    expect_failure({command, graph, "--tokens", "4"},
                   "--tokens has no effect on a graph; --bind gives the extents.");
    EXPECT_EQ(run_quern({command, graph, "--bind", "T=4"}).exit_code, 0);
  }
  expect_failure({"explain", graph, "--cached", "4"},
                 "--cached has no effect on a graph; --bind gives the extents.");
  for (const char* empty : {"", " , ", "[]"}) {
    expect_failure(
        {"verify", model(), "--tokens", empty},
        "--tokens '" + std::string(empty) + "' holds no token id; verify needs at least one.");
  }
  expect_usage({"verify", model(), "--tokens", "1", "--prompt", "a"},
               "--prompt excludes --tokens.");
}

// A receipt that cannot be written is known before the run that it would be of.
TEST_F(CliRefusals, ReceiptsMustHaveAPlace) {
  const long before = num_files();
  const std::string nowhere = file("no/r.json");
  expect_failure({"run", model(), "Once", "--receipt", nowhere},
                 "--receipt: File '" + nowhere + "' cannot be created: No such file or directory.");
  expect_failure({"run", model(), "Once", "--receipt", folder_->path()},
                 "--receipt: '" + folder_->path().string() + "' exists and is not a regular file.");
  EXPECT_EQ(num_files(), before);
  // What fails later leaves an older receipt alone.
  const std::string old = file("old.json");
  std::ofstream(old) << "old";
  EXPECT_EQ(run_quern({"run", file("none.gguf"), "Once", "--receipt", old}).exit_code, 1);
  EXPECT_EQ(content(old), "old");
  std::filesystem::remove(old);
  EXPECT_EQ(num_files(), before);
}

// And of what it is asked for: a key that nothing reads would say something unchecked.
TEST_F(CliRefusals, ReceiptsHoldNothingElse) {
  const std::string path = file("receipt.json");
  ASSERT_EQ(run_quern({"run", model(), "Once", "--quiet", "--max-tokens", "2", "--receipt", path})
                .exit_code,
            0);
  std::string text = content(path);
  text.insert(text.find('{') + 1, "\"note\": 1,");
  std::ofstream(path) << text;
  expect_failure({"check", path},
                 "While reading '" + path +
                     "': The receipt has the unknown key 'note'; its keys are quern_receipt, "
                     "made_by, model, operations, options, sampler, prompt, tokens, logits and "
                     "digests.");
  std::filesystem::remove(path);
}

// The bytes follow the name, or there are none.
TEST_F(CliRefusals, ResultsGoToFilesOfAKnownFormat) {
  const long before = num_files();
  const std::string both =
      "' does not end in .npy or .safetensors, which is what results are "
      "written as.";
  expect_failure(
      {"op", "masking.causal", "--attr", "seq_len=2", "--output", "mask=" + file("mask.txt")},
      "--output mask: '" + file("mask.txt") + both);
  expect_failure({"exec", file("none.yaml"), "--output", "y=" + file("y")},
                 "--output y: '" + file("y") + both);
  expect_failure({"exec", file("none.yaml"), "--outputs", file("y.npy")},
                 "--outputs: '" + file("y.npy") +
                     "' does not end in .safetensors, which is what it is written as.");
  expect_failure({"logits", file("none.gguf"), "--tokens", "1", "--output", file("l.bin")},
                 "--output: '" + file("l.bin") +
                     "' does not end in .npy, which is what results are written as.");
  EXPECT_EQ(num_files(), before);
}

// It would prove nothing.
TEST_F(CliRefusals, FiltersMustKeepSomething) {
  expect_failure({"conform", "--filter", "no.such", "--json"},
                 "--filter 'no.such': no operation has an id that contains it; 'quern ops' lists "
                 "them.");
  EXPECT_NE(run_quern({"conform", "--filter", "math.sign", "--json"})
                .output.find("\"filter\": \"math.sign\""),
            std::string::npos);
}

}  // namespace
}  // namespace quern::test
