// Tests of the rules of the IR that a finished graph keeps, one case for each.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/tensor_type.h"
#include "quern/graph.h"
#include "quern/graph_builder.h"
#include "support/ir_test_ops.h"

namespace quern {
namespace {

class VerifierTest : public testing::Test {
 protected:
  VerifierTest() { x_ = builder_.input("x", parse_tensor_type("f32[2]").value()); }
  std::string error() {
    const auto graph = builder_.finish();
    return graph ? "no error" : graph.error().message;
  }
  const OpRegistry registry_ = test::ir_test_registry();
  GraphBuilder builder_{registry_};
  ValueId x_ = kNoValue;
};

// The other cases change one thing of it.
TEST_F(VerifierTest, AGraphWithEveryPartIsRight) {
  builder_.state({"kv", "kv", {}});
  const ValueId y = builder_.add("test.scale", {x_});
  builder_.add("test.store", {y});
  builder_.output("y", builder_.add("test.load", {y}));
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(verify(*graph));
}

// Nodes without outputs have no value whose name could clash.
TEST_F(VerifierTest, NodeNamesAreUniqueWithoutOutputsToo) {
  builder_.state({"kv", "kv", {}});
  builder_.add("test.store", {x_}, {}, "w");
  builder_.add("test.store", {x_}, {}, "w");
  EXPECT_EQ(error(), "The node name 'w' is used twice.");
}

// Results are found by name.
TEST_F(VerifierTest, OutputNamesAreUnique) {
  builder_.output("y", x_);
  builder_.output("y", builder_.add("test.scale", {x_}));
  EXPECT_EQ(error(), "The output name 'y' is used twice.");
}

// Under the name that nodes use.
TEST_F(VerifierTest, StatesAreDeclared) {
  builder_.state({"kv", "kv", {}});
  builder_.add("test.load", {x_}, {{"state", std::string("other")}}, "r");
  EXPECT_EQ(error(), "Node 'r': State 'other' is not declared in the graph.");
}

// Attributes are compared by their exact text: a NaN equals itself.
TEST_F(VerifierTest, AttributesMayBeNaN) {
  builder_.add("test.scale", {x_}, {{"factor", std::nan("")}}, "y");
  const auto graph = builder_.finish();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_NE(print_graph(*graph).find("{factor = nan}"), std::string::npos);
}

// One value may be several outputs, and an input may be one.
TEST_F(VerifierTest, OutputsMayShareAValue) {
  builder_.output("a", x_);
  builder_.output("b", x_);
  EXPECT_EQ(error(), "no error");
}

}  // namespace
}  // namespace quern
