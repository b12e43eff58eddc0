// The program on processors that lack instructions of this machine, as qemu-user shows them: it
// chooses a level that they have, runs nothing above it, and gives the same bits.
#include <gtest/gtest.h>

#include "e2e/program.h"
#include "support/temporary_folder.h"

namespace quern::test {
namespace {

using Arguments = std::vector<std::string>;

struct Processor {
  const char* name;   // of qemu
  const char* level;  // the best that it has
};
constexpr Processor kProcessors[] = {
    {"qemu64", "sse2"}, {"SandyBridge", "sse2"}, {"Haswell", "avx2"}};

class Processors : public testing::TestWithParam<Processor> {
 protected:
  void SetUp() override {
    if (!can_emulate_processors()) GTEST_SKIP() << "There is no qemu-x86_64 (Debian: qemu-user).";
    const ProgramResult made =
        run_quern({"synth", "--shape", "tiny", "--type", "q4_0", "--output", model_});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
  }

  Arguments logits(const std::string& output) const {
    return {"logits", model_,     "--prompt", "Once upon a time", "--activations",
            "int8",   "--output", output,     "--no-parity-gate"};
  }

  TemporaryFolder folder_{"processors_test"};
  std::string model_ = folder_.file("tiny.gguf");
};

TEST_P(Processors, DeviceNamesTheBestLevel) {
  const ProgramResult result = run_quern_on(GetParam().name, {"devices"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string expected = std::string("processor: ") + GetParam().level + ",";
  EXPECT_NE(result.output.find(expected), std::string::npos) << result.output;
}

// Products, attention and rows of the level, in one model with block-quantised weights.
TEST_P(Processors, LogitsAreTheBitsOfThisMachine) {
  const ProgramResult here = run_quern(logits(folder_.file("here.npy")));
  ASSERT_EQ(here.exit_code, 0) << here.errors;
  const ProgramResult there = run_quern_on(GetParam().name, logits(folder_.file("there.npy")));
  ASSERT_EQ(there.exit_code, 0) << there.errors;
  EXPECT_FALSE(read_file(folder_.file("here.npy")).empty());
  EXPECT_EQ(read_file(folder_.file("here.npy")), read_file(folder_.file("there.npy")));
}

// In words, before any code of that level runs.
TEST_P(Processors, LevelThatItLacksIsRefused) {
  Arguments arguments = logits(folder_.file("never.npy"));
  arguments.insert(arguments.end(), {"--isa", "avx512"});
  const ProgramResult result = run_quern_on(GetParam().name, arguments);
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.errors.find("The processor has no avx512"), std::string::npos) << result.errors;
}

INSTANTIATE_TEST_SUITE_P(Qemu, Processors, testing::ValuesIn(kProcessors),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace quern::test
