#include "e2e/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/temporary_folder.h"

namespace quern::test {
namespace {

// For the shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  // A quote ends the quoted text, stands escaped, and begins it again.
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// `command` is in the shell's language.
ProgramResult run_program(const std::string& command, const std::vector<std::string>& arguments,
                          const std::string& input) {
  const TemporaryFolder folder("program");
  std::ofstream(folder.file("in"), std::ios::binary) << input;
  // What the program keeps between runs stays out of the user's cache.
  std::string line = "QUERN_CACHE=" + quoted(folder.file("cache")) + " " + command;
  for (const std::string& argument : arguments) line += " " + quoted(argument);
  // Files and not pipes: no output is too long for a buffer.
  line += " < " + quoted(folder.file("in")) + " > " + quoted(folder.file("out")) + " 2> " +
          quoted(folder.file("err"));
  const int status = std::system(line.c_str());
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.output = read_file(folder.file("out"));
  result.errors = read_file(folder.file("err"));
  return result;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

ProgramResult run_quern(const std::vector<std::string>& arguments, const std::string& input) {
  return run_program(quoted(QUERN_PROGRAM), arguments, input);
}

ProgramResult run_quern_faulty(const std::vector<std::string>& arguments) {
  return run_program(quoted(QUERN_FAULTY_PROGRAM), arguments, "");
}

ProgramResult run_quern_on(const std::string& processor,
                           const std::vector<std::string>& arguments) {
  return run_program("qemu-x86_64 -cpu " + quoted(processor) + " " + quoted(QUERN_PROGRAM),
                     arguments, "");
}

bool can_emulate_processors() {
#if defined(__x86_64__)
  return std::system("command -v qemu-x86_64 > /dev/null") == 0;
#else
  return false;
#endif
}

}  // namespace quern::test
