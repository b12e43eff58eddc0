// Runs of the program that must fail, and the files they fail on.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "e2e/program.h"
#include "support/temporary_folder.h"

namespace quern::test {

// An error of the work: exit code 1 and this sentence alone.
inline void expect_failure(const std::vector<std::string>& arguments, const std::string& message) {
  const ProgramResult run = run_quern(arguments);
  const std::string shown = testing::PrintToString(arguments);
  EXPECT_EQ(run.exit_code, 1) << shown;
  EXPECT_EQ(run.output, "") << shown;
  EXPECT_EQ(run.errors, "quern: " + message + "\n") << shown;
}

// Wrong usage: exit code 2, a sentence, and where to read on.
inline void expect_usage(const std::vector<std::string>& arguments, const std::string& message) {
  const ProgramResult run = run_quern(arguments);
  const std::string shown = testing::PrintToString(arguments);
  EXPECT_EQ(run.exit_code, 2) << shown;
  EXPECT_EQ(run.output, "") << shown;
  EXPECT_TRUE(run.errors.starts_with("quern: " + message + "\n'quern ")) << run.errors << shown;
  EXPECT_TRUE(run.errors.ends_with("--help' shows what there is.\n")) << run.errors;
}

// A synthetic model, made once, and a folder for what tests write.
class CliErrors : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder("cli_errors");
    const ProgramResult made = run_quern({"synth", "--output", file("model.gguf")});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
    std::ofstream(file("text.txt")) << "Once upon a time.";
    std::ofstream(file("bad.gbnf")) << "root ::= missing";
    std::ofstream(file("bad.json")) << "{\"type\": 5}";
    std::ofstream(file("broken.json")) << "{\"type\"";
    std::ofstream(file("empty.gguf")).flush();
    const std::string whole = content(file("model.gguf"));
    std::ofstream(file("cut.gguf"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string file(std::string_view name) { return folder_->file(name); }
  static std::string content(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string model() { return file("model.gguf"); }
  static long num_files() {
    return std::distance(std::filesystem::directory_iterator(folder_->path()),
                         std::filesystem::directory_iterator());
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

}  // namespace quern::test
