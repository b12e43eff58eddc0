// Malformed files after public reports: each is read in a process of its own, which must end
// without a signal, in under 1 s and 200 MiB, with the outcome that the suite states.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/gguf_reader.h"
#include "formats/model_metadata.h"

namespace quern {
namespace {

enum Outcome { kAccepted = 0, kRejected = 1 };

// As a program would: metadata, tensors and every weight.
Outcome read_model(const std::string& path) {
  const auto file = GgufFile::open(path);
  if (!file) return kRejected;
  for (const GgufTensor& tensor : (*file)->tensors()) {
    if (!(*file)->weight(tensor.name)) return kRejected;
  }
  return check_model_metadata((*file)->metadata()) ? kAccepted : kRejected;
}

// How the child process ended.
struct Trial {
  bool has_exited = false;
  int outcome = -1;
  double seconds = 0;
  int64_t peak_mib = 0;
};

// A crash ends the child alone.
Trial read_in_child(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  // _exit(): no destructors or buffers of the parent run in the child.
  if (child == 0) ::_exit(read_model(path));
  Trial trial;
  int status = 0;
  struct rusage usage {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) return trial;
  trial.has_exited = WIFEXITED(status);
  trial.outcome = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  trial.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Linux counts ru_maxrss in KiB. The child starts with the parent's pages, which are in it too.
  trial.peak_mib = usage.ru_maxrss / 1024;
  return trial;
}

// Of a line of the suite's table.
std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, '\t');) parts.push_back(part);
  return parts;
}

// Each file in a process of its own, so that a crash is one failure.
TEST(GgufMalformed, EveryFileHasTheStatedOutcome) {
  const std::filesystem::path folder = std::filesystem::path(QUERN_SUITES_DIR) / "gguf_malformed";
  std::ifstream manifest(folder / "manifest.tsv");
  if (!manifest) GTEST_SKIP() << "The suite gguf_malformed is absent.";
  std::string line;
  std::getline(manifest, line);  // column names
  int num_files = 0;
  while (std::getline(manifest, line)) {
    const auto parts = columns(line);
    ASSERT_EQ(parts.size(), 4U) << line;
    const Trial trial = read_in_child(folder / parts[0]);
    EXPECT_TRUE(trial.has_exited) << line;
    EXPECT_LT(trial.seconds, 1.0) << line;
    EXPECT_LT(trial.peak_mib, 200) << line;
    // Columns: file, bytes, kind of damage, expected outcome ("reject", or "reject or ..." where a
    // reader may choose).
    if (parts[3] == "reject") {
      EXPECT_EQ(trial.outcome, kRejected) << line;
    }
    ++num_files;
  }
  EXPECT_EQ(num_files, 28);
}

// Where the suite leaves a choice, this is ours.
TEST(GgufMalformed, ChoicesAreFixed) {
  const std::filesystem::path folder = std::filesystem::path(QUERN_SUITES_DIR) / "gguf_malformed";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "The suite gguf_malformed is absent.";
  EXPECT_EQ(read_model(folder / "14_key_nul.gguf"), kRejected);
  EXPECT_EQ(read_model(folder / "18_arr_of_arr.gguf"), kRejected);
  EXPECT_EQ(read_model(folder / "22_bool_2.gguf"), kRejected);
  EXPECT_EQ(read_model(folder / "26_align_wrong_type.gguf"), kAccepted);
  EXPECT_EQ(read_model(folder / "30_dim_zero.gguf"), kRejected);
  const auto long_name = GgufFile::open(folder / "44_name_long.gguf");
  ASSERT_TRUE(long_name);
  EXPECT_EQ((*long_name)->tensors()[0].name, std::string(70, 'n'));
  // Texts that look like byte tokens but are none are the tokenizer's concern.
  EXPECT_EQ(read_model(folder / "48_byte_token_neg.gguf"), kAccepted);
}

}  // namespace
}  // namespace quern
