// The program's commands bench, exec, graph, verify, run --receipt and check, as a user types them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "e2e/program.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/synth.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// A synthetic model in a folder.
class Commands : public testing::Test {
 protected:
  Commands() : folder_("commands") {}
  // `arguments` are words between spaces. Both streams end up in `output`.
  // The program with the faulty backend: with the sound devices it is the same program.
  ProgramResult quern(const std::string& arguments) const {
    std::istringstream stream(arguments);
    const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
    ProgramResult result = run_quern_faulty(words);
    result.output += result.errors;
    return result;
  }
  std::string model() const {
    const std::string path = folder_.file("m.gguf");
    if (!std::filesystem::exists(path)) {
      EXPECT_TRUE(write_synthetic_model(path, {.dtype = DType::kQ4_0}));
    }
    return path;
  }
  static std::string data(const std::string& name) {
    return std::string(QUERN_TEST_DATA_DIR) + "/manifest/" + name;
  }
  TemporaryFolder folder_;
};

// Exit code, and a part of what was printed.
void expect_part(const ProgramResult& result, int exit_code, std::string_view part) {
  EXPECT_EQ(result.exit_code, exit_code) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
}

// The reference has no measured roof of products, so that no share of one is printed.
TEST_F(Commands, BenchSharesOnlyRoofsThatAreKnown) {
  const ProgramResult result =
      quern("bench " + model() + " --device reference --prefill 4 --decode 1 --repetitions 1");
  expect_part(result, 0, "Gop/s of weights\n");
  EXPECT_EQ(result.output.find("0 Gop/s roof"), std::string::npos) << result.output;
}

TEST_F(Commands, BenchKeepsToTheContextThatIsAskedFor) {
  const std::string command = "bench " + model() + " --decode 1 --repetitions 1 --context 20";
  expect_part(quern(command + " --prefill 4"), 0, "decode");
  expect_part(quern(command + " --prefill 21"), 1, "21 tokens after 0 do not fit --context 20.");
}

// Inputs and outputs in both formats.
TEST_F(Commands, ExecRunsAManifestFromFiles) {
  const std::string command =
      "exec " + data("mlp.yaml") + " --inputs " + data("mlp_inputs.safetensors");
  expect_part(quern(command), 0, "probabilities: f64[11, 5] from ");
  expect_part(quern(command + " --quiet --output logits=" + folder_.file("y.npy") + " --outputs " +
                    folder_.file("all.safetensors") + " --device reference"),
              0, "");
  const auto y = read_npy(folder_.file("y.npy"));
  ASSERT_TRUE(y) << y.error().message;
  const auto expected = SafetensorsFile::open(data("mlp_outputs.safetensors"));
  const auto wanted = (*expected)->weight("logits")->read_as<double>().value();
  const auto actual = y->tensor.read_as<double>().value();
  // Ten times the bound of the library test: the sums are NumPy's, in another order.
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(actual[i], wanted[i], 1e-12 * 10);
  const auto all = SafetensorsFile::open(folder_.file("all.safetensors"));
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ((*all)->weight("logits")->read().value(), y->tensor.read().value());
  // An output of one run is the input of the next.
  expect_part(quern("exec " + data("mlp.yaml") + " --input x=" + data("mlp_inputs.safetensors")), 0,
              "logits");
}

// Of two values or files one would be lost in silence.
TEST_F(Commands, ExecTakesNothingTwice) {
  const std::string command =
      "exec " + data("mlp.yaml") + " --inputs " + data("mlp_inputs.safetensors");
  const std::string y = folder_.file("y.npy");
  expect_part(quern(command + " --output logits=" + y +
                    " --output probabilities=" + folder_.file("./y.npy")),
              1, "Two outputs would be written to");
  expect_part(
      quern(command + " --output logits=" + y + " --output logits=" + folder_.file("z.npy")), 1,
      "--output logits is given twice.");
  expect_part(quern(command + " --set layers=2 --set layers=3"), 1, "--set layers is given twice.");
  expect_part(quern(command + " --input x=a.npy --input x=b.npy"), 1, "--input x is given twice.");
}

// A constant that would become another number is refused with its line.
TEST_F(Commands, ConstantsKeepTheirValues) {
  const auto exec_constant = [&](const std::string& values, const std::string& dtype) {
    const std::string path = folder_.file("c.yaml");
    std::ofstream(path) << "quern: 1\nconstants:\n  c: {shape: [1], values: [" << values
                        << "], dtype: " << dtype << "}\noutputs: {y: c}\n";
    return quern("exec " + path);
  };
  expect_part(exec_constant("127", "i8"), 0, "127");
  expect_part(exec_constant("300", "i8"), 1,
              "c.yaml:3: The constant 'c' has the value 300, which i8");
  expect_part(exec_constant("1.5", "i32"), 1, "the value 1.5, which i32 cannot hold");
  expect_part(exec_constant("-1", "u8"), 1, "the value -1, which u8 cannot hold");
  expect_part(exec_constant("nan", "i64"), 1, "which i64 cannot hold");
  expect_part(exec_constant("1.5", "f32"), 0, "1.5");
}

// With file and line.
TEST_F(Commands, ExecSaysWhatIsWrong) {
  const std::string command = "exec " + data("mlp.yaml");
  expect_part(quern(command), 1, "The graph's input 'x' is not bound.");
  expect_part(quern(command + " --input x"), 1, "--input x does not have the form NAME=VALUE.");
  expect_part(quern(command + " --set layers=4 --inputs " + data("mlp_inputs.safetensors")), 1,
              "There is no weight 'layers.4.");
  expect_part(quern(command + " --set depth=4"), 1, "The manifest has no variable 'depth' to set.");
  expect_part(quern(command + " --inputs " + data("mlp_inputs.safetensors") +
                    " --output z=" + folder_.file("z.npy")),
              1, "The graph has no output 'z'; it has logits, probabilities.");
  expect_part(quern(command + " --device none"), 1, "There is no backend 'none'");
  // What comes up later has its line, too.
  expect_part(quern(command), 1, "mlp.yaml:9: The graph's input 'x' is not bound.");
  const std::string rows = folder_.file("rows.yaml");
  std::ofstream(rows) << "quern: 1\nconstants:\n  t: [1, 2]\n  i: {shape: [1], values: [2], dtype: "
                         "i32}\nnodes:\n  - {id: p, op: shape.gather_rows, in: [t, i]}\n"
                         "outputs: {y: p}\n";
  for (const char* device : {"cpu", "reference"}) {
    const ProgramResult run = quern("exec " + rows + " --device " + device);
    expect_part(run, 1, "quern: " + rows + ":6: Node 'p'");
    expect_part(run, 1, ": Element 0 of 'rows' is 2; 'x' has 2 rows.");
  }
  std::ofstream(folder_.file("empty.yaml")).flush();
  expect_part(quern("exec " + folder_.file("empty.yaml")), 1,
              folder_.file("empty.yaml") + ":1: A manifest is empty; a map is needed.");
  std::ofstream(folder_.file("bad.yaml")) << "quern: 1\nnodes:\n  - {id: a, op: math.exp, in: b}\n";
  expect_part(quern("exec " + folder_.file("bad.yaml")), 1,
              folder_.file("bad.yaml") + ":3: Node 'a' takes 'b', which nothing declares.");
}

// What a command cannot use is refused: silence would let one believe that it was.
TEST_F(Commands, OptionsWithoutEffectAreRefused) {
  const std::string mlp = data("mlp.yaml");
  expect_part(quern("explain " + mlp + " --repetitions 3"), 2, "--repetitions requires --measure.");
  expect_part(quern("compile " + mlp + " --threads 2"), 1, "--threads 2 has no effect");
  expect_part(quern("compile " + mlp + " --isa mmx"), 1, "mmx");
  expect_part(quern("compile " + mlp), 0, "nodes");
  expect_part(quern("verify " + model() + " --no-parity-gate"), 1,
              "--no-parity-gate has no effect");
  // The symbols of the graph, not those that models have.
  expect_part(quern("compile " + mlp + " --bind T=13"), 0, "Memory of run (T = 13)");
}

// To the same graph.
// The first line names the source; the rest must be equal.
TEST_F(Commands, GraphPrintsManifestsThatReadBack) {
  const ProgramResult yaml = quern("graph --yaml " + model());
  ASSERT_EQ(yaml.exit_code, 0) << yaml.output;
  std::ofstream(folder_.file("m.yaml")) << yaml.output;
  const ProgramResult direct = quern("graph " + model());
  const ProgramResult through_yaml = quern("graph " + folder_.file("m.yaml"));
  EXPECT_EQ(through_yaml.exit_code, 0) << through_yaml.output;
  const auto body = [](const std::string& text) { return text.substr(text.find('\n')); };
  EXPECT_EQ(body(direct.output), body(through_yaml.output));
}

// And what it saves repeats it.
// The command is taken from README.txt and run as a reader would, in this test's folder.
TEST_F(Commands, VerifyNamesTheFaultAndSavesIt) {
  expect_part(quern("verify " + model() + " --device cpu --against reference"), 0,
              "cpu and reference agree: ");
  const std::string replay = folder_.file("replay");
  const ProgramResult faulty = quern("verify " + model() + " --device faulty --save " + replay);
  expect_part(faulty, 1, "Node 'blk.1.q_rope' (positional.rope_at) is the first that differs");
  expect_part(faulty, 1, "Device faulty diverges from reference at node 'blk.1.q_rope'");
  // The command that README.txt gives.
  std::ifstream stream(replay + "/README.txt");
  std::string line, command;
  while (std::getline(stream, line)) {
    if (line.starts_with("  quern ")) command = line.substr(8);
  }
  ASSERT_NE(command, "");
  const std::string relative = "again.safetensors";
  command.replace(command.find(relative), relative.size(), folder_.file(relative));
  expect_part(quern(command), 0, "blk.1.q_rope: f32[");
  const auto again = SafetensorsFile::open(folder_.file("again.safetensors"));
  const auto actual = SafetensorsFile::open(replay + "/actual.safetensors");
  ASSERT_TRUE(again && actual);
  EXPECT_EQ((*again)->weight("blk.1.q_rope")->read().value(),
            (*actual)->weight("blk.1.q_rope")->read().value());
}

// Unless it is told to.
TEST_F(Commands, AFaultyDeviceDoesNotServe) {
  expect_part(quern("run " + model() + " hello --max-tokens 2 --device faulty"), 1,
              "Device faulty fails the parity gate");
  expect_part(
      quern("run " + model() + " hello --max-tokens 2 --device faulty --no-parity-gate --quiet"), 0,
      "");
}

// Other threads, other instructions, another device, another place.
// The last line moves the model: by path the receipt cannot find it, by content it can.
TEST_F(Commands, ReceiptsCheckElsewhere) {
  const std::string receipt = folder_.file("r.json");
  expect_part(quern("run " + model() +
                    " hello --seed 5 --max-tokens 12 --quiet --threads 2 --receipt " + receipt),
              0, "");
  expect_part(quern("check " + receipt + " --threads 1 --isa scalar"), 0, "same bits: ");
  expect_part(quern("check " + receipt + " --device reference"), 0,
              "on reference (scalar, 1 threads)");
  expect_part(quern("check " + receipt + " --device faulty"), 1,
              "Step 0: the logits do not have the bits");
  std::filesystem::rename(model(), folder_.file("moved.gguf"));
  expect_part(quern("check " + receipt), 1, "m.gguf");
  expect_part(quern("check " + receipt + " --model " + folder_.file("moved.gguf")), 0,
              "same bits: ");
  expect_part(
      quern("run " + folder_.file("moved.gguf") + " x --numerics fast --receipt " + receipt), 1,
      "--receipt needs --numerics strict, not fast.");
}

}  // namespace
}  // namespace quern::test
