// Loads graphs on backends of this build and compares what they give.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/case_graph.h"
#include "quern/device.h"
#include "quern/graph.h"
#include "quern/tensor.h"
#include "quern/weight_source.h"

namespace quern::test {

// Weights held in memory.
using MemoryWeights = CaseWeights;

// A graph on a device, without passes, with a key-value store for each of its states.
struct LoadedGraph {
  std::unique_ptr<Device> device;
  std::map<std::string, std::unique_ptr<KvStore>> stores;
  std::unique_ptr<Executable> executable;

  // Runs with the stores above.
  Result<RunResult> run(std::map<std::string, Tensor, std::less<>> inputs, uint32_t stream = 0);
};

struct LoadOptions {
  std::string backend = "cpu";
  DeviceOptions device = {};
  CompileOptions compile = {};
};
Result<LoadedGraph> load_graph(const Graph& graph, const LoadOptions& options,
                               const WeightSource* weights = nullptr);

// Same dtype, shape and bits; NaNs of a float dtype are equal to each other.
testing::AssertionResult same_tensor_bits(const Tensor& actual, const Tensor& expected);
testing::AssertionResult same_result_bits(const RunResult& actual, const RunResult& expected);

// A tensor of any dtype: floats of normal distribution, integers of all bits. Every `special_every`
// th float is a zero, denormal, infinity, NaN, huge or tiny number; 0: none.
Tensor random_tensor(DType dtype, const Shape& shape, std::mt19937& random, int special_every = 0);

}  // namespace quern::test
