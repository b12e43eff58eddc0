// Runs the program `quern` in a process of its own, as a person would.
#pragma once

#include <string>
#include <vector>

namespace quern::test {

struct ProgramResult {
  int exit_code = -1;
  std::string output;  // standard output
  std::string errors;  // standard error
};

// All bytes of a file; none where it cannot be read.
std::string read_file(const std::string& path);

// `input` is its standard input, a pipe and no terminal.
ProgramResult run_quern(const std::vector<std::string>& arguments, const std::string& input = "");
// The same with a backend more, `faulty` (faulty_backends.cc).
ProgramResult run_quern_faulty(const std::vector<std::string>& arguments);
// The same on another processor, which qemu-user emulates: "Haswell", "SandyBridge", ...
ProgramResult run_quern_on(const std::string& processor, const std::vector<std::string>& arguments);
// False where qemu-user is not installed or this machine is no x86-64.
bool can_emulate_processors();

}  // namespace quern::test
