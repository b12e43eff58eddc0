// Tests that a store is taken for a state only where it is the store that the graph declares.
#include "backends/cpu/state_binding.h"

#include <gtest/gtest.h>

#include "quern/graph_builder.h"

namespace quern::cpu {
namespace {

// Four different numbers and two types: a mixed-up field shows in the text.
StateDecl declaration(const char* name = "kv") {
  return {name,
          "kv",
          {{"layers", int64_t{2}},
           {"heads", int64_t{3}},
           {"key_dim", int64_t{4}},
           {"value_dim", int64_t{5}},
           {"key_type", std::string("f32")},
           {"value_type", std::string("f16")}}};
}

class StateBinding : public testing::Test {
 protected:
  std::string error_with(const char* attribute, AttributeValue value) const {
    StateDecl other = declaration();
    other.attributes.set(attribute, std::move(value));
    const auto store = HostKvStore::make(other).value();
    const auto bound = bind_states(graph_, {.inputs = {}, .states = {{"kv", store.get()}}});
    return bound ? "no error" : bound.error().message;
  }
  static Graph make_graph() {
    GraphBuilder builder(builtin_ops());
    builder.state(declaration());
    return builder.finish().value();
  }
  const Graph graph_ = make_graph();
};

TEST_F(StateBinding, TheDeclaredStoreIsTaken) {
  const auto store = HostKvStore::make(declaration()).value();
  const auto bound = bind_states(graph_, {.inputs = {}, .states = {{"kv", store.get()}}});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_EQ(*bound, std::vector<HostKvStore*>{store.get()});
}

TEST_F(StateBinding, NoStoreIsAnError) {
  EXPECT_EQ(bind_states(graph_, {.inputs = {}, .states = {}}).error().message,
            "The graph's state 'kv' is not bound.");
  EXPECT_EQ(bind_states(graph_, {.inputs = {}, .states = {{"kv", nullptr}}}).error().message,
            "The graph's state 'kv' is not bound.");
}

// One attribute differs in each line; the store may do more than the graph asks for, never less.
TEST_F(StateBinding, EveryExtentAndTypeCounts) {
  const std::string begin = "State 'kv' has ";
  EXPECT_EQ(error_with("layers", int64_t{1}), begin + "layers = 2; the store bound to it has 1.");
  EXPECT_EQ(error_with("heads", int64_t{6}), begin + "heads = 3; the store bound to it has 6.");
  EXPECT_EQ(error_with("key_dim", int64_t{8}), begin + "key_dim = 4; the store bound to it has 8.");
  EXPECT_EQ(error_with("value_dim", int64_t{4}),
            begin + "value_dim = 5; the store bound to it has 4.");
  EXPECT_EQ(error_with("key_type", std::string("q8_0")),
            begin + "key_type = f32; the store bound to it has q8_0.");
  EXPECT_EQ(error_with("value_type", std::string("f32")),
            begin + "value_type = f16; the store bound to it has f32.");
  EXPECT_EQ(error_with("keeps_unrotated", true), "no error");  // more than the graph asks for
}

TEST_F(StateBinding, AGraphWithoutStatesNeedsNone) {
  const Graph graph = GraphBuilder(builtin_ops()).finish().value();
  EXPECT_TRUE(bind_states(graph, {.inputs = {}, .states = {}})->empty());
}

}  // namespace
}  // namespace quern::cpu
