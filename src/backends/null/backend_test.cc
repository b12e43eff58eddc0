// The backend that implements nothing: every call says so, in words that a user can act on.
#include "backends/null/backend.h"

#include <gtest/gtest.h>

#include "quern/graph_builder.h"
#include "quern/op.h"

namespace quern {
namespace {

template <class T>
std::string refusal(const Result<T>& result) {
  if (result) return "no error";
  EXPECT_EQ(result.error().code, ErrorCode::kUnimplemented);
  return result.error().message;
}

class NullBackendTest : public testing::Test {
 protected:
  static Graph graph() {
    GraphBuilder builder(builtin_ops());
    const ValueId x = builder.input("x", {DType::kF32, {Dim::constant(2)}});
    builder.output("y", builder.add("math.exp", {x}, {}, "e"));
    return builder.finish().value();
  }
  const std::unique_ptr<Backend> backend_ = make_null_backend();
};

TEST_F(NullBackendTest, HasAName) {
  EXPECT_EQ(backend_->name(), "null");
}

TEST_F(NullBackendTest, ServesNoOperationAndSaysWhich) {
  for (const OpDef* op : builtin_ops().list()) {
    const Support support = backend_->supports(*op);
    EXPECT_EQ(support.kind, Support::Kind::kMissing) << op->id;
    EXPECT_EQ(support.reason, "Backend null implements no " + op->id + ".");
  }
  EXPECT_TRUE(backend_->fusions().fused_ops.empty());
}

TEST_F(NullBackendTest, EveryCallIsRefused) {
  const Graph made = graph();
  EXPECT_EQ(refusal(backend_->default_caps("m68k")), "Backend null knows no architecture 'm68k'.");
  EXPECT_EQ(refusal(backend_->legal(made, made.node(1))),
            "Backend null cannot run math.exp (node 'e').");
  EXPECT_EQ(refusal(backend_->compile(made, {})), "Backend null cannot compile.");
  EXPECT_EQ(refusal(backend_->open({})), "Backend null has no device.");
}

// No devices is an answer, not an error: listing all backends must go on.
TEST_F(NullBackendTest, ListsNoDevices) {
  const auto devices = backend_->devices();
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->empty());
}

// A compilation for it fails at the first node, before anything is made.
TEST_F(NullBackendTest, CompilationNamesTheNode) {
  Capabilities capabilities;
  capabilities.has_f64 = true;
  const auto compiled = compile_graph(graph(), *backend_, capabilities, {});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::kUnimplemented);
  EXPECT_NE(compiled.error().message.find("Backend null"), std::string::npos)
      << compiled.error().message;
}

}  // namespace
}  // namespace quern
