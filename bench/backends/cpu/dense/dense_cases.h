// Dense operations that the benches time, each named by a line of text such as
// "matmul f32 1024 deterministic" or "exp f32 4194304".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/device.h"
#include "quern/graph.h"

namespace quern::bench {

using Inputs = std::map<std::string, Tensor, std::less<>>;

// One case: a small graph, its inputs, and what the machine has to do at least.
// Graph and inputs are values of the case; a session keeps handles of the inputs.
struct DenseCase {
  std::string name;
  Graph graph;
  Inputs inputs;
  Numerics numerics = Numerics::kStrict;
  int64_t read_bytes = 0;     // of inputs, each once
  int64_t written_bytes = 0;  // of the output
  double flops = 0;           // products count 2 for each multiply-add; 0: bound by memory
};

// The names of all cases, in the order of reports.
std::vector<std::string> dense_case_names();
// Builds a case. Errors: a name that no case has.
Result<DenseCase> make_dense_case(std::string_view name);

// A case on the cpu backend with its own threads.
class DenseSession {
 public:
  // Errors: those of compiling and loading the graph.
  static Result<DenseSession> make(const DenseCase& dense_case, int num_threads,
                                   const std::string& isa = {});
  // One execution. Errors: those of the run.
  Result<RunResult> run();

 private:
  DenseSession() = default;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executable> executable_;
  RunArguments arguments_;
};

// Name of the instruction set that kernels run with; `isa` caps it, empty: the machine's best.
// Errors: a name that the machine does not have.
Result<std::string> instruction_set(const std::string& isa);

// The median time of f() in microseconds, repeated for about `seconds` and at least three times.
double median_microseconds(double seconds, const std::function<void()>& f);

}  // namespace quern::bench
