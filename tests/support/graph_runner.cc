// Devices, comparison by bits, random tensors.
#include "support/graph_runner.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/fail.h"
#include "support/bit_equal.h"
#include "tensor/block_format.h"
#include "tensor/convert.h"

namespace quern::test {
namespace {

// Elements as f32, or as f64 where the dtype has more precision: what bits are compared in.
// That is, the tensor's own type; f16 and bf16 are widened by same_narrow().
template <class T>
testing::AssertionResult same_plain(const Tensor& actual, const Tensor& expected) {
  const auto a = actual.read_as<T>();
  const auto b = expected.read_as<T>();
  if (!a || !b) return testing::AssertionFailure() << "a tensor cannot be read";
  return all_same_bits(*a, *b);
}

// Each value of f16 and bf16 is an f32 value, so nothing is lost; NaNs become comparable.
testing::AssertionResult same_narrow(const Tensor& actual, const Tensor& expected) {
  const auto widen = [](const Tensor& tensor) {
    const auto bytes = tensor.read();
    std::vector<float> values(static_cast<size_t>(tensor.shape().num_elements()));
    if (bytes) {
      dequantize_row(tensor.dtype(), bytes->data(), values.data(),
                     static_cast<int64_t>(values.size()));
    }
    return values;
  };
  return all_same_bits(widen(actual), widen(expected));
}

template <class Float>
// Zeros of both signs, denormals, the smallest normal number, both infinities, NaN, the largest
// numbers, and two whose f32 exponential is just below overflow and just at underflow.
Float special_value(uint32_t which) {
  using Limits = std::numeric_limits<Float>;
  const std::array<Float, 12> values = {
      Float{0},      -Float{0},          Limits::denorm_min(), -Limits::denorm_min() * 5,
      Limits::min(), Limits::infinity(), -Limits::infinity(),  Limits::quiet_NaN(),
      Limits::max(), -Limits::max(),     Float{88.5},          Float{-104}};
  return values[which % values.size()];
}

template <class Float>
std::vector<Float> random_floats(size_t n, std::mt19937& random, int special_every) {
  // Differs between standard libraries: only the properties of a test may depend on it, no expected
  // value.
  std::normal_distribution<Float> normal;
  std::vector<Float> values(n);
  for (Float& value : values) {
    value = normal(random);
    if (special_every > 0 && random() % static_cast<uint32_t>(special_every) == 0) {
      value = special_value<Float>(static_cast<uint32_t>(random()));
    }
  }
  return values;
}

}  // namespace

Result<RunResult> LoadedGraph::run(std::map<std::string, Tensor, std::less<>> inputs,
                                   uint32_t stream) {
  RunArguments arguments{.inputs = std::move(inputs), .states = {}, .stream = stream};
  for (const auto& [name, store] : stores) arguments.states.emplace(name, store.get());
  return executable->run(arguments);
}

Result<LoadedGraph> load_graph(const Graph& graph, const LoadOptions& options,
                               const WeightSource* weights) {
  const BackendRegistry registry = register_backends();
  LoadedGraph loaded;
  QUERN_ASSIGN_OR_RETURN(const Backend* backend, registry.find(options.backend));
  QUERN_ASSIGN_OR_RETURN(loaded.device, backend->open(options.device));
  for (const StateDecl& state : graph.states()) {
    QUERN_ASSIGN_OR_RETURN(loaded.stores[state.name], loaded.device->make_kv_store(state));
  }
  // No pass runs here: the graph is compiled as it is.
  QUERN_ASSIGN_OR_RETURN(const auto artifact, backend->compile(graph, options.compile));
  QUERN_ASSIGN_OR_RETURN(loaded.executable, loaded.device->load(*artifact, weights, {}));
  return loaded;
}

// Floats by value bits, all other dtypes byte by byte.
testing::AssertionResult same_tensor_bits(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || !(actual.shape() == expected.shape())) {
    return testing::AssertionFailure()
           << dtype_name(actual.dtype()) << actual.shape().to_string() << " where "
           << dtype_name(expected.dtype()) << expected.shape().to_string() << " is expected";
  }
  if (actual.dtype() == DType::kF32) return same_plain<float>(actual, expected);
  if (actual.dtype() == DType::kF64) return same_plain<double>(actual, expected);
  if (is_float(actual.dtype())) return same_narrow(actual, expected);
  const auto a = actual.read();
  const auto b = expected.read();
  if (!a || !b) return testing::AssertionFailure() << "a tensor cannot be read";
  for (size_t i = 0; i < a->size(); ++i) {
    if ((*a)[i] == (*b)[i]) continue;
    return testing::AssertionFailure() << "byte " << i << " of " << a->size() << " differs";
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_result_bits(const RunResult& actual, const RunResult& expected) {
  // Results are compared in order, with their names.
  if (actual.values.size() != expected.values.size()) {
    return testing::AssertionFailure() << actual.values.size() << " results where "
                                       << expected.values.size() << " are expected";
  }
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const auto& [name, tensor] = expected.values[i];
    if (actual.values[i].first != name) {
      return testing::AssertionFailure() << "result " << i << " is '" << actual.values[i].first
                                         << "', expected '" << name << "'";
    }
    const auto same = same_tensor_bits(actual.values[i].second, tensor);
    if (!same) return testing::AssertionFailure() << "'" << name << "': " << same.message();
  }
  return testing::AssertionSuccess();
}

Tensor random_tensor(DType dtype, const Shape& shape, std::mt19937& random, int special_every) {
  auto tensor = Tensor::zeros(dtype, shape);
  EXPECT_TRUE(tensor.has_value());
  if (!tensor) return Tensor();
  const auto bytes = tensor->buffer().mutable_host_view();
  const auto n = static_cast<size_t>(shape.num_elements());
  if (dtype == DType::kComplex64) {
    const auto parts = random_floats<float>(2 * n, random, special_every);
    std::memcpy(bytes->data(), parts.data(), bytes->size());
  } else if (dtype == DType::kF64) {
    const auto values = random_floats<double>(n, random, special_every);
    narrow_row(dtype, values.data(), bytes->data(), static_cast<int64_t>(n));
  // Formats of blocks too: a whole tensor counts as one row, as blocks do not cross rows.
  } else if (can_encode(dtype)) {
    const auto values = random_floats<float>(n, random, special_every);
    quantize_row(dtype, values.data(), bytes->data(), static_cast<int64_t>(n));
  } else {
    for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random());
  }
  return std::move(*tensor);
}

}  // namespace quern::test
