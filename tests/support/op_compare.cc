// Graphs of one node, run side by side.
#include "support/op_compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "backends/cpu/device.h"
#include "base/fail.h"
#include "conformance/one_op.h"
#include "quern/op.h"
#include "support/graph_runner.h"

namespace quern::test {
namespace {

// 0xFF is NaN in every float dtype and -1 or the largest number in integers.
void poison(Tensor& tensor) {
  const auto bytes = tensor.buffer().mutable_host_view();
  if (bytes) std::ranges::fill(*bytes, std::byte{0xFF});
}

Result<RunResult> run_on(const Graph& graph, const std::vector<Tensor>& inputs,
                         const LoadOptions& options) {
  std::map<std::string, Tensor, std::less<>> named;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // An absent optional input has no name in the graph, either.
    if (!inputs[i].is_empty()) named.emplace(fmt::format("{}", i), inputs[i]);
  }
  QUERN_ASSIGN_OR_RETURN(LoadedGraph loaded, load_graph(graph, options));
  {
    // The second run finds what the first left in memory, and then some: no kernel may count on
    // outputs that start as zeros.
    QUERN_ASSIGN_OR_RETURN(RunResult first, loaded.run(named));
    for (auto& [name, tensor] : first.values) poison(tensor);
  }
  return loaded.run(std::move(named));
}

void expect_same(const Result<RunResult>& actual, const Result<RunResult>& expected) {
  if (!expected) {
    ASSERT_FALSE(actual) << "the reference fails: " << expected.error().message;
    // The backends add the node's name in forms of their own.
    EXPECT_EQ(actual.error().code, expected.error().code) << actual.error().message;
    return;
  }
  ASSERT_TRUE(actual) << actual.error().message;
  EXPECT_TRUE(same_result_bits(*actual, *expected));
}

}  // namespace

std::vector<std::string> cpu_isas() {
  std::vector<std::string> names;
  for (const std::string_view name : cpu::available_isas()) names.emplace_back(name);
  return names;
}

// With copies an operation may overwrite its input: nobody else reads the copy.
Result<Graph> one_op_graph(std::string_view id, const std::vector<Tensor>& inputs,
                           const Attributes& attributes, bool copies_inputs) {
  return quern::one_op_graph(builtin_ops(), id, inputs, attributes, copies_inputs);
}

void expect_reference_bits(std::string_view id, const std::vector<Tensor>& inputs,
                           const Attributes& attributes, std::initializer_list<int> thread_counts) {
  const auto graph = one_op_graph(id, inputs, attributes);
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  // In place of an input that only this node reads. Rank 0 and parts of bytes have no slices.
  auto in_place = Result<Graph>(fail::invalid("not in place"));
  if (builtin_ops().find(id)->in_place_input >= 0) {
    in_place = one_op_graph(id, inputs, attributes, true);
  }
  LoadOptions options;
  options.backend = "reference";
  const auto expected = run_on(*graph, inputs, options);
  options.backend = "cpu";
  // Those of this machine: each is a set of kernels that it can run.
  for (const std::string& isa : cpu_isas()) {
    for (const int threads : thread_counts) {
      options.device.isa = isa;
      options.device.num_threads = threads;
      SCOPED_TRACE(fmt::format("{} on {} with {} threads", id, isa, threads));
      expect_same(run_on(*graph, inputs, options), expected);
      if (in_place) expect_same(run_on(*in_place, inputs, options), expected);
    }
  }
}

}  // namespace quern::test
