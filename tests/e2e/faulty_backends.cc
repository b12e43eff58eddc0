// The list of backends of the test program quern_faulty: those of the build, and one whose queries
// are rotated wrongly in layer 7 (in layer 1 of models that have fewer).
#include "backends/cpu/backend.h"
#include "backends/reference/backend.h"
#include "quern/device.h"
#include "support/faulty_backend.h"

namespace quern {
namespace {

// Another base of the rotary frequencies in one layer.
Result<Graph> turn_queries(const Graph& graph, const CompileOptions& options) {
  const std::string node =
      graph.find_value("blk.7.q_rope") != kNoValue ? "blk.7.q_rope" : "blk.1.q_rope";
  return test::change_attribute(node, "base", 9999.5)(graph, options);
}

}  // namespace

// Those of the program, and one more.
BackendRegistry register_backends() {
  BackendRegistry registry;
  registry.add(make_reference_backend());
  registry.add(make_cpu_backend());
  registry.add(
      test::make_faulty_backend(make_cpu_backend(), {.name = "faulty", .fault = turn_queries}));
  return registry;
}

}  // namespace quern
