// What placing does and refuses.
#include "passes/place.h"

#include <gtest/gtest.h>

#include "quern/op.h"
#include "support/pass_text.h"

namespace quern::test {
namespace {

// Two devices by name; placing never asks the backends.
PassOptions two_devices(std::vector<std::pair<std::string, std::string>> placement = {}) {
  PassOptions options;
  options.targets = {{.name = "cpu"}, {.name = "gpu"}};
  options.placement = std::move(placement);
  return options;
}

std::string placed(std::string_view inputs, std::string_view body, const PassOptions& options) {
  const auto graph = short_graph(inputs, body);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return graph ? after_pass("place", *graph, options) : "";
}

// A second copy would cost the transfer again.
TEST(Place, OneCopyServesAllReadersOfADevice) {
  EXPECT_EQ(placed("x f32[4]", R"(%a = math.exp(%x)
%b = math.sin(%a) @gpu
%c = math.add(%a, %b) @gpu
%d = math.add(%a, %c)
output d = %d)",
                   two_devices()),
            R"(%a = math.exp(%x) @cpu
%a.on_gpu = graph.copy(%a) {from = "cpu", to = "gpu"} @gpu
%b = math.sin(%a.on_gpu) @gpu
%c = math.add(%a.on_gpu, %b) @gpu
%c.on_cpu = graph.copy(%c) {from = "gpu", to = "cpu"} @cpu
%d = math.add(%a, %c.on_cpu) @cpu
output d = %d
)");
}

// Models may hold names like ours.
TEST(Place, CopiesTakeNamesThatAreFree) {
  EXPECT_EQ(placed("x f32[4]", R"(%a = math.exp(%x)
%a.on_gpu = math.cos(%x)
%b = math.add(%a, %a.on_gpu) @gpu
output b = %b)",
                   two_devices()),
            R"(%a = math.exp(%x) @cpu
%a.on_gpu = math.cos(%x) @cpu
%a.on_gpu2 = graph.copy(%a) {from = "cpu", to = "gpu"} @gpu
%a.on_gpu.on_gpu = graph.copy(%a.on_gpu) {from = "cpu", to = "gpu"} @gpu
%b = math.add(%a.on_gpu2, %a.on_gpu.on_gpu) @gpu
output b = %b
)");
}

// A run binds them on each device.
TEST(Place, InputsWeightsAndConstantsAreEverywhere) {
  EXPECT_EQ(placed("x f32[4]", R"(%w = graph.weight() {type = "f32[4]", weight = "w"}
%k = graph.constant() {type = "f32[4]", values = [1, 2, 3, 4]}
%a = math.add(%x, %w) @gpu
%b = math.add(%x, %k)
output a = %a
output b = %b)",
                   two_devices()),
            R"(%w = graph.weight() {type = "f32[4]", weight = "w"}
%k = graph.constant() {type = "f32[4]", values = f[1.0, 2.0, 3.0, 4.0]}
%a = math.add(%x, %w) @gpu
%b = math.add(%x, %k) @cpu
output a = %a
output b = %b
)");
}

// The manifest knows better than the command line.
TEST(Place, ANodesOwnWishBeatsThePatterns) {
  const std::string text = placed("x f32[4]", R"(%a = math.exp(%x) @cpu
%b = math.sin(%x)
output a = %a
output b = %b)",
                                  two_devices({{"*", "gpu"}}));
  EXPECT_EQ(text, R"(%a = math.exp(%x) @cpu
%b = math.sin(%x) @gpu
output a = %a
output b = %b
)");
}

// With everything on the default device the names go; on another one they stay.
TEST(Place, OneDeviceNeedsNoCopies) {
  const std::string_view body = R"(%a = math.exp(%x)
%b = math.sin(%a)
output b = %b)";
  EXPECT_EQ(placed("x f32[4]", body, two_devices({{"*", "cpu"}})),
            "%a = math.exp(%x)\n%b = math.sin(%a)\noutput b = %b\n");
  EXPECT_EQ(placed("x f32[4]", body, two_devices({{"*", "gpu"}})),
            "%a = math.exp(%x) @gpu\n%b = math.sin(%a) @gpu\noutput b = %b\n");
}

// Passes run without devices in tests and tools.
TEST(Place, WithoutTargetsNothingIsPlaced) {
  EXPECT_EQ(placed("x f32[4]", "%a = math.exp(%x) @nowhere\noutput a = %a", PassOptions{}),
            "%a = math.exp(%x) @nowhere\noutput a = %a\n");
}

// What was asked, and what there is.
TEST(Place, ErrorsNameNodeAndDevices) {
  EXPECT_EQ(placed("x f32[4]", "%a = math.exp(%x) @tpu\noutput a = %a", two_devices()),
            "error: Node 'a' is placed on 'tpu'; the devices of this compilation are cpu, gpu.");
  EXPECT_EQ(placed("x f32[4]", "%a = math.exp(%x)\noutput a = %a", two_devices({{"a", "tpu"}})),
            "error: Node 'a' is placed on 'tpu'; the devices of this compilation are cpu, gpu.");
}

// One state may be used by many nodes as long as they are together.
TEST(Place, AStateStaysWhole) {
  const std::string body =
      R"(state @kv : kv {heads = 1, keeps_unrotated = false, key_dim = 2, key_type = "f32", layers = 1, value_dim = 2, value_type = "f32"}
%w = kv.append(%k, %k, %p, %p) {layer = 0}
%z = attention.cached(%k, %p, %p) {layer = 0}
output z = %z)";
  // States come before the inputs in the text form, so the graph is put together here.
  std::string text = "graph {\n" + body.substr(0, body.find('\n')) +
                     "\n%k = Input() {type = \"f32[T, 1, 2]\"}\n%p = Input() {type = \"i32[T]\"}" +
                     body.substr(body.find('\n')) + "\n}\n";
  const auto graph = parse_graph(text, builtin_ops());
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_FALSE(after_pass("place", *graph, two_devices({{"*", "gpu"}})).starts_with("error"));
  EXPECT_EQ(after_pass("place", *graph, two_devices({{"w", "gpu"}})),
            "error: Node 'z' on 'cpu' uses the state 'kv', which is on 'gpu'.");
}

}  // namespace
}  // namespace quern::test
