// A manifest with `repeat` and an include in float64 against NumPy.
#include <gtest/gtest.h>

#include <cmath>

#include "formats/manifest/manifest.h"
#include "formats/safetensors.h"
#include "formats/weight_files.h"
#include "quern/device.h"
#include "quern/op.h"
#include "support/graph_runner.h"

namespace quern::test {
namespace {

// Of the test data.
std::string data_file(const std::string& name) {
  return std::string(QUERN_TEST_DATA_DIR) + "/manifest/" + name;
}

Result<RunResult> run_mlp(const LoadOptions& options,
                          const ManifestOptions& manifest_options = {}) {
  QUERN_ASSIGN_OR_RETURN(const Manifest manifest,
                         read_manifest(data_file("mlp.yaml"), builtin_ops(), manifest_options));
  QUERN_ASSIGN_OR_RETURN(const auto weights, open_weight_files(manifest.weight_files));
  QUERN_ASSIGN_OR_RETURN(LoadedGraph loaded, load_graph(manifest.graph, options, weights.get()));
  QUERN_ASSIGN_OR_RETURN(const auto inputs,
                         SafetensorsFile::open(data_file("mlp_inputs.safetensors")));
  QUERN_ASSIGN_OR_RETURN(Tensor x, inputs->weight("x"));
  return loaded.run({{"x", std::move(x)}});
}

// The example of the documentation.
// 1e-12 is thousands of ulp of f64: sums differ in order, nothing else may.
TEST(ManifestMlp, MatchesNumpyInFloat64) {
  const auto expected = SafetensorsFile::open(data_file("mlp_outputs.safetensors"));
  ASSERT_TRUE(expected) << expected.error().message;
  std::optional<RunResult> reference;
  for (const char* backend : {"reference", "cpu"}) {
    SCOPED_TRACE(backend);
    const auto result = run_mlp({.backend = backend});
    ASSERT_TRUE(result) << result.error().message;
    for (const char* name : {"logits", "probabilities"}) {
      const auto actual = result->find(name)->read_as<double>().value();
      const auto wanted = (*expected)->weight(name)->read_as<double>().value();
      ASSERT_EQ(actual.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(actual[i], wanted[i], 1e-12 * std::max(1.0, std::abs(wanted[i])));
      }
    }
    if (reference) {
      EXPECT_TRUE(same_result_bits(*result, *reference));
    }
    reference = *result;
  }
}

// The precision contract: nothing is computed in less than a manifest says.
// Capabilities are edited: no device of this build lacks f64.
TEST(ManifestMlp, ADeviceWithoutFloat64IsRefused) {
  const auto manifest = read_manifest(data_file("mlp.yaml"), builtin_ops(), {});
  ASSERT_TRUE(manifest) << manifest.error().message;
  const BackendRegistry backends = register_backends();
  const Backend* cpu = backends.find("cpu").value();
  Capabilities capabilities = cpu->default_caps("").value();
  EXPECT_TRUE(compile_graph(manifest->graph, *cpu, capabilities, {}));
  capabilities.has_f64 = false;
  const auto refused = compile_graph(manifest->graph, *cpu, capabilities, {});
  ASSERT_FALSE(refused);
  const std::string& text = refused.error().message;
  EXPECT_NE(text.find("Backend cpu cannot run"), std::string::npos) << text;
  EXPECT_NE(text.find("in float64: the device computes in float32"), std::string::npos) << text;
  EXPECT_NE(text.find("precision: float32"), std::string::npos) << text;
}

// Without another file.
// Four layers want a weight that the file has not, which shows that the variable counts.
TEST(ManifestMlp, OtherVariablesMakeAnotherGraph) {
  const auto two = run_mlp({}, {.variables = {{"layers", "2"}}});
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_FALSE(same_result_bits(*two, *run_mlp({})));
  const auto four = run_mlp({}, {.variables = {{"layers", "4"}}});
  ASSERT_FALSE(four);
  EXPECT_TRUE(four.error().message.starts_with("There is no weight 'layers.4."));
}

}  // namespace
}  // namespace quern::test
