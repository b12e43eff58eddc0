// Builds y = softmax(x * 2), runs it on the backend named on the command line, prints the row.
#include <quern/quern.h>

#include <array>
#include <cstdio>

namespace {

quern::Result<std::vector<float>> run(std::string_view backend_name) {
  using namespace quern;
  GraphBuilder builder(builtin_ops());
  const ValueId x = builder.input("x", {DType::kF32, {Dim::symbolic('T'), Dim::constant(3)}});
  const ValueId y = builder.add("math.scale", {x}, {{"factor", 2.0}});
  builder.output("y", builder.add("math.softmax", {y}));
  QUERN_ASSIGN_OR_RETURN(const Graph graph, builder.finish());

  const BackendRegistry backends = register_backends();
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, backends.find(backend_name));
  QUERN_ASSIGN_OR_RETURN(const auto device, backend->open({}));
  QUERN_ASSIGN_OR_RETURN(const auto executable,
                         compile_and_load(graph, *backend, *device, nullptr, {}));
  RunArguments arguments;
  const std::array<float, 3> row = {1.0F, 2.0F, 3.0F};
  QUERN_ASSIGN_OR_RETURN(arguments.inputs["x"],
                         Tensor::from<float>(DType::kF32, Shape{1, 3}, row));
  QUERN_ASSIGN_OR_RETURN(const RunResult result, executable->run(arguments));
  return result.find("y")->read_as<float>();
}

}  // namespace

int main(int argc, char** argv) {
  const auto row = run(argc > 1 ? argv[1] : "cpu");
  if (!row) {
    std::fprintf(stderr, "%s\n", row.error().message.c_str());
    return 1;
  }
  std::printf("%.6f %.6f %.6f\n", (*row)[0], (*row)[1], (*row)[2]);
  return 0;
}
