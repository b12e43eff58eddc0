// Weights of mapped files: the first run of a few tokens makes their panels as it goes, later runs
// and runs of many tokens pack them, and no result differs.
#include "backends/cpu/deferred_packing.h"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include "backends/cpu/kernels/product_test_support.h"
#include "quern/graph_builder.h"
#include "support/graph_runner.h"
#include "support/mapped_weights.h"
#include "support/op_compare.h"
#include "support/temporary_folder.h"

namespace quern::cpu {
namespace {

using quern::test::MappedWeights;
using quern::test::MemoryWeights;
using quern::test::random_tensor;

constexpr int64_t kColumns = 512;
constexpr int64_t kRows = 300;  // no whole number of panels, and more than are made at once

class DeferredPackingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(3);
    for (const DType dtype : {DType::kQ4_0, DType::kQ8_0, DType::kF16, DType::kF32}) {
      for (const char* name : {"gate", "up"}) {
        memory_.add(fmt::format("{}.{}", dtype_name(dtype), name),
                    random_tensor(dtype, Shape{kRows, kColumns}, random));
      }
    }
    auto mapped = MappedWeights::make(memory_, folder_.file("weights"));
    ASSERT_TRUE(mapped.has_value()) << mapped.error().message;
    mapped_ = std::move(*mapped);
    if (!FileMappings::read().holds(mapped_->file().bytes())) {
      GTEST_SKIP() << "No list of mappings here.";
    }
  }

  Tensor mapped(DType dtype) const {
    return *mapped_->weight(fmt::format("{}.gate", dtype_name(dtype)));
  }

  const quern::test::TemporaryFolder folder_{"deferred_packing"};
  MemoryWeights memory_;
  std::unique_ptr<MappedWeights> mapped_;
};

TEST_F(DeferredPackingTest, TakesWeightsOfFilesWhoseProductsCanMakePanels) {
  Machine machine(2, kernel_tables().front());
  const DeferredPacking deferred(machine, FileMappings::read());
  EXPECT_TRUE(deferred.takes(mapped(DType::kQ8_0), ActivationKind::kInt8));
  EXPECT_TRUE(deferred.takes(mapped(DType::kQ4_0), ActivationKind::kInt16));
  EXPECT_TRUE(deferred.takes(mapped(DType::kF16), ActivationKind::kF32));
  EXPECT_FALSE(deferred.takes(mapped(DType::kQ8_0), ActivationKind::kF32));
  EXPECT_FALSE(deferred.takes(mapped(DType::kF32), ActivationKind::kF64));
  // Held by somebody's own memory, it would be there twice until it is packed.
  EXPECT_FALSE(deferred.takes(*memory_.weight("q8_0.gate"), ActivationKind::kInt8));
}

TEST_F(DeferredPackingTest, PacksAWeightOnce) {
  Machine machine(2, kernel_tables().front());
  DeferredPacking deferred(machine, FileMappings::read());
  auto weight = wrap_weight(mapped(DType::kQ8_0), ActivationKind::kInt8, machine.kernels);
  ASSERT_TRUE(weight.has_value()) << weight.error().message;
  EXPECT_FALSE(weight->is_packed());
  EXPECT_FALSE(deferred.take_news());
  const int64_t size = weight->size_bytes();
  ASSERT_TRUE(deferred.pack(*weight).has_value());
  EXPECT_TRUE(weight->is_packed());
  EXPECT_EQ(weight->size_bytes(), size);
  EXPECT_TRUE(deferred.take_news());
  ASSERT_TRUE(deferred.pack(*weight).has_value());
  EXPECT_FALSE(deferred.take_news());
}

// One weight alone, and two weights in one step.
Graph products_of(DType dtype) {
  GraphBuilder b(builtin_ops());
  ValueId x = b.input("x", {DType::kF32, {Dim::symbolic('T'), Dim::constant(kColumns)}});
  ValueId d = kNoValue;
  if (is_quantized(dtype)) {
    x = b.add("quant.dynamic", {x}, {{"block", int64_t{32}}, {"bits", int64_t{8}}});
    d = b.last_outputs()[1];
  }
  const auto weight = [&](const char* name) {
    return b.weight(fmt::format("{}.{}", dtype_name(dtype), name),
                    {dtype, {Dim::constant(kRows), Dim::constant(kColumns)}});
  };
  const ValueId gate = weight("gate"), up = weight("up");
  b.output("up", b.add("projection.linear", {x, up, kNoValue, d}, {{"weight_scale", 0.25}}));
  b.output("gated", b.add("fused.gated_linear", {x, gate, up, kNoValue, kNoValue, d},
                          {{"program", "activation.swiglu_tensors(x0, x1)"}}));
  auto graph = b.finish();
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

TEST_F(DeferredPackingTest, RunsBeforeWhileAndAfterHaveTheSameBits) {
  for (const DType dtype : {DType::kQ4_0, DType::kQ8_0, DType::kF16, DType::kF32}) {
    const Graph graph = products_of(dtype);
    quern::test::LoadOptions options;
    options.device.num_threads = 2;
    for (const std::string& isa : quern::test::cpu_isas()) {
      options.device.isa = isa;
      auto packed = quern::test::load_graph(graph, options, &memory_);
      ASSERT_TRUE(packed.has_value()) << packed.error().message;
      // The number of tokens of the runs of one executable each.
      for (const std::vector<int64_t>& runs : {std::vector<int64_t>{1, 1, 5}, {5, 1}, {40, 1}}) {
        auto deferred = quern::test::load_graph(graph, options, mapped_.get());
        ASSERT_TRUE(deferred.has_value()) << deferred.error().message;
        std::mt19937 random(4);
        for (const int64_t tokens : runs) {
          const Tensor x = random_tensor(DType::kF32, Shape{tokens, kColumns}, random);
          const auto expected = packed->run({{"x", x}});
          const auto actual = deferred->run({{"x", x}});
          ASSERT_TRUE(expected) << expected.error().message;
          ASSERT_TRUE(actual) << actual.error().message;
          EXPECT_TRUE(quern::test::same_result_bits(*actual, *expected))
              << dtype_name(dtype) << " " << isa << " " << tokens << " tokens";
        }
      }
    }
  }
}

}  // namespace
}  // namespace quern::cpu
